-- Queues, and what is in them.

CREATE TABLE fairlead.queues (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  discipline TEXT NOT NULL DEFAULT 'priority',
  default_priority BIGINT NOT NULL DEFAULT 100,
  step BIGINT NOT NULL DEFAULT 0,            -- ageing: microseconds per step of priority
  weights TEXT NOT NULL DEFAULT '{}',        -- JSON: tenant -> weight
  fair BIGINT NOT NULL DEFAULT 0,            -- 0: no tenants; 1: since the last take; 2: in use
  virtual_time TEXT NOT NULL DEFAULT '',     -- the highest tag that was next so far
  backlogged BIGINT NOT NULL DEFAULT 0,      -- tenants that have a group that can be taken
  in_service BIGINT NOT NULL DEFAULT 0,      -- groups that are charged and not settled
  max_waiting BIGINT,                        -- messages; NULL: no limit
  max_failures BIGINT,                       -- of one group, then dead letters; NULL: no limit
  completing BIGINT NOT NULL DEFAULT 0,      -- whether a cluster waits for what is settled here
  enabled BIGINT NOT NULL DEFAULT 1,         -- 0: it is switched off, and gives nothing
  poison TEXT NOT NULL DEFAULT 'dead-letters',  -- off: too many failures switch it off
  by_library BIGINT NOT NULL DEFAULT 0,      -- 1: a service's, which plain SQL cannot take from
  remembered BIGINT NOT NULL,                -- how long the id of a message is known
  retry TEXT,                                -- JSON: when a group that failed is tried again
  count_as_failure TEXT NOT NULL DEFAULT '["error", "lease", "process"]',
  keep_dead BIGINT,                          -- how long dead letters are kept; NULL: for ever
  limits TEXT,                               -- JSON; NULL: there are none
  max_seconds BIGINT,                        -- so long at most a handler works on one message; NULL: for any time
  off_tenants TEXT                           -- JSON: its tenants that are switched off; NULL: none is
);

