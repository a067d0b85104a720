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

UPDATE fairlead_schema SET version = 2;
