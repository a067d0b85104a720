-- Queues, and what is in them.

CREATE TABLE fairlead_queues (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  discipline TEXT NOT NULL DEFAULT 'priority',
  default_priority INTEGER NOT NULL DEFAULT 100,
  step INTEGER NOT NULL DEFAULT 0,           -- ageing: microseconds per step of priority
  weights TEXT NOT NULL DEFAULT '{}',        -- JSON: tenant -> weight
  fair INTEGER NOT NULL DEFAULT 0,           -- 0: no tenants; 1: since the last take; 2: in use
  virtual_time TEXT NOT NULL DEFAULT '',     -- the highest tag that was next so far
  backlogged INTEGER NOT NULL DEFAULT 0,     -- tenants that have a group that can be taken
  in_service INTEGER NOT NULL DEFAULT 0,     -- groups that are charged and not settled
  max_waiting INTEGER,                       -- messages; NULL: no limit
  max_failures INTEGER,                      -- of one group, then dead letters; NULL: no limit
  completing INTEGER NOT NULL DEFAULT 0,     -- whether a cluster waits for what is settled here
  enabled INTEGER NOT NULL DEFAULT 1,        -- 0: it is switched off, and gives nothing
  poison TEXT NOT NULL DEFAULT 'dead-letters',  -- off: too many failures switch it off
  by_library INTEGER NOT NULL DEFAULT 0,     -- 1: a service's, which plain SQL cannot take from
  remembered INTEGER NOT NULL,               -- how long the id of a message is known
  length INTEGER NOT NULL DEFAULT 0,         -- messages it holds, where that is limited
  retry TEXT,                                -- JSON: when a group that failed is tried again
  count_as_failure TEXT NOT NULL DEFAULT '["error", "lease", "process"]',
  keep_dead INTEGER,                         -- how long dead letters are kept; NULL: for ever
  limits TEXT,                               -- JSON; NULL: there are none
  max_seconds INTEGER,                       -- so long at most a handler works on one message; NULL: for any time
  off_tenants TEXT                           -- JSON: its tenants that are switched off; NULL: none is
) STRICT;

CREATE TABLE fairlead_groups (
  id INTEGER PRIMARY KEY,                    -- the number with which it began
  queue INTEGER NOT NULL,
  name TEXT,                                 -- NULL: a message that is a group of its own
  tenant TEXT NOT NULL,
  fair INTEGER NOT NULL,                     -- whether its queue has tenants
  state INTEGER NOT NULL,                    -- 1 ready, 2 held by a reader, 3 parked
  k1 INTEGER NOT NULL,                       -- the key: its place, the lowest first
  k2 INTEGER NOT NULL,
  priority INTEGER NOT NULL DEFAULT -1,      -- to what it was raised; -1: it was not
  entered INTEGER NOT NULL DEFAULT 0,
  number INTEGER NOT NULL DEFAULT 0,
  head INTEGER NOT NULL,                     -- the first message that waits; 0: none does
  arrived INTEGER NOT NULL,                  -- when that arrived
  was_priority INTEGER NOT NULL DEFAULT -1,  -- with what it was taken, for a release
  was_entered INTEGER NOT NULL DEFAULT 0,
  was_number INTEGER NOT NULL DEFAULT 0,
  was_turn INTEGER NOT NULL DEFAULT 0,
  token INTEGER,                             -- of the reader that holds it
  holder INTEGER,
  taken INTEGER,
  deadline INTEGER,
  releases INTEGER NOT NULL DEFAULT 0,       -- since it was last accepted or rejected
  failures INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER,                        -- state 3: when it is ready again
  lane TEXT,                                 -- the limits that are for its name; NULL where its queue has none
  client TEXT                                -- for which AMQP client a server holds it; NULL: for none, or only just now
) STRICT;
CREATE UNIQUE INDEX fairlead_groups_name ON fairlead_groups (queue, name) WHERE name IS NOT NULL;
CREATE INDEX fairlead_groups_ready ON fairlead_groups (queue, k1, k2) WHERE state = 1;
CREATE INDEX fairlead_groups_tenant ON fairlead_groups (queue, tenant, k1, k2)
  WHERE state = 1 AND fair = 1;
CREATE INDEX fairlead_groups_parked ON fairlead_groups (queue, not_before) WHERE state = 3;
CREATE INDEX fairlead_groups_held ON fairlead_groups (queue, deadline) WHERE state = 2;
CREATE INDEX fairlead_groups_lane ON fairlead_groups (queue, lane, k1, k2) WHERE state = 1 AND lane IS NOT NULL;

