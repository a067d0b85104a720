-- Version 3: tables and columns are called what other queues and databases call such things.

-- Whoever works in the store has looked at queues first, so none of them holds what is locked below.
LOCK TABLE fairlead.queues IN ACCESS EXCLUSIVE MODE;

-- What a sender or a settler leaves for the next reader.
ALTER TABLE fairlead.notices RENAME TO pending_updates;
ALTER SEQUENCE fairlead.notices_id_seq RENAME TO pending_updates_id_seq;
ALTER INDEX fairlead.notices_pkey RENAME TO pending_updates_pkey;
ALTER INDEX fairlead.notices_group RENAME TO pending_updates_group;
ALTER INDEX fairlead.notices_raised RENAME TO pending_updates_raised;
ALTER INDEX fairlead.notices_told RENAME TO pending_updates_tenants;
-- One group may have most of the rows, when it was raised a million times. A planner that expects as
-- many of every group would look for the latest row of one in the order of all.
ALTER TABLE fairlead.pending_updates ALTER COLUMN group_id SET (n_distinct = -0.5);

ALTER TABLE fairlead.holders RENAME TO lease_holders;
ALTER SEQUENCE fairlead.holders_id_seq RENAME TO lease_holders_id_seq;
ALTER INDEX fairlead.holders_pkey RENAME TO lease_holders_pkey;

-- The stores that LISTEN for work, so that senders notify only where somebody does.
ALTER TABLE fairlead.sleepers RENAME TO listeners;
ALTER INDEX fairlead.sleepers_pkey RENAME TO listeners_pkey;

ALTER TABLE fairlead.stretches RENAME TO choice_runs;
ALTER INDEX fairlead.stretches_pkey RENAME TO choice_runs_pkey;

-- The length of a limited queue is the sum of its changes.
ALTER TABLE fairlead.room RENAME TO length_changes;
ALTER SEQUENCE fairlead.room_id_seq RENAME TO length_changes_id_seq;
ALTER INDEX fairlead.room_pkey RENAME TO length_changes_pkey;
ALTER INDEX fairlead.room_queue RENAME TO length_changes_queue;

-- Fair queueing's words: virtual time, backlogged tenants, groups in service.
ALTER TABLE fairlead.queues RENAME COLUMN tag_clock TO virtual_time;
ALTER TABLE fairlead.queues RENAME COLUMN lined TO backlogged;
ALTER TABLE fairlead.queues RENAME COLUMN works TO in_service;
ALTER TABLE fairlead.tenants RENAME COLUMN lined TO backlogged;
ALTER TABLE fairlead.tenants RENAME COLUMN works TO in_service;

-- A call of plain SQL that is under way goes on with the function as it was. It finds the old names
-- until `postgresql_0003_afterwards.sql` drops them, and has the rights that it had.
CREATE VIEW fairlead.notices WITH (security_invoker = true) AS SELECT * FROM fairlead.pending_updates;
CREATE VIEW fairlead.sleepers WITH (security_invoker = true) AS SELECT * FROM fairlead.listeners;
CREATE VIEW fairlead.stretches WITH (security_invoker = true) AS SELECT * FROM fairlead.choice_runs;
CREATE VIEW fairlead.room WITH (security_invoker = true) AS SELECT * FROM fairlead.length_changes;
GRANT SELECT, INSERT, UPDATE, DELETE ON fairlead.notices, fairlead.sleepers, fairlead.stretches, fairlead.room
  TO PUBLIC;

UPDATE fairlead.schema SET version = 3;
