-- Functions run with the rights of the schema's owner, so nobody has a right to one by himself: a role
-- gets those that it needs (postgresql_roles.sql).
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fairlead FROM PUBLIC;
