-- A column more for groups, in a transaction that locks nothing else. Who settles looks at groups first
-- and at queues then, who takes the other way round: with both locked, one of them would be in the way.
ALTER TABLE fairlead.groups ADD COLUMN IF NOT EXISTS lane TEXT;  -- the limits that are for its name
CREATE INDEX IF NOT EXISTS groups_lane ON fairlead.groups (queue, lane, k1, k2)
  WHERE state = 1 AND lane IS NOT NULL;
