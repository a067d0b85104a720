-- Version 8: how much of a queue goes at one time, or in a time.

ALTER TABLE fairlead.queues ADD COLUMN limits TEXT;              -- JSON; NULL: there are none
-- `postgresql_0008_beforehand.sql` has given groups their lanes, where they were there.
DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a
      WHERE a.attrelid = 'fairlead.groups'::regclass AND a.attname = 'lane') THEN
    ALTER TABLE fairlead.groups ADD COLUMN lane TEXT;
    CREATE INDEX groups_lane ON fairlead.groups (queue, lane, k1, k2) WHERE state = 1 AND lane IS NOT NULL;
  END IF;
END $$;
CREATE TABLE fairlead.limit_states (
  queue BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- the limit
  name TEXT NOT NULL,                        -- the tenant; empty where it is not for each of them
  until BIGINT NOT NULL,                     -- how far its rate is used up
  PRIMARY KEY (queue, key, name)
);

UPDATE fairlead.schema SET version = 8;
