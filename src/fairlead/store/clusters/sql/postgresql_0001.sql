-- Clusters: who gets each message, and what becomes of those that were published.

-- The row that choices lock and count in. A choice is a place in a run of choices that were
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
  first BIGINT NOT NULL,                     -- the turn with which the run of now begins
  taken BIGINT NOT NULL,                     -- choices since
  revision BIGINT NOT NULL,                  -- of the state; never used twice
  state TEXT                                 -- JSON; NULL: that of the run, so many choices on
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

CREATE TABLE fairlead.choice_runs (
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

-- Destinations that have failed too often, and are not known to be well since.
CREATE TABLE fairlead.unwell (
  cluster BIGINT NOT NULL,
  destination TEXT NOT NULL,
  until BIGINT NOT NULL,                       -- when it may be tried
  cool_down BIGINT NOT NULL,                   -- microseconds
  on_trial SMALLINT NOT NULL,                   -- 1: it is up, and its next outcome decides
  PRIMARY KEY (cluster, destination)
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
  guaranteed BIGINT,                         -- the message whose copy it is
  shared BIGINT NOT NULL DEFAULT 0,          -- 1: others have theirs whatever becomes of this one: it is not routed again
  PRIMARY KEY (queue, key)
);
CREATE INDEX published_guaranteed ON fairlead.published (guaranteed) WHERE guaranteed IS NOT NULL;

-- Guaranteed messages that were published.
CREATE TABLE fairlead.guaranteed (
  id BIGINT PRIMARY KEY,                     -- the number of the event of their first decision
  cluster BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- the message's id, where its publisher gave one
  sequence BIGINT NOT NULL,
  said TEXT NOT NULL,                        -- JSON: what decides who gets it, as it was when it was published
  delivery TEXT NOT NULL,                    -- some, all
  copies BIGINT NOT NULL,
  at BIGINT NOT NULL,                        -- when it was published, or last found to be waited for
  due BIGINT                                 -- by when it is to be acknowledged; NULL: at any time
);
CREATE INDEX guaranteed_at ON fairlead.guaranteed (at);

-- What became of their copies: a row is written for each, and none is changed.
CREATE TABLE fairlead.acknowledgements (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  guaranteed BIGINT NOT NULL,
  outcome TEXT NOT NULL,                     -- acknowledged, nack
  reason TEXT
);
CREATE INDEX acknowledgements_guaranteed ON fairlead.acknowledgements (guaranteed);

-- What happened to clusters: whoever chooses needs it, and nothing that was said of messages in queues.
CREATE VIEW fairlead._cluster_events WITH (security_barrier = true) AS
SELECT id, kind, key, cluster, version, stream, destination, address, outcome, sequence, detail, said, run
FROM fairlead.journal WHERE cluster IS NOT NULL;

-- Runs that have brought many messages at once, so that each is brought once.
CREATE TABLE fairlead.bulk_runs (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  batch BIGINT NOT NULL,                      -- the last part of it that arrived; 0: it has one part
  at BIGINT NOT NULL,                         -- when that was
  actor TEXT NOT NULL,
  messages BIGINT NOT NULL                    -- that were published, of all parts
);

-- Runs whose messages are being brought: each has a table of its own, `staged_` and its number, until they
-- are published. Whoever brings them holds an advisory lock of the number.
CREATE TABLE fairlead.bulk_staging (
  name TEXT PRIMARY KEY,                      -- the run
  number INTEGER GENERATED ALWAYS AS IDENTITY,
  login TEXT NOT NULL DEFAULT session_user
);

-- The clusters that runs keep from everybody else until they are published, all of them in one transaction.
CREATE TABLE fairlead.bulk_held (
  number INTEGER NOT NULL,                    -- the run's
  cluster TEXT NOT NULL,
  others TEXT NOT NULL,                       -- whoever chooses there meanwhile: wait, refuse
  since BIGINT NOT NULL,
  PRIMARY KEY (cluster, number)
);

-- The turns that runs have reserved and not used yet.
CREATE TABLE fairlead.bulk_reserved (
  number INTEGER NOT NULL,                    -- the run's
  cluster BIGINT NOT NULL,
  stamp TEXT NOT NULL,                        -- of the version
  first BIGINT NOT NULL,                      -- where the cluster stood before
  taken BIGINT NOT NULL,
  behind BIGINT NOT NULL,                     -- the turn behind those that are reserved
  PRIMARY KEY (number, cluster)
);
