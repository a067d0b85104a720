-- The decisions of a store are its own: nobody has a right to it until an administrator grants one.
REVOKE ALL ON SCHEMA fairlead FROM PUBLIC;
