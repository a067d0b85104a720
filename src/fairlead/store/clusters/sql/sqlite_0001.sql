-- Clusters: who gets each message, and what becomes of those that were published.

-- The row that choices lock and count in. A choice is a place in a run of choices that were
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
  first INTEGER NOT NULL,                    -- the turn with which the run of now begins
  taken INTEGER NOT NULL,                    -- choices since
  revision INTEGER NOT NULL,                 -- of the state; never used twice
  state TEXT                                 -- JSON; NULL: that of the run, so many choices on
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

CREATE TABLE fairlead_choice_runs (
  cluster INTEGER NOT NULL,
  first INTEGER NOT NULL,                    -- a turn
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,                       -- when it began
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

-- Destinations that have failed too often, and are not known to be well since.
CREATE TABLE fairlead_unwell (
  cluster INTEGER NOT NULL,
  destination TEXT NOT NULL,
  until INTEGER NOT NULL,                       -- when it may be tried
  cool_down INTEGER NOT NULL,                   -- microseconds
  on_trial INTEGER NOT NULL,                   -- 1: it is up, and its next outcome decides
  PRIMARY KEY (cluster, destination)
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
  guaranteed INTEGER,                        -- the message whose copy it is
  shared INTEGER NOT NULL DEFAULT 0,         -- 1: others have theirs whatever becomes of this one: it is not routed again
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fairlead_published_guaranteed ON fairlead_published (guaranteed) WHERE guaranteed IS NOT NULL;

-- Guaranteed messages that were published.
CREATE TABLE fairlead_guaranteed (
  id INTEGER PRIMARY KEY,                    -- the number of the event of their first decision
  cluster INTEGER NOT NULL,
  key TEXT NOT NULL,                         -- the message's id, where its publisher gave one
  sequence INTEGER NOT NULL,
  said TEXT NOT NULL,                        -- JSON: what decides who gets it, as it was when it was published
  delivery TEXT NOT NULL,                    -- some, all
  copies INTEGER NOT NULL,
  at INTEGER NOT NULL,                       -- when it was published, or last found to be waited for
  due INTEGER                                -- by when it is to be acknowledged; NULL: at any time
) STRICT;
CREATE INDEX fairlead_guaranteed_at ON fairlead_guaranteed (at);

-- What became of their copies: a row is written for each, and none is changed.
CREATE TABLE fairlead_acknowledgements (
  id INTEGER PRIMARY KEY,
  guaranteed INTEGER NOT NULL,
  outcome TEXT NOT NULL,                     -- acknowledged, nack
  reason TEXT
) STRICT;
CREATE INDEX fairlead_acknowledgements_guaranteed ON fairlead_acknowledgements (guaranteed);

-- Runs that have brought many messages at once, so that each is brought once.
CREATE TABLE fairlead_bulk_runs (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  batch INTEGER NOT NULL,                      -- the last part of it that arrived; 0: it has one part
  at INTEGER NOT NULL,                         -- when that was
  actor TEXT NOT NULL,
  messages INTEGER NOT NULL                    -- that were published, of all parts
) STRICT;

-- The destinations of all clusters, as PostgreSQL has them; here the view only shows them.
CREATE VIEW fairlead_machines AS
WITH counted AS (  -- what the state says, and the choices since
  SELECT c.id AS cluster, json_extract(e.value, '$[0]') AS id, json_extract(e.value, '$[1]') AS sent
  FROM fairlead_clusters c LEFT JOIN fairlead_choice_runs s
      ON s.cluster = c.id AND s.first = c.first AND s.version = c.version AND c.state IS NULL,
    json_each(coalesce(c.state, s.state), '$.sent') e
  UNION ALL
  SELECT c.id, e.value, 1 FROM fairlead_clusters c JOIN fairlead_choice_runs s
      ON s.cluster = c.id AND s.first = c.first AND s.version = c.version AND c.state IS NULL,
    json_each(s.choices) e WHERE e.key < c.taken AND e.value <> 0
), sums AS (
  SELECT n.cluster, d.name, d.id, sum(n.sent) AS sent FROM counted n
    JOIN fairlead_destinations d ON d.cluster = n.cluster AND d.id = n.id GROUP BY n.cluster, d.name, d.id
)
SELECT c.name AS cluster, json_extract(o.value, '$[1].name') AS name,
  nullif(json_extract(o.value, '$[1].address'), '') AS address, json_extract(o.value, '$[1].weight') AS weight,
  json_extract(o.value, '$[1].enabled') AS enabled, json_extract(o.value, '$[1].present') AS present,
  json_extract(o.value, '$[1].draining') AS draining, json_extract(o.value, '$[1].state') AS state,
  nullif(json_extract(o.value, '$[1].queue'), '') AS queue, coalesce(n.sent, 0) AS sent,
  coalesce(n.sent * 1.0 / (SELECT sum(t.sent) FROM sums t WHERE t.cluster = c.id), 0.0) AS share
FROM fairlead_clusters c JOIN fairlead_versions v ON v.cluster = c.id AND v.version = c.version,
  json_each(v.definition, '$.shared.objects') o
  LEFT JOIN sums n ON n.cluster = c.id AND n.name = json_extract(o.value, '$[1].name')
    AND n.id IN (SELECT i.value FROM json_each(v.definition, '$.ids') i)
WHERE json_extract(o.value, '$[0][0]') = 'destination';
