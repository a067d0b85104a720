-- Version 2.

-- A restored backup begins a new epoch of the journal: what happened after the backup is gone, and
-- its numbers are used again. The first epoch is not listed.
CREATE TABLE fairlead_epochs (
  first INTEGER PRIMARY KEY,                 -- the number of the event with which it begins
  began INTEGER NOT NULL
) STRICT;

-- Raises are found by their groups, however often one was raised; all else is told in its order.
DROP INDEX fairlead_notices_queue;
CREATE INDEX fairlead_notices_raised ON fairlead_notices (queue, group_id) WHERE kind = 'raised';
CREATE INDEX fairlead_notices_told ON fairlead_notices (queue, id) WHERE kind <> 'raised';
CREATE INDEX fairlead_dead_key ON fairlead_dead (queue, key);

-- How many messages a limited queue holds.
ALTER TABLE fairlead_queues ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
UPDATE fairlead_queues SET held = (SELECT count(*) FROM fairlead_messages m WHERE m.queue = fairlead_queues.id)
  + (SELECT count(*) FROM fairlead_delayed d WHERE d.queue = fairlead_queues.id)
WHERE max_waiting IS NOT NULL;
CREATE TRIGGER fairlead_room_messages_insert AFTER INSERT ON fairlead_messages BEGIN
  UPDATE fairlead_queues SET held = held + 1 WHERE id = new.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_room_messages_delete AFTER DELETE ON fairlead_messages BEGIN
  UPDATE fairlead_queues SET held = held - 1 WHERE id = old.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_room_delayed_insert AFTER INSERT ON fairlead_delayed BEGIN
  UPDATE fairlead_queues SET held = held + 1 WHERE id = new.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_room_delayed_delete AFTER DELETE ON fairlead_delayed BEGIN
  UPDATE fairlead_queues SET held = held - 1 WHERE id = old.queue AND max_waiting IS NOT NULL;
END;

UPDATE fairlead_schema SET version = 2;
