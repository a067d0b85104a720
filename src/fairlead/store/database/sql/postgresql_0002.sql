-- Version 2.

-- A restored backup begins a new epoch of the journal: the numbers of transactions start anew there,
-- and what happened after the backup is gone. The first epoch is not listed.
CREATE TABLE fairlead.epochs (
  first BIGINT PRIMARY KEY,                 -- the number of the event with which it begins
  began BIGINT NOT NULL
);

-- Whoever works in the store has looked at queues first, so none of them holds what is locked below.
LOCK TABLE fairlead.queues IN ACCESS EXCLUSIVE MODE;

-- Raises are found by their groups, however often one was raised; all else is told in its order.
DROP INDEX fairlead.notices_queue;
CREATE INDEX notices_raised ON fairlead.notices (queue, group_id) WHERE kind = 'raised';
CREATE INDEX notices_told ON fairlead.notices (queue, id) WHERE kind <> 'raised';
CREATE INDEX dead_key ON fairlead.dead (queue, key);

-- How many messages a limited queue holds: the sum. Each statement that adds or takes away leaves a row
-- of its own, so no sender waits for another; who asks sums them up, and makes one row of many.
CREATE TABLE fairlead.room (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue BIGINT NOT NULL,
  change BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
CREATE INDEX room_queue ON fairlead.room (queue, id);
-- What a statement adds to a limited queue or takes from it is counted, whoever does it.
CREATE FUNCTION fairlead._count() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.room (queue, change)
    SELECT s.queue, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
    FROM changed s JOIN fairlead.queues q ON q.id = s.queue AND q.max_waiting IS NOT NULL
    GROUP BY s.queue;
  RETURN NULL;
END $$;
CREATE TRIGGER added AFTER INSERT ON fairlead.messages REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();
CREATE TRIGGER gone AFTER DELETE ON fairlead.messages REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();
CREATE TRIGGER added AFTER INSERT ON fairlead.delayed REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();
CREATE TRIGGER gone AFTER DELETE ON fairlead.delayed REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();
INSERT INTO fairlead.room (queue, change)
  SELECT q.id, (SELECT count(*) FROM fairlead.messages m WHERE m.queue = q.id)
    + (SELECT count(*) FROM fairlead.delayed d WHERE d.queue = q.id)
  FROM fairlead.queues q WHERE q.max_waiting IS NOT NULL;

UPDATE fairlead.schema SET version = 2;
