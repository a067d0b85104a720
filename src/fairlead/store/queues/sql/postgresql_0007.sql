-- Version 7: what a queue does about failures is declared.

ALTER TABLE fairlead.queues ADD COLUMN retry TEXT;               -- JSON: when a group that failed is tried again
ALTER TABLE fairlead.queues ADD COLUMN count_as_failure TEXT NOT NULL DEFAULT '["error", "lease", "process"]';
ALTER TABLE fairlead.queues ADD COLUMN keep_dead BIGINT;         -- how long dead letters are kept; NULL: for ever
CREATE INDEX dead_died ON fairlead.dead (queue, died);

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
    WHERE j.kind = 'switched-off' AND j.queue = q.name ORDER BY j.id DESC LIMIT 1) END AS off_since,
  CASE q.enabled WHEN 0 THEN (SELECT coalesce(j.detail || ', ', '') || 'by ' || j.actor FROM fairlead.journal j
    WHERE j.kind = 'switched-off' AND j.queue = q.name ORDER BY j.id DESC LIMIT 1) END AS off_why,
  CASE WHEN q.retry IS NOT NULL THEN jsonb_build_object('base', (q.retry::jsonb->>'base')::double precision / 1e6,
    'factor', (q.retry::jsonb->>'factor')::double precision / 1e2,
    'limit', (q.retry::jsonb->>'limit')::double precision / 1e6,
    'jitter', (q.retry::jsonb->>'jitter')::double precision / 1e2) END AS retry,
  q.count_as_failure::jsonb AS count_as_failure, q.keep_dead / 86400e6::double precision AS keep_dead
FROM fairlead.queues q;

UPDATE fairlead.schema SET version = 7;
