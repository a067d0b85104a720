-- The first schema. Times are microseconds since 1970; numbers are those of the journal.
-- Every table stands beside the user's own, so each has the prefix fairlead_.

CREATE TABLE fairlead_schema (
  version INTEGER NOT NULL,
  store TEXT NOT NULL,                       -- which store this is: a random name
  declared INTEGER NOT NULL DEFAULT 0,        -- how often services and the like were declared
  journal_keep INTEGER DEFAULT 2592000000000,  -- how long events are kept; NULL: for ever
  pruned INTEGER NOT NULL DEFAULT 0          -- the last event that was forgotten
) STRICT;
INSERT INTO fairlead_schema (version, store) VALUES (1, lower(hex(randomblob(16))));

CREATE TABLE fairlead_queues (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  discipline TEXT NOT NULL DEFAULT 'priority',
  default_priority INTEGER NOT NULL DEFAULT 100,
  step INTEGER NOT NULL DEFAULT 0,           -- ageing: microseconds per step of priority
  weights TEXT NOT NULL DEFAULT '{}',        -- JSON: tenant -> weight
  fair INTEGER NOT NULL DEFAULT 0,           -- 0: no tenants; 1: since the last take; 2: in use
  tag_clock TEXT NOT NULL DEFAULT '',        -- the highest tag that was next so far
  lined INTEGER NOT NULL DEFAULT 0,          -- tenants that have a group that can be taken
  works INTEGER NOT NULL DEFAULT 0,          -- groups that are charged and not settled
  max_waiting INTEGER,                       -- messages; NULL: no limit
  max_failures INTEGER,                      -- of one group, then dead letters; NULL: no limit
  completing INTEGER NOT NULL DEFAULT 0,      -- whether a cluster waits for what is settled here
  enabled INTEGER NOT NULL DEFAULT 1,         -- 0: it is switched off, and gives nothing
  poison TEXT NOT NULL DEFAULT 'dead-letters',  -- off: too many failures switch it off
  by_library INTEGER NOT NULL DEFAULT 0,      -- 1: a service's, which plain SQL cannot take from
  remembered INTEGER NOT NULL                -- how long the id of a message is known
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
  not_before INTEGER                         -- state 3: when it is ready again
) STRICT;
CREATE UNIQUE INDEX fairlead_groups_name ON fairlead_groups (queue, name) WHERE name IS NOT NULL;
CREATE INDEX fairlead_groups_ready ON fairlead_groups (queue, k1, k2) WHERE state = 1;
CREATE INDEX fairlead_groups_tenant ON fairlead_groups (queue, tenant, k1, k2)
  WHERE state = 1 AND fair = 1;
CREATE INDEX fairlead_groups_parked ON fairlead_groups (queue, not_before) WHERE state = 3;
CREATE INDEX fairlead_groups_held ON fairlead_groups (queue, deadline) WHERE state = 2;

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

