-- Views of what is in the store, for whoever looks from plain SQL. Those that show bodies need
-- functions, and stand in `postgresql_functions_views.sql`.
--
-- Each has the rights of whoever reads it. Its columns are public: they may become more, and none goes.
-- What a column counts is counted only where a query asks for that column. A lateral part with an order
-- finds the rows of one queue by an index, one after the other, and stops where a query has enough.

-- What each queue holds, and how it is set.
CREATE VIEW fairlead.queue_status WITH (security_invoker = true) AS
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
CREATE VIEW fairlead.waiting WITH (security_invoker = true) AS
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

-- The work in the hands of readers.
CREATE VIEW fairlead.held WITH (security_invoker = true) AS
SELECT q.name AS queue, g.name AS in_group, g.tenant, nullif(g.was_priority, -1) AS priority,
  g.releases + 1 AS attempt,
  (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = g.id) AS messages,
  g.token, h.name AS reader, timestamptz 'epoch' + g.taken * interval '1 microsecond' AS since,
  timestamptz 'epoch' + g.deadline * interval '1 microsecond' AS until
FROM fairlead.queues q JOIN fairlead.groups g ON g.queue = q.id AND g.state = 2
  LEFT JOIN fairlead.lease_holders h ON h.id = g.holder;

-- The services that are declared, and how many ends of dialogs each has that have not ended.
CREATE VIEW fairlead.services WITH (security_invoker = true) AS
SELECT d.name AS service, d.definition::jsonb ->> 'queue' AS queue,
  d.definition::jsonb -> 'contracts' AS contracts,
  (d.definition::jsonb ->> 'max_readers')::bigint AS max_readers,
  (SELECT count(*) FROM fairlead.endpoints e WHERE e.service = d.name AND e.state <> 3) AS open
FROM fairlead.declared d WHERE d.kind = 'service';

-- The ends of the dialogs that have not ended on both sides; without their ids, which are secrets.
CREATE VIEW fairlead.conversations WITH (security_invoker = true) AS
SELECT 'd-' || e.dialog AS dialog, CASE e.side WHEN 0 THEN 'initiator' ELSE 'target' END AS side,
  e.service, e.far_service, e.contract,
  CASE WHEN e.state = 3 THEN 'ended'
    WHEN e.state = 2 OR e.lifetime <= extract(epoch FROM clock_timestamp()) * 1000000 THEN 'failed'
    WHEN o.id IS NULL THEN 'started' WHEN o.state = 3 THEN 'ended-by-other' ELSE 'conversing' END AS state,
  e.queue, e.group_name AS in_group,
  (SELECT count(*) FROM fairlead.messages m WHERE m.conversation = e.id) AS waiting, e.sent,
  timestamptz 'epoch' + e.began * interval '1 microsecond' AS began,
  timestamptz 'epoch' + e.lifetime * interval '1 microsecond' AS lifetime,
  timestamptz 'epoch' + interval '1 microsecond' * (SELECT d.due FROM fairlead.delayed d
    WHERE d.conversation = e.id AND d.type = 'DialogTimer' LIMIT 1) AS timer
FROM fairlead.endpoints e LEFT JOIN fairlead.endpoints o ON o.dialog = e.dialog AND o.side = 1 - e.side
WHERE e.state <> 3 OR o.state <> 3;

-- The journal.
CREATE VIEW fairlead.events WITH (security_invoker = true) AS
SELECT j.id AS position, timestamptz 'epoch' + j.time * interval '1 microsecond' AS time, j.kind, j.queue,
  nullif(j.group_name, '') AS in_group, j.key AS id, j.tenant, j.priority, j.cost, j.type, j.attempt, j.token, j.actor,
  timestamptz 'epoch' + j.lease * interval '1 microsecond' AS lease, j.detail, j.cluster, j.version, j.stream,
  j.destination, j.address, j.outcome, j.sequence, j.said::jsonb AS said, j.login
FROM fairlead.journal j;
