-- Version 8: how much of a queue goes at one time, or in a time.

ALTER TABLE fairlead_queues ADD COLUMN limits TEXT;              -- JSON; NULL: there are none
-- The limits that are for the name of a group; NULL where its queue has none.
ALTER TABLE fairlead_groups ADD COLUMN lane TEXT;
CREATE INDEX fairlead_groups_lane ON fairlead_groups (queue, lane, k1, k2) WHERE state = 1 AND lane IS NOT NULL;
CREATE TABLE fairlead_limit_states (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,                         -- the limit
  name TEXT NOT NULL,                        -- the tenant; empty where it is not for each of them
  until INTEGER NOT NULL,                     -- how far its rate is used up
  PRIMARY KEY (queue, key, name)
) STRICT;

UPDATE fairlead_schema SET version = 8;