CREATE TABLE fairlead_messages (
  id INTEGER PRIMARY KEY,                    -- its number: the order inside a group
  queue INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  key TEXT NOT NULL,                         -- the id that the user knows
  arrived INTEGER NOT NULL,
  expires INTEGER,
  cost INTEGER NOT NULL,
  type TEXT,
  conversation INTEGER,                      -- the receiver's end of it; NULL: a plain message
  format INTEGER NOT NULL,                   -- of the body: 0 bytes, 1 text, 2 JSON
  body BLOB NOT NULL
) STRICT;
CREATE INDEX fairlead_messages_group ON fairlead_messages (group_id, id);
CREATE INDEX fairlead_messages_conversation ON fairlead_messages (conversation, id)
  WHERE conversation IS NOT NULL;

CREATE TABLE fairlead_delayed (
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  due INTEGER NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority INTEGER,
  key TEXT NOT NULL,
  expires INTEGER,
  cost INTEGER NOT NULL,
  type TEXT,
  conversation INTEGER,
  format INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX fairlead_delayed_due ON fairlead_delayed (queue, due, id);
CREATE INDEX fairlead_delayed_conversation ON fairlead_delayed (conversation, id)
  WHERE conversation IS NOT NULL;

CREATE TABLE fairlead_dead (
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  died INTEGER NOT NULL,
  reason TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority INTEGER,
  key TEXT NOT NULL,
  cost INTEGER NOT NULL,
  type TEXT,
  conversation INTEGER,
  format INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX fairlead_dead_queue ON fairlead_dead (queue, id);
CREATE INDEX fairlead_dead_key ON fairlead_dead (queue, key);
CREATE INDEX fairlead_dead_died ON fairlead_dead (queue, died);

CREATE TABLE fairlead_message_ids (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fairlead_message_ids_at ON fairlead_message_ids (at);

-- What a reader has to know before the next take, left by those who never wait for one.
CREATE TABLE fairlead_pending_updates (
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  kind TEXT NOT NULL,                        -- raised, joined, charged, settled, released
  number INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  priority INTEGER,
  at INTEGER,
  cost INTEGER,
  turn INTEGER,
  placed INTEGER
) STRICT;
CREATE INDEX fairlead_pending_updates_group ON fairlead_pending_updates (group_id, id);

-- Raises are found by their groups, however often one was raised; all else is told in its order.
CREATE INDEX fairlead_pending_updates_raised ON fairlead_pending_updates (queue, group_id) WHERE kind = 'raised';
CREATE INDEX fairlead_pending_updates_tenants ON fairlead_pending_updates (queue, id) WHERE kind <> 'raised';

CREATE TABLE fairlead_tenants (
  queue INTEGER NOT NULL,
  name TEXT NOT NULL,
  tag TEXT NOT NULL,                         -- a decimal number of 40 digits, so that it sorts
  turn INTEGER NOT NULL,
  in_service INTEGER NOT NULL,
  backlogged INTEGER NOT NULL,
  PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX fairlead_tenants_next ON fairlead_tenants (queue, tag, turn) WHERE backlogged = 1;

CREATE TABLE fairlead_lease_holders (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  name TEXT NOT NULL,
  since INTEGER NOT NULL,
  stopping INTEGER NOT NULL DEFAULT 0
) STRICT;

-- How many messages a limited queue holds.
CREATE TRIGGER fairlead_length_messages_insert AFTER INSERT ON fairlead_messages BEGIN
  UPDATE fairlead_queues SET length = length + 1 WHERE id = new.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_length_messages_delete AFTER DELETE ON fairlead_messages BEGIN
  UPDATE fairlead_queues SET length = length - 1 WHERE id = old.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_length_delayed_insert AFTER INSERT ON fairlead_delayed BEGIN
  UPDATE fairlead_queues SET length = length + 1 WHERE id = new.queue AND max_waiting IS NOT NULL;
END;
CREATE TRIGGER fairlead_length_delayed_delete AFTER DELETE ON fairlead_delayed BEGIN
  UPDATE fairlead_queues SET length = length - 1 WHERE id = old.queue AND max_waiting IS NOT NULL;
END;

CREATE TABLE fairlead_limit_states (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,                         -- the limit
  name TEXT NOT NULL,                        -- the tenant; empty where it is not for each of them
  until INTEGER NOT NULL,                    -- how far its rate is used up
  PRIMARY KEY (queue, key, name)
) STRICT;

-- With a queue goes what was remembered of it.
CREATE TRIGGER fairlead_queue_gone AFTER DELETE ON fairlead_queues BEGIN
  DELETE FROM fairlead_groups WHERE queue = old.id;
  DELETE FROM fairlead_pending_updates WHERE queue = old.id;
  DELETE FROM fairlead_message_ids WHERE queue = old.id;
  DELETE FROM fairlead_tenants WHERE queue = old.id;
  DELETE FROM fairlead_limit_states WHERE queue = old.id;
  DELETE FROM fairlead_published WHERE queue = old.id;
END;
