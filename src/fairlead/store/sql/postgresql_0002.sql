-- Version 2.

-- A restored backup begins a new epoch of the journal: the numbers of transactions start anew there,
-- and what happened after the backup is gone. The first epoch is not listed.
CREATE TABLE fairlead.epochs (
  first BIGINT PRIMARY KEY,                 -- the number of the event with which it begins
  began BIGINT NOT NULL
);

-- Raises are found by their groups, however often one was raised; all else is told in its order.
DROP INDEX fairlead.notices_queue;
CREATE INDEX notices_raised ON fairlead.notices (queue, group_id) WHERE kind = 'raised';
CREATE INDEX notices_told ON fairlead.notices (queue, id) WHERE kind <> 'raised';
CREATE INDEX dead_key ON fairlead.dead (queue, key);

UPDATE fairlead.schema SET version = 2;
