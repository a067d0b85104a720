-- Version 2.

-- A restored backup begins a new epoch of the journal: what happened after the backup is gone, and
-- its numbers are used again. The first epoch is not listed.
CREATE TABLE fairlead_epochs (
  first INTEGER PRIMARY KEY,                 -- the number of the event with which it begins
  began INTEGER NOT NULL
) STRICT;

UPDATE fairlead_schema SET version = 2;
