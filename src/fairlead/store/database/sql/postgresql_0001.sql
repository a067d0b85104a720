-- The first schema. Times are microseconds since 1970; numbers are those of the journal.

CREATE SCHEMA IF NOT EXISTS fairlead;
CREATE SEQUENCE fairlead.numbers;         -- numbers of events: ids of groups, messages, notices, tokens

CREATE TABLE fairlead.schema (
  version BIGINT NOT NULL,
  store TEXT NOT NULL,                      -- which store this is: a random name
  declared BIGINT NOT NULL DEFAULT 0,        -- how often services and the like were declared
  journal_keep BIGINT DEFAULT 2592000000000,  -- how long events are kept; NULL: for ever
  pruned_transaction XID8 NOT NULL DEFAULT '0',  -- the last event that was forgotten
  pruned_id BIGINT NOT NULL DEFAULT 0
);
INSERT INTO fairlead.schema (version, store) VALUES (1, gen_random_uuid()::text);

CREATE TABLE fairlead.queues (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  discipline TEXT NOT NULL DEFAULT 'priority',
  default_priority BIGINT NOT NULL DEFAULT 100,
  step BIGINT NOT NULL DEFAULT 0,           -- ageing: microseconds per step of priority
  weights TEXT NOT NULL DEFAULT '{}',        -- JSON: tenant -> weight
  fair BIGINT NOT NULL DEFAULT 0,           -- 0: no tenants; 1: since the last take; 2: in use
  tag_clock TEXT NOT NULL DEFAULT '',        -- the highest tag that was next so far
  lined BIGINT NOT NULL DEFAULT 0,          -- tenants that have a group that can be taken
  works BIGINT NOT NULL DEFAULT 0,          -- groups that are charged and not settled
  max_waiting BIGINT,                       -- messages; NULL: no limit
  max_failures BIGINT,                      -- of one group, then dead letters; NULL: no limit
  completing BIGINT NOT NULL DEFAULT 0,      -- whether a cluster waits for what is settled here
  enabled BIGINT NOT NULL DEFAULT 1,         -- 0: it is switched off, and gives nothing
  poison TEXT NOT NULL DEFAULT 'dead-letters',  -- off: too many failures switch it off
  by_library BIGINT NOT NULL DEFAULT 0,      -- 1: a service's, which plain SQL cannot take from
  remembered BIGINT NOT NULL                -- how long the id of a message is known
);

