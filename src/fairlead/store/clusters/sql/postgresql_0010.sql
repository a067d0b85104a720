-- Version 10: on SQLite the destinations of all clusters are in a view, too.

UPDATE fairlead.schema SET version = 10;