CREATE TABLE fairlead_message_ids (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fairlead_message_ids_at ON fairlead_message_ids (at);

-- What a reader has to know before the next take, left by those who never wait for one.
CREATE TABLE fairlead_notices (
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
CREATE INDEX fairlead_notices_queue ON fairlead_notices (queue, id);
CREATE INDEX fairlead_notices_group ON fairlead_notices (group_id, id);

CREATE TABLE fairlead_tenants (
  queue INTEGER NOT NULL,
  name TEXT NOT NULL,
  tag TEXT NOT NULL,                         -- a decimal number of 40 digits, so that it sorts
  turn INTEGER NOT NULL,
  works INTEGER NOT NULL,
  lined INTEGER NOT NULL,
  PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX fairlead_tenants_next ON fairlead_tenants (queue, tag, turn) WHERE lined = 1;

CREATE TABLE fairlead_holders (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  name TEXT NOT NULL,
  since INTEGER NOT NULL,
  stopping INTEGER NOT NULL DEFAULT 0
) STRICT;

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

-- The row that choices lock and count in. A choice is a place in a stretch of choices that were
-- made ahead; where a rule cannot make them ahead, its state stands here.
CREATE TABLE fairlead_clusters (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  allocation TEXT NOT NULL,                  -- exact, ticket
  rule TEXT NOT NULL,                        -- that plain SQL knows: least-served, circular, first-by-name
  reset_every INTEGER NOT NULL,              -- microseconds; 0: never
  reset_due INTEGER,
  due INTEGER,                               -- when the next change is due of itself
  version INTEGER NOT NULL,
  stamp TEXT NOT NULL,                       -- of the version; never used twice
  first INTEGER NOT NULL,                    -- the turn with which the running stretch begins
  taken INTEGER NOT NULL,                    -- choices since
  revision INTEGER NOT NULL,                 -- of the state; never used twice
  state TEXT                                 -- JSON; NULL: that of the stretch, so many choices on
) STRICT;

-- What a cluster was loaded from; not in its row, which is written with each choice.
CREATE TABLE fairlead_files (
  cluster INTEGER PRIMARY KEY,
  loaded TEXT NOT NULL                       -- JSON: the file, and how it counts
) STRICT;

CREATE TABLE fairlead_versions (
  cluster INTEGER NOT NULL,
  version INTEGER NOT NULL,
  stamp TEXT NOT NULL,
  at INTEGER NOT NULL,
  definition TEXT NOT NULL,                  -- JSON: the file, and its objects as they are now
  PRIMARY KEY (cluster, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE fairlead_stretches (
  cluster INTEGER NOT NULL,
  first INTEGER NOT NULL,                    -- a turn
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,                        -- when it began
  number INTEGER NOT NULL,                   -- the latest event before it
  state TEXT NOT NULL,                       -- JSON, at its beginning
  choices TEXT,                              -- JSON: ids of destinations; NULL: not made ahead
  PRIMARY KEY (cluster, first, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE fairlead_destinations (
  cluster INTEGER NOT NULL,
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  address TEXT,
  queue TEXT,                                -- to which is published; NULL: the one of its name
  PRIMARY KEY (cluster, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE fairlead_bindings (
  cluster INTEGER NOT NULL,
  key TEXT NOT NULL,                         -- JSON: how it is bound, and to whom
  destination TEXT NOT NULL,
  PRIMARY KEY (cluster, key)
) STRICT, WITHOUT ROWID;

-- Work that is settled, left for the next choice of its cluster.
CREATE TABLE fairlead_completions (
  id INTEGER PRIMARY KEY,
  cluster INTEGER NOT NULL,
  destination INTEGER NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version INTEGER NOT NULL
) STRICT;
CREATE INDEX fairlead_completions_cluster ON fairlead_completions (cluster, id);

-- Messages whose settlement their cluster waits for.
CREATE TABLE fairlead_published (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,
  cluster INTEGER NOT NULL,
  destination INTEGER NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version INTEGER NOT NULL,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;

-- Message types, contracts and services, as they were declared.
CREATE TABLE fairlead_declared (
  kind TEXT NOT NULL,                        -- message_type, contract, service
  name TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- The ends of dialogs. What one end is told waits in a group of its own queue.
CREATE TABLE fairlead_endpoints (
  id INTEGER PRIMARY KEY,                    -- the number of the event with which it began
  handle TEXT NOT NULL UNIQUE,               -- random: who knows it acts as this end
  dialog INTEGER NOT NULL,                   -- a number that both ends have
  side INTEGER NOT NULL,                     -- 0 of the initiator, 1 of the target
  service TEXT NOT NULL,
  far_service TEXT NOT NULL,
  contract TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  state INTEGER NOT NULL DEFAULT 1,          -- 1 open, 2 failed: it can only be ended, 3 ended
  sent INTEGER NOT NULL DEFAULT 0,           -- messages of this end
  began INTEGER NOT NULL,
  lifetime INTEGER,                          -- when the dialog is over, whatever is said
  bound INTEGER                              -- the end to which this one is forwarded, of another dialog
) STRICT;
CREATE UNIQUE INDEX fairlead_endpoints_dialog ON fairlead_endpoints (dialog, side);
CREATE INDEX fairlead_endpoints_service ON fairlead_endpoints (service, dialog);
CREATE INDEX fairlead_endpoints_ended ON fairlead_endpoints (dialog) WHERE state = 3;
