-- On SQLite: what there is of a database before it has a schema, and beside it, statement by statement. Those of the other database have the
-- same names and columns. A parameter that is a list arrives as JSON. Under a name with no text nothing is to be done here.

-- schema_version: whether there is a schema, and which
SELECT version FROM fairlead_schema;

-- identity: which store this is, and in which database: a copy has the same name
SELECT store, (SELECT file FROM pragma_database_list WHERE name = 'main') FROM fairlead_schema;

-- last_number: the highest number so far
SELECT coalesce(max(id), 0) FROM fairlead_journal;

-- may_operate: whoever may write the file may do everything
SELECT 1;

-- made_roles: there are none

-- lock_timeout: whoever writes is alone, and has waited before
