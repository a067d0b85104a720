-- Views of what is in the store, for whoever looks from plain SQL.
--
-- Their columns are public: they may become more, and none goes. Times are seconds since 1970. What a
-- column counts is counted only where a query asks for that column.

CREATE VIEW fairlead_queue_status AS
SELECT q.name AS queue,
  (SELECT count(*) FROM fairlead_messages m WHERE m.queue = q.id) AS messages,
  (SELECT count(*) FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 1) AS ready,
  (SELECT count(*) FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 2) AS working,
  (SELECT count(*) FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 3) AS parked,
  (SELECT count(*) FROM fairlead_delayed d WHERE d.queue = q.id
    AND NOT (d.conversation IS NOT NULL AND d.type = 'Error')) AS delayed,  -- the end of a lifetime
  (SELECT count(*) FROM fairlead_dead d WHERE d.queue = q.id) AS dead,
  (SELECT min(g.arrived) FROM fairlead_groups g
    WHERE g.queue = q.id AND g.state = 1 AND g.head > 0) / 1e6 AS oldest_since,
  (SELECT coalesce(sum(g.failures), 0) FROM fairlead_groups g WHERE g.queue = q.id) AS failures,
  q.discipline, q.default_priority, q.step / 1e6 AS ageing, q.weights, q.max_waiting, q.max_failures, q.poison,
  q.enabled,
  CASE q.enabled WHEN 0 THEN (SELECT j.time FROM fairlead_journal j
    WHERE j.kind = 'switched-off' AND j.queue = q.name AND j.tenant = '' ORDER BY j.id DESC LIMIT 1) / 1e6 END AS off_since,
  CASE q.enabled WHEN 0 THEN (SELECT coalesce(j.detail || ', ', '') || 'by ' || j.actor FROM fairlead_journal j
    WHERE j.kind = 'switched-off' AND j.queue = q.name AND j.tenant = '' ORDER BY j.id DESC LIMIT 1) END AS off_why,
  CASE WHEN q.retry IS NOT NULL THEN json_object('base', json_extract(q.retry, '$.base') / 1e6,
    'factor', json_extract(q.retry, '$.factor') / 1e2, 'limit', json_extract(q.retry, '$.limit') / 1e6,
    'jitter', json_extract(q.retry, '$.jitter') / 1e2) END AS retry,
  q.count_as_failure, q.keep_dead / 86400e6 AS keep_dead,
  q.max_seconds,
  (SELECT min(g.taken) FROM fairlead_groups g
    WHERE g.queue = q.id AND g.state = 2) / 1e6 AS longest_held_since,
  coalesce(q.off_tenants, '[]') AS off_tenants
FROM fairlead_queues q;

CREATE VIEW fairlead_waiting AS
SELECT p.queue, p.place, p.name AS in_group,
  CASE WHEN p.name IS NULL
    THEN (SELECT m.key FROM fairlead_messages m WHERE m.group_id = p.id LIMIT 1) END AS id,
  p.tenant, nullif(p.priority, -1) AS priority,
  (SELECT n.priority FROM fairlead_pending_updates n WHERE n.group_id = p.id AND n.kind = 'raised'
    AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1) AS raised_to,
  (SELECT count(*) FROM fairlead_messages m WHERE m.group_id = p.id) AS messages,
  p.arrived / 1e6 AS since,
  CASE WHEN p.enabled = 0 OR p.tenant IN (SELECT value FROM json_each(p.off_tenants)) THEN 'switched-off'
    WHEN p.place IS NULL THEN 'released' ELSE 'ready' END AS why,
  p.not_before / 1e6 AS until, p.failures
FROM (
  SELECT q.name AS queue, q.enabled, q.off_tenants,
    row_number() OVER (PARTITION BY q.name, CASE q.fair WHEN 2 THEN g.tenant END ORDER BY g.k1, g.k2) AS place,
    g.id, g.name, g.tenant, g.priority, g.arrived, g.failures, NULL AS not_before
  FROM fairlead_queues q JOIN fairlead_groups g ON g.queue = q.id AND g.state = 1
  WHERE EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
  UNION ALL
  SELECT q.name, q.enabled, q.off_tenants, NULL, g.id, g.name, g.tenant, g.priority, g.arrived, g.failures, g.not_before
  FROM fairlead_queues q JOIN fairlead_groups g ON g.queue = q.id AND g.state = 3
  WHERE EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)) p;

