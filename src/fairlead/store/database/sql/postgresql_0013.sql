-- Version 13: guaranteed messages whose publishers are told what became of them, and that go to others
-- where their receivers fail.

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

ALTER TABLE fairlead.published ADD COLUMN guaranteed BIGINT;
-- Whether others have theirs whatever becomes of this copy: it is not routed again.
ALTER TABLE fairlead.published ADD COLUMN shared BIGINT NOT NULL DEFAULT 0;
CREATE INDEX published_guaranteed ON fairlead.published (guaranteed) WHERE guaranteed IS NOT NULL;

-- By what others see that a lease holder lives: the process of its session at the server, which holds an
-- advisory lock of this key. Every login may take advisory locks, but none as that process.
ALTER TABLE fairlead.lease_holders ADD COLUMN session BIGINT;
ALTER TABLE fairlead.lease_holders ADD COLUMN alive BIGINT;

-- Whatever door an event comes by, its names are short.
ALTER TABLE fairlead.journal ADD CONSTRAINT journal_names CHECK (greatest(length(queue), length(group_name),
  length(key), length(tenant), length(type), length(actor), length(stream)) <= 2000) NOT VALID;

-- What happened to clusters: whoever chooses needs it, and nothing that was said of messages in queues.
CREATE VIEW fairlead._cluster_events WITH (security_barrier = true) AS
SELECT id, kind, key, cluster, version, stream, destination, address, outcome, sequence, detail, said
FROM fairlead.journal WHERE cluster IS NOT NULL;

-- For how long one message may be worked on by a handler, in seconds; NULL: for any time.
ALTER TABLE fairlead.queues ADD COLUMN max_seconds BIGINT;

-- Its tenants that are switched off, as JSON; NULL: none is.
ALTER TABLE fairlead.queues ADD COLUMN off_tenants TEXT;

-- For whom a server holds a group: the AMQP client; NULL: nobody, or it has held it for a moment only.
ALTER TABLE fairlead.groups ADD COLUMN client TEXT;

-- What each queue holds, and how it is set.
CREATE OR REPLACE VIEW fairlead.queue_status WITH (security_invoker = true) AS
SELECT q.name AS queue,
  (SELECT count(*) FROM fairlead.messages m WHERE m.queue = q.id) AS messages,
  (SELECT count(*) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 1) AS ready,
  (SELECT count(*) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 2) AS working,
  (SELECT count(*) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 3) AS parked,
  (SELECT count(*) FROM fairlead.delayed d WHERE d.queue = q.id
    AND NOT (d.conversation IS NOT NULL AND d.type = 'Error')) AS delayed,  -- the end of a lifetime
  (SELECT count(*) FROM fairlead.dead d WHERE d.queue = q.id) AS dead,
  timestamptz 'epoch' + interval '1 microsecond' * (SELECT min(g.arrived) FROM fairlead.groups g
    WHERE g.queue = q.id AND g.state = 1 AND g.head > 0) AS oldest_since,
  (SELECT coalesce(sum(g.failures), 0)::bigint FROM fairlead.groups g WHERE g.queue = q.id) AS failures,
  q.discipline, q.default_priority, q.step / 1000000.0::double precision AS ageing,
  q.weights::jsonb AS weights, q.max_waiting, q.max_failures, q.poison, q.enabled = 1 AS enabled,
  CASE q.enabled WHEN 0 THEN timestamptz 'epoch' + interval '1 microsecond' * (SELECT j.time FROM fairlead.journal j
    WHERE j.kind = 'switched-off' AND j.queue = q.name AND j.tenant = '' ORDER BY j.id DESC LIMIT 1) END AS off_since,
  CASE q.enabled WHEN 0 THEN (SELECT coalesce(j.detail || ', ', '') || 'by ' || j.actor FROM fairlead.journal j
    WHERE j.kind = 'switched-off' AND j.queue = q.name AND j.tenant = '' ORDER BY j.id DESC LIMIT 1) END AS off_why,
  CASE WHEN q.retry IS NOT NULL THEN jsonb_build_object('base', (q.retry::jsonb->>'base')::double precision / 1e6,
    'factor', (q.retry::jsonb->>'factor')::double precision / 1e2,
    'limit', (q.retry::jsonb->>'limit')::double precision / 1e6,
    'jitter', (q.retry::jsonb->>'jitter')::double precision / 1e2) END AS retry,
  q.count_as_failure::jsonb AS count_as_failure, q.keep_dead / 86400e6::double precision AS keep_dead,
  q.max_seconds,
  timestamptz 'epoch' + interval '1 microsecond' * (SELECT min(g.taken) FROM fairlead.groups g
    WHERE g.queue = q.id AND g.state = 2) AS longest_held_since,
  coalesce(q.off_tenants::jsonb, '[]') AS off_tenants
FROM fairlead.queues q;

-- The groups that wait for a reader: those that can be taken in the order in which they would be, and
-- those that were released with a delay. A raise counts in the order from the next take on.
CREATE OR REPLACE VIEW fairlead.waiting WITH (security_invoker = true) AS
SELECT p.queue, p.place, p.name AS in_group,
  CASE WHEN p.name IS NULL
    THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = p.id LIMIT 1) END AS id,
  p.tenant, nullif(p.priority, -1) AS priority,
  (SELECT n.priority FROM fairlead.pending_updates n WHERE n.group_id = p.id AND n.kind = 'raised'
    AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1) AS raised_to,
  (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = p.id) AS messages,
  timestamptz 'epoch' + p.arrived * interval '1 microsecond' AS since,
  CASE WHEN p.enabled = 0 OR jsonb_exists(p.off_tenants::jsonb, p.tenant) THEN 'switched-off'
    WHEN p.place IS NULL THEN 'released' ELSE 'ready' END AS why,
  timestamptz 'epoch' + p.not_before * interval '1 microsecond' AS until, p.failures
FROM (
  SELECT q.name AS queue, q.enabled, q.off_tenants, w.*, NULL::bigint AS not_before
  FROM fairlead.queues q CROSS JOIN LATERAL (
    WITH RECURSIVE walk AS (
      (SELECT 1::bigint AS place, g.id, g.name, g.tenant, g.priority, g.arrived, g.failures, g.k1, g.k2
        FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 1
          AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
        ORDER BY g.k1, g.k2 LIMIT 1)
      UNION ALL
      SELECT b.place + 1, n.* FROM walk b CROSS JOIN LATERAL (
        SELECT g.id, g.name, g.tenant, g.priority, g.arrived, g.failures, g.k1, g.k2
        FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 1 AND (g.k1, g.k2) > (b.k1, b.k2)
          AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
        ORDER BY g.k1, g.k2 LIMIT 1) n)
    SELECT place, id, name, tenant, priority, arrived, failures FROM walk) w
  WHERE q.fair <> 2
  UNION ALL
  SELECT q.name, q.enabled, q.off_tenants, row_number() OVER (PARTITION BY q.id, g.tenant ORDER BY g.k1, g.k2),
    g.id, g.name, g.tenant, g.priority, g.arrived, g.failures, NULL
  FROM fairlead.queues q JOIN fairlead.groups g ON g.queue = q.id AND g.state = 1
  WHERE q.fair = 2 AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
  UNION ALL
  SELECT q.name, q.enabled, q.off_tenants, NULL, g.id, g.name, g.tenant, g.priority, g.arrived, g.failures, g.not_before
  FROM fairlead.queues q JOIN fairlead.groups g ON g.queue = q.id AND g.state = 3
  WHERE EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)) p;

UPDATE fairlead.schema SET version = 13;