CREATE TABLE fairlead.groups (
  id BIGINT PRIMARY KEY,                     -- the number with which it began
  queue BIGINT NOT NULL,
  name TEXT COLLATE "C",                     -- NULL: a message that is a group of its own; sorted as on SQLite
  tenant TEXT NOT NULL,
  fair BIGINT NOT NULL,                      -- whether its queue has tenants
  state BIGINT NOT NULL,                     -- 1 ready, 2 held by a reader, 3 parked
  k1 BIGINT NOT NULL,                        -- the key: its place, the lowest first
  k2 BIGINT NOT NULL,
  priority BIGINT NOT NULL DEFAULT -1,       -- to what it was raised; -1: it was not
  entered BIGINT NOT NULL DEFAULT 0,
  number BIGINT NOT NULL DEFAULT 0,
  head BIGINT NOT NULL,                      -- the first message that waits; 0: none does
  arrived BIGINT NOT NULL,                   -- when that arrived
  was_priority BIGINT NOT NULL DEFAULT -1,   -- with what it was taken, for a release
  was_entered BIGINT NOT NULL DEFAULT 0,
  was_number BIGINT NOT NULL DEFAULT 0,
  was_turn BIGINT NOT NULL DEFAULT 0,
  token BIGINT,                              -- of the reader that holds it
  holder BIGINT,
  taken BIGINT,
  deadline BIGINT,
  releases BIGINT NOT NULL DEFAULT 0,        -- since it was last accepted or rejected
  failures BIGINT NOT NULL DEFAULT 0,
  not_before BIGINT,                         -- state 3: when it is ready again
  lane TEXT,                                 -- the limits that are for its name; NULL where its queue has none
  client TEXT                                -- for which AMQP client a server holds it; NULL: for none, or only just now
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX groups_name ON fairlead.groups (queue, name) WHERE name IS NOT NULL;
CREATE INDEX groups_ready ON fairlead.groups (queue, k1, k2) WHERE state = 1;
CREATE INDEX groups_tenant ON fairlead.groups (queue, tenant, k1, k2)
  WHERE state = 1 AND fair = 1;
CREATE INDEX groups_parked ON fairlead.groups (queue, not_before) WHERE state = 3;
CREATE INDEX groups_held ON fairlead.groups (queue, deadline) WHERE state = 2;
CREATE INDEX groups_token ON fairlead.groups (token) WHERE state = 2;
CREATE INDEX groups_lane ON fairlead.groups (queue, lane, k1, k2) WHERE state = 1 AND lane IS NOT NULL;

-- How the work on a group ended, as `settlement.py` says it.
CREATE TYPE fairlead.settlement AS (
  id BIGINT,
  token BIGINT,
  kind TEXT,                                 -- accepted, rejected, released
  given BIGINT[],
  dead JSONB,                                -- numbers of messages that are rejected -> why
  reason TEXT,
  delay BIGINT,                              -- microseconds; NULL: as its queue is set
  failed TEXT,                               -- error, lease, process; empty or NULL: it is no failure
  done BIGINT,                               -- so many of what was given are accepted in any case
  partly BOOLEAN,
  keep BOOLEAN,
  moved BOOLEAN,
  redelivers BOOLEAN
);

CREATE TABLE fairlead.messages (
  id BIGINT PRIMARY KEY,                     -- its number: the order inside a group
  queue BIGINT NOT NULL,
  group_id BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- the id that the user knows
  arrived BIGINT NOT NULL,
  expires BIGINT,
  cost BIGINT NOT NULL,
  type TEXT,
  conversation BIGINT,                       -- the receiver's end of it; NULL: a plain message
  format BIGINT NOT NULL,                    -- of the body: 0 bytes, 1 text, 2 JSON
  body BYTEA NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX messages_group ON fairlead.messages (group_id, id);
CREATE INDEX messages_conversation ON fairlead.messages (conversation, id)
  WHERE conversation IS NOT NULL;

CREATE TABLE fairlead.delayed (
  id BIGINT PRIMARY KEY,
  queue BIGINT NOT NULL,
  due BIGINT NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority BIGINT,
  key TEXT NOT NULL,
  expires BIGINT,
  cost BIGINT NOT NULL,
  type TEXT,
  conversation BIGINT,
  format BIGINT NOT NULL,
  body BYTEA NOT NULL
);
CREATE INDEX delayed_due ON fairlead.delayed (queue, due, id);
CREATE INDEX delayed_conversation ON fairlead.delayed (conversation, id)
  WHERE conversation IS NOT NULL;

CREATE TABLE fairlead.dead (
  id BIGINT PRIMARY KEY,
  queue BIGINT NOT NULL,
  died BIGINT NOT NULL,
  reason TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority BIGINT,
  key TEXT NOT NULL,
  cost BIGINT NOT NULL,
  type TEXT,
  conversation BIGINT,
  format BIGINT NOT NULL,
  body BYTEA NOT NULL
);
CREATE INDEX dead_queue ON fairlead.dead (queue, id);
CREATE INDEX dead_key ON fairlead.dead (queue, key);
CREATE INDEX dead_died ON fairlead.dead (queue, died);

CREATE TABLE fairlead.message_ids (
  queue BIGINT NOT NULL,
  key TEXT NOT NULL,
  at BIGINT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (queue, key)
);
CREATE INDEX message_ids_at ON fairlead.message_ids (at);

-- What a reader has to know before the next take, left by those who never wait for one.
CREATE TABLE fairlead.pending_updates (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue BIGINT NOT NULL,
  group_id BIGINT NOT NULL,
  kind TEXT NOT NULL,                        -- raised, joined, charged, settled, released
  number BIGINT NOT NULL,
  tenant TEXT NOT NULL,
  priority BIGINT,
  at BIGINT,
  cost BIGINT,
  turn BIGINT,
  placed BIGINT
);
CREATE INDEX pending_updates_group ON fairlead.pending_updates (group_id, id);

-- Raises are found by their groups, however often one was raised; all else is told in its order.
CREATE INDEX pending_updates_raised ON fairlead.pending_updates (queue, group_id) WHERE kind = 'raised';
CREATE INDEX pending_updates_tenants ON fairlead.pending_updates (queue, id) WHERE kind <> 'raised';

-- One group may have most of the rows, when it was raised a million times. A planner that expects as
-- many of every group would look for the latest row of one in the order of all.
ALTER TABLE fairlead.pending_updates ALTER COLUMN group_id SET (n_distinct = -0.5);

CREATE TABLE fairlead.tenants (
  queue BIGINT NOT NULL,
  name TEXT NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,             -- a decimal number of 40 digits, so that it sorts
  turn BIGINT NOT NULL,
  in_service BIGINT NOT NULL,
  backlogged BIGINT NOT NULL,
  PRIMARY KEY (queue, name)
);
CREATE INDEX tenants_next ON fairlead.tenants (queue, tag, turn) WHERE backlogged = 1;
CREATE INDEX tenants_idle ON fairlead.tenants (queue, tag) WHERE backlogged = 0 AND in_service = 0;

CREATE TABLE fairlead.lease_holders (
  id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host TEXT NOT NULL,
  pid BIGINT NOT NULL,
  name TEXT NOT NULL,
  since BIGINT NOT NULL,
  stopping BIGINT NOT NULL DEFAULT 0,
  session BIGINT,                            -- the process of its session at the server, which holds
  alive BIGINT                               -- an advisory lock of this key: so others see that it lives
);

-- The stores that wait for work, so that senders notify only where somebody listens.
CREATE TABLE fairlead.listeners (
  queue BIGINT NOT NULL,
  holder INTEGER NOT NULL,
  PRIMARY KEY (queue, holder)
);

-- How many messages a limited queue holds: the sum. Each statement that adds or takes away leaves a row
-- of its own, so no sender waits for another; who asks sums them up, and makes one row of many.
CREATE TABLE fairlead.length_changes (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue BIGINT NOT NULL,
  change BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
CREATE INDEX length_changes_queue ON fairlead.length_changes (queue, id);

-- What a statement adds to a limited queue or takes from it is counted, whoever does it.
CREATE FUNCTION fairlead._count() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.length_changes (queue, change)
    SELECT s.queue, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
    FROM changed s JOIN fairlead.queues q ON q.id = s.queue AND q.max_waiting IS NOT NULL
    GROUP BY s.queue;
  RETURN NULL;
END $$;

CREATE TRIGGER added AFTER INSERT ON fairlead.messages REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();

CREATE TRIGGER gone AFTER DELETE ON fairlead.messages REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();

CREATE TRIGGER added AFTER INSERT ON fairlead.delayed REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();

CREATE TRIGGER gone AFTER DELETE ON fairlead.delayed REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._count();

CREATE TABLE fairlead.limit_states (
  queue BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- the limit
  name TEXT NOT NULL,                        -- the tenant; empty where it is not for each of them
  until BIGINT NOT NULL,                     -- how far its rate is used up
  PRIMARY KEY (queue, key, name)
);