-- The work in the hands of readers.
CREATE VIEW fairlead_held AS
SELECT q.name AS queue, g.name AS in_group, g.tenant, nullif(g.was_priority, -1) AS priority,
  g.releases + 1 AS attempt,
  (SELECT count(*) FROM fairlead_messages m WHERE m.group_id = g.id) AS messages,
  g.token, h.name AS reader, g.taken / 1e6 AS since, g.deadline / 1e6 AS until
FROM fairlead_queues q JOIN fairlead_groups g ON g.queue = q.id AND g.state = 2
  LEFT JOIN fairlead_lease_holders h ON h.id = g.holder;

CREATE VIEW fairlead_dead_letters AS
SELECT queue, number, id, in_group, tenant, priority, reason, attempt, died, cost, type,
  CASE WHEN format & 3 > 0 THEN CAST(body AS TEXT) END AS body_text, body
FROM (SELECT q.name AS queue, d.id AS number, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
    d.reason, d.attempt, d.died / 1e6 AS died, d.cost, d.type, d.format,
    CASE WHEN d.format & 4 = 0 THEN d.body
      ELSE substr(d.body, 1 + (d.format >> 4 & 268435455), d.format >> 32 & 268435455) END AS body
  FROM fairlead_queues q CROSS JOIN fairlead_dead d ON d.queue = q.id);

CREATE VIEW fairlead_delayed_messages AS
SELECT queue, id, in_group, tenant, priority, due, expires, cost, type,
  CASE WHEN format & 3 > 0 THEN CAST(body AS TEXT) END AS body_text, body
FROM (SELECT q.name AS queue, d.key AS id, d.group_name AS in_group, d.tenant, d.priority, d.due / 1e6 AS due,
    d.expires / 1e6 AS expires, d.cost, d.type, d.format,
    CASE WHEN d.format & 4 = 0 THEN d.body
      ELSE substr(d.body, 1 + (d.format >> 4 & 268435455), d.format >> 32 & 268435455) END AS body
  FROM fairlead_queues q CROSS JOIN fairlead_delayed d ON d.queue = q.id
  WHERE NOT (d.conversation IS NOT NULL AND d.type = 'Error'));  -- the end of a lifetime

-- The services that are declared, and how many ends of dialogs each has that have not ended.
CREATE VIEW fairlead_services AS
SELECT d.name AS service, json_extract(d.definition, '$.queue') AS queue,
  json_extract(d.definition, '$.contracts') AS contracts,
  json_extract(d.definition, '$.max_readers') AS max_readers,
  (SELECT count(*) FROM fairlead_endpoints e WHERE e.service = d.name AND e.state <> 3) AS open
FROM fairlead_declared d WHERE d.kind = 'service';

-- The ends of the dialogs that have not ended on both sides; without their ids, which are secrets.
CREATE VIEW fairlead_conversations AS
SELECT 'd-' || e.dialog AS dialog, CASE e.side WHEN 0 THEN 'initiator' ELSE 'target' END AS side,
  e.service, e.far_service, e.contract,
  CASE WHEN e.state = 3 THEN 'ended'
    WHEN e.state = 2 OR e.lifetime <= (julianday('now') - 2440587.5) * 86400e6 THEN 'failed'
    WHEN o.id IS NULL THEN 'started' WHEN o.state = 3 THEN 'ended-by-other' ELSE 'conversing' END AS state,
  e.queue, e.group_name AS in_group,
  (SELECT count(*) FROM fairlead_messages m WHERE m.conversation = e.id) AS waiting, e.sent,
  e.began / 1e6 AS began, e.lifetime / 1e6 AS lifetime,
  (SELECT d.due FROM fairlead_delayed d
    WHERE d.conversation = e.id AND d.type = 'DialogTimer' LIMIT 1) / 1e6 AS timer
FROM fairlead_endpoints e LEFT JOIN fairlead_endpoints o ON o.dialog = e.dialog AND o.side = 1 - e.side
WHERE e.state <> 3 OR o.state <> 3;

CREATE VIEW fairlead_events AS
SELECT j.id AS position, j.time / 1e6 AS time, j.kind, j.queue, nullif(j.group_name, '') AS in_group,
  j.key AS id, j.tenant, j.priority, j.cost, j.type, j.attempt, j.token, j.actor, j.lease / 1e6 AS lease, j.detail,
  j.cluster, j.version, j.stream, j.destination, j.address, j.outcome, j.sequence, j.said, NULL AS login
FROM fairlead_journal j;