CREATE TABLE fairlead.groups (
  id BIGINT PRIMARY KEY,                    -- the number with which it began
  queue BIGINT NOT NULL,
  name TEXT,                                 -- NULL: a message that is a group of its own
  tenant TEXT NOT NULL,
  fair BIGINT NOT NULL,                     -- whether its queue has tenants
  state BIGINT NOT NULL,                    -- 1 ready, 2 held by a reader, 3 parked
  k1 BIGINT NOT NULL,                       -- the key: its place, the lowest first
  k2 BIGINT NOT NULL,
  priority BIGINT NOT NULL DEFAULT -1,      -- to what it was raised; -1: it was not
  entered BIGINT NOT NULL DEFAULT 0,
  number BIGINT NOT NULL DEFAULT 0,
  head BIGINT NOT NULL,                     -- the first message that waits; 0: none does
  arrived BIGINT NOT NULL,                  -- when that arrived
  was_priority BIGINT NOT NULL DEFAULT -1,  -- with what it was taken, for a release
  was_entered BIGINT NOT NULL DEFAULT 0,
  was_number BIGINT NOT NULL DEFAULT 0,
  was_turn BIGINT NOT NULL DEFAULT 0,
  token BIGINT,                             -- of the reader that holds it
  holder BIGINT,
  taken BIGINT,
  deadline BIGINT,
  releases BIGINT NOT NULL DEFAULT 0,       -- since it was last accepted or rejected
  failures BIGINT NOT NULL DEFAULT 0,
  not_before BIGINT                         -- state 3: when it is ready again
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX groups_name ON fairlead.groups (queue, name) WHERE name IS NOT NULL;
CREATE INDEX groups_ready ON fairlead.groups (queue, k1, k2) WHERE state = 1;
CREATE INDEX groups_tenant ON fairlead.groups (queue, tenant, k1, k2)
  WHERE state = 1 AND fair = 1;
CREATE INDEX groups_parked ON fairlead.groups (queue, not_before) WHERE state = 3;
CREATE INDEX groups_held ON fairlead.groups (queue, deadline) WHERE state = 2;
CREATE INDEX groups_token ON fairlead.groups (token) WHERE state = 2;

CREATE TABLE fairlead.messages (
  id BIGINT PRIMARY KEY,                    -- its number: the order inside a group
  queue BIGINT NOT NULL,
  group_id BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- the id that the user knows
  arrived BIGINT NOT NULL,
  expires BIGINT,
  cost BIGINT NOT NULL,
  type TEXT,
  conversation BIGINT,                      -- the receiver's end of it; NULL: a plain message
  format BIGINT NOT NULL,                   -- of the body: 0 bytes, 1 text, 2 JSON
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

CREATE TABLE fairlead.message_ids (
  queue BIGINT NOT NULL,
  key TEXT NOT NULL,
  at BIGINT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (queue, key)
);
CREATE INDEX message_ids_at ON fairlead.message_ids (at);

-- What a reader has to know before the next take, left by those who never wait for one.
CREATE TABLE fairlead.notices (
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
CREATE INDEX notices_queue ON fairlead.notices (queue, id);
CREATE INDEX notices_group ON fairlead.notices (group_id, id);

CREATE TABLE fairlead.tenants (
  queue BIGINT NOT NULL,
  name TEXT NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,                         -- a decimal number of 40 digits, so that it sorts
  turn BIGINT NOT NULL,
  works BIGINT NOT NULL,
  lined BIGINT NOT NULL,
  PRIMARY KEY (queue, name)
);
CREATE INDEX tenants_next ON fairlead.tenants (queue, tag, turn) WHERE lined = 1;

CREATE TABLE fairlead.holders (
  id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host TEXT NOT NULL,
  pid BIGINT NOT NULL,
  name TEXT NOT NULL,
  since BIGINT NOT NULL,
  stopping BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE fairlead.journal (
  id BIGINT PRIMARY KEY DEFAULT nextval('fairlead.numbers'),
  transaction XID8 NOT NULL DEFAULT pg_current_xact_id(),
  time BIGINT NOT NULL,
  kind TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  key TEXT NOT NULL,
  tenant TEXT NOT NULL,
  priority BIGINT,
  cost BIGINT,
  type TEXT,
  attempt BIGINT,
  token BIGINT,
  actor TEXT NOT NULL,
  lease BIGINT,
  detail TEXT,
  cluster TEXT,                              -- from here on: decisions, and what becomes of clusters
  version BIGINT,
  stream TEXT,
  destination TEXT,
  address TEXT,
  outcome TEXT,
  sequence BIGINT,
  said TEXT                                  -- JSON: what the message said that was decided about
);
CREATE INDEX journal_published ON fairlead.journal (cluster, key)
  WHERE cluster IS NOT NULL AND key <> '';
CREATE INDEX journal_settled ON fairlead.journal (token)
  WHERE token IS NOT NULL AND kind <> 'taken';
CREATE INDEX journal_switched ON fairlead.journal (queue, id) WHERE kind = 'switched-off';
CREATE INDEX journal_transaction ON fairlead.journal (transaction, id);

-- Whoever reads the journal is told what is missing, however it was deleted.
CREATE FUNCTION fairlead._pruned() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  last record;
BEGIN
  SELECT g.transaction, g.id INTO last FROM gone g ORDER BY g.transaction DESC, g.id DESC LIMIT 1;
  UPDATE fairlead.schema SET pruned_transaction = last.transaction, pruned_id = last.id
    WHERE (pruned_transaction, pruned_id) < (last.transaction, last.id);
  RETURN NULL;
END $$;
CREATE TRIGGER pruned AFTER DELETE ON fairlead.journal REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._pruned();

-- The stores that wait for work, so that senders notify only where somebody listens.
CREATE TABLE fairlead.sleepers (
  queue BIGINT NOT NULL,
  holder INTEGER NOT NULL,
  PRIMARY KEY (queue, holder)
);

-- The row that choices lock and count in. A choice is a place in a stretch of choices that were
-- made ahead; where a rule cannot make them ahead, its state stands here.
CREATE TABLE fairlead.clusters (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  allocation TEXT NOT NULL,                  -- exact, ticket
  rule TEXT NOT NULL,                        -- that plain SQL knows: least-served, circular, first-by-name
  reset_every BIGINT NOT NULL,               -- microseconds; 0: never
  reset_due BIGINT,
  due BIGINT,                                -- when the next change is due of itself
  version BIGINT NOT NULL,
  stamp TEXT NOT NULL,                       -- of the version; never used twice
  first BIGINT NOT NULL,                     -- the turn with which the running stretch begins
  taken BIGINT NOT NULL,                     -- choices since
  revision BIGINT NOT NULL,                  -- of the state; never used twice
  state TEXT                                 -- JSON; NULL: that of the stretch, so many choices on
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);

-- What a cluster was loaded from; not in its row, which is written with each choice.
CREATE TABLE fairlead.files (
  cluster BIGINT PRIMARY KEY,
  loaded TEXT NOT NULL                       -- JSON: the file, and how it counts
);

CREATE TABLE fairlead.versions (
  cluster BIGINT NOT NULL,
  version BIGINT NOT NULL,
  stamp TEXT NOT NULL,
  at BIGINT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON: the file, and its objects as they are now
  PRIMARY KEY (cluster, version)
);

CREATE TABLE fairlead.stretches (
  cluster BIGINT NOT NULL,
  first BIGINT NOT NULL,                     -- a turn
  version BIGINT NOT NULL,
  at BIGINT NOT NULL,                        -- when it began
  number BIGINT NOT NULL,                    -- the latest event before it
  state TEXT NOT NULL,                       -- JSON, at its beginning
  choices BIGINT[],                          -- ids of destinations; NULL: not made ahead
  PRIMARY KEY (cluster, first, version)
);

CREATE TABLE fairlead.destinations (
  cluster BIGINT NOT NULL,
  id BIGINT NOT NULL,
  name TEXT NOT NULL,
  address TEXT,
  queue TEXT,                                -- to which is published; NULL: the one of its name
  PRIMARY KEY (cluster, id)
);

CREATE TABLE fairlead.bindings (
  cluster BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- JSON: how it is bound, and to whom
  destination TEXT NOT NULL,
  PRIMARY KEY (cluster, key)
);

-- Work that is settled, left for the next choice of its cluster.
CREATE TABLE fairlead.completions (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  cluster BIGINT NOT NULL,
  destination BIGINT NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version BIGINT NOT NULL
);
CREATE INDEX completions_cluster ON fairlead.completions (cluster, id);

-- Messages whose settlement their cluster waits for.
CREATE TABLE fairlead.published (
  queue BIGINT NOT NULL,
  key TEXT NOT NULL,
  cluster BIGINT NOT NULL,
  destination BIGINT NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version BIGINT NOT NULL,
  PRIMARY KEY (queue, key)
);

-- Message types, contracts and services, as they were declared.
CREATE TABLE fairlead.declared (
  kind TEXT NOT NULL,                        -- message_type, contract, service
  name TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (kind, name)
);

-- The ends of dialogs. What one end is told waits in a group of its own queue.
CREATE TABLE fairlead.endpoints (
  id BIGINT PRIMARY KEY,                    -- the number of the event with which it began
  handle TEXT NOT NULL UNIQUE,               -- random: who knows it acts as this end
  dialog BIGINT NOT NULL,                   -- a number that both ends have
  side BIGINT NOT NULL,                     -- 0 of the initiator, 1 of the target
  service TEXT NOT NULL,
  far_service TEXT NOT NULL,
  contract TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  state BIGINT NOT NULL DEFAULT 1,          -- 1 open, 2 failed: it can only be ended, 3 ended
  sent BIGINT NOT NULL DEFAULT 0,           -- messages of this end
  began BIGINT NOT NULL,
  lifetime BIGINT,                          -- when the dialog is over, whatever is said
  bound BIGINT                              -- the end to which this one is forwarded, of another dialog
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX endpoints_dialog ON fairlead.endpoints (dialog, side);
CREATE INDEX endpoints_service ON fairlead.endpoints (service, dialog);
CREATE INDEX endpoints_ended ON fairlead.endpoints (dialog) WHERE state = 3;
