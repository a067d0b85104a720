-- On PostgreSQL: what there is of a database before it has a schema, and beside it, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED. Under a name with no text nothing is to be done here.

-- made_roles: whether the roles of this schema were made
SELECT 1 FROM pg_roles WHERE rolname = 'fairlead_worker' AND has_schema_privilege(oid, 'fairlead', 'USAGE');

-- schema_version: whether there is a schema, and which
SELECT version FROM fairlead.schema;

-- identity: which store this is, and in which database: a copy has the same name
SELECT store, current_database() FROM fairlead.schema;

-- last_number: a number that is higher than all so far
SELECT * FROM fairlead._run_numbers(1);

-- numbers: so many numbers for events
SELECT * FROM fairlead._run_numbers(%(count)s);

-- may_operate: does nothing, and is refused to whoever is no operator: whatever else an operator's verb needs,
-- a refusal of that would name a lesser role
SELECT fairlead._run_may_operate();

-- only_reads: whether the server writes nothing, or not in this session
SELECT current_setting('transaction_read_only') = 'on';

-- time: what the server's clock says
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- set_clock: what a clock of the user's own says
SELECT set_config('fairlead.clock', %(now)s, false);

-- has_schema: whether there is a schema of any version
SELECT 1 WHERE to_regclass('fairlead.schema') IS NOT NULL;

-- lock_timeout: how long this transaction waits for each lock
SELECT set_config('lock_timeout', %(milliseconds)s, true);

-- in_the_way: whose transaction holds a lock on the schema, the oldest first
SELECT a.pid, a.usename::text, a.application_name, a.state,
       extract(epoch FROM clock_timestamp() - a.xact_start)::float8
FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid() AND a.pid IN (
  SELECT l.pid FROM pg_locks l
  WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.relation IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('fairlead'))
      OR (l.locktype = 'advisory' AND l.classid = 1181641068)))
ORDER BY a.xact_start LIMIT 1;

-- lock_schema: one process at a time changes the schema
SELECT pg_advisory_xact_lock(1181641068, 0);
