-- Messages that are sent at their times.

CREATE TABLE fairlead.schedules (
  name TEXT PRIMARY KEY,
  queue TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON: the [[schedule]], as it was declared
  next BIGINT NOT NULL,                      -- the tick that is sent next
  last BIGINT,                               -- the tick that was sent last
  looked BIGINT NOT NULL,                    -- what the clock said when `next` was found
  paused BIGINT NOT NULL DEFAULT 0,
  failure TEXT                               -- why the latest tick was not sent
) WITH (fillfactor = 50);
CREATE INDEX schedules_next ON fairlead.schedules (next) WHERE paused = 0;
CREATE INDEX schedules_looked ON fairlead.schedules (looked) WHERE paused = 0;
