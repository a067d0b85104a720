-- Messages that are sent at their times.

CREATE TABLE fairlead_schedules (
  name TEXT PRIMARY KEY,
  queue TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON: the [[schedule]], as it was declared
  next INTEGER NOT NULL,                     -- the tick that is sent next
  last INTEGER,                              -- the tick that was sent last
  looked INTEGER NOT NULL,                   -- what the clock said when `next` was found
  paused INTEGER NOT NULL DEFAULT 0,
  failure TEXT                               -- why the latest tick was not sent
) STRICT;
CREATE INDEX fairlead_schedules_next ON fairlead_schedules (next) WHERE paused = 0;
CREATE INDEX fairlead_schedules_looked ON fairlead_schedules (looked) WHERE paused = 0;
