-- The journal: what happened, event by event.

CREATE TABLE fairlead_journal (
  id INTEGER PRIMARY KEY,                    -- the number of the event: the order of all of them
  time INTEGER NOT NULL,
  kind TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  key TEXT NOT NULL,
  tenant TEXT NOT NULL,
  priority INTEGER,
  cost INTEGER,
  type TEXT,
  attempt INTEGER,
  token INTEGER,
  actor TEXT NOT NULL,
  lease INTEGER,
  detail TEXT,
  cluster TEXT,                              -- from here on: decisions, and what becomes of clusters
  version INTEGER,
  stream TEXT,
  destination TEXT,
  address TEXT,
  outcome TEXT,
  sequence INTEGER,
  run INTEGER,                               -- of many messages, with which it came
  said TEXT                                  -- JSON: what the message said that was decided about
) STRICT;
CREATE INDEX fairlead_journal_published ON fairlead_journal (cluster, key)
  WHERE cluster IS NOT NULL AND key <> '';
CREATE INDEX fairlead_journal_settled ON fairlead_journal (token)
  WHERE token IS NOT NULL AND kind <> 'taken';
CREATE INDEX fairlead_journal_switched ON fairlead_journal (queue, id) WHERE kind = 'switched-off';

-- Whoever reads the journal is told what is missing, however it was deleted.
CREATE TRIGGER fairlead_pruned AFTER DELETE ON fairlead_journal BEGIN
  UPDATE fairlead_schema SET pruned = old.id WHERE pruned < old.id;
END;

-- A restored backup begins a new epoch of the journal: what happened after the backup is gone, and
-- its numbers are used again. The first epoch is not listed.
CREATE TABLE fairlead_epochs (
  first INTEGER PRIMARY KEY,                 -- the number of the event with which it begins
  began INTEGER NOT NULL
) STRICT;
