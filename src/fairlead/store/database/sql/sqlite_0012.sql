-- Version 12: the other database has functions for what the library writes.

UPDATE fairlead_schema SET version = 12;
