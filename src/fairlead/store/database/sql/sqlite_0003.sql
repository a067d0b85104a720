-- Version 3: tables and columns are called what other queues and databases call such things.

-- What a sender or a settler leaves for the next reader.
ALTER TABLE fairlead_notices RENAME TO fairlead_pending_updates;
DROP INDEX fairlead_notices_group;
DROP INDEX fairlead_notices_raised;
DROP INDEX fairlead_notices_told;
CREATE INDEX fairlead_pending_updates_group ON fairlead_pending_updates (group_id, id);
CREATE INDEX fairlead_pending_updates_raised ON fairlead_pending_updates (queue, group_id) WHERE kind = 'raised';
CREATE INDEX fairlead_pending_updates_tenants ON fairlead_pending_updates (queue, id) WHERE kind <> 'raised';

ALTER TABLE fairlead_holders RENAME TO fairlead_lease_holders;
ALTER TABLE fairlead_stretches RENAME TO fairlead_choice_runs;

-- Fair queueing's words: virtual time, backlogged tenants, groups in service.
ALTER TABLE fairlead_queues RENAME COLUMN tag_clock TO virtual_time;
ALTER TABLE fairlead_queues RENAME COLUMN lined TO backlogged;
ALTER TABLE fairlead_queues RENAME COLUMN works TO in_service;
ALTER TABLE fairlead_tenants RENAME COLUMN lined TO backlogged;
ALTER TABLE fairlead_tenants RENAME COLUMN works TO in_service;

-- The length of a limited queue.
DROP TRIGGER fairlead_room_messages_insert;
DROP TRIGGER fairlead_room_messages_delete;
DROP TRIGGER fairlead_room_delayed_insert;
DROP TRIGGER fairlead_room_delayed_delete;
ALTER TABLE fairlead_queues RENAME COLUMN held TO length;
CREATE TRIGGER fairlead_length_messages_insert AFTER INSERT ON fairlead_messages BEGIN
  UPDATE fairlead_queues SET length = length + 1 WHERE id = new.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_length_messages_delete AFTER DELETE ON fairlead_messages BEGIN
  UPDATE fairlead_queues SET length = length - 1 WHERE id = old.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_length_delayed_insert AFTER INSERT ON fairlead_delayed BEGIN
  UPDATE fairlead_queues SET length = length + 1 WHERE id = new.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_length_delayed_delete AFTER DELETE ON fairlead_delayed BEGIN
  UPDATE fairlead_queues SET length = length - 1 WHERE id = old.queue AND max_waiting IS NOT NULL;
END;

UPDATE fairlead_schema SET version = 3;
