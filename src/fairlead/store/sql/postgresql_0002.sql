-- Version 2.

-- A restored backup begins a new epoch of the journal: the numbers of transactions start anew there,
-- and what happened after the backup is gone. The first epoch is not listed.
CREATE TABLE fairlead.epochs (
  first BIGINT PRIMARY KEY,                 -- the number of the event with which it begins
  began BIGINT NOT NULL
);

UPDATE fairlead.schema SET version = 2;
