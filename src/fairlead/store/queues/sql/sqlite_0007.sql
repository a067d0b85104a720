-- Version 7: what a queue does about failures is declared.

ALTER TABLE fairlead_queues ADD COLUMN retry TEXT;               -- JSON: when a group that failed is tried again
ALTER TABLE fairlead_queues ADD COLUMN count_as_failure TEXT NOT NULL DEFAULT '["error", "lease", "process"]';
ALTER TABLE fairlead_queues ADD COLUMN keep_dead INTEGER;         -- how long dead letters are kept; NULL: for ever
CREATE INDEX fairlead_dead_died ON fairlead_dead (queue, died);

-- What each queue holds, and how it is set.
DROP VIEW fairlead_queue_status;
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
    WHERE j.kind = 'switched-off' AND j.queue = q.name ORDER BY j.id DESC LIMIT 1) / 1e6 END AS off_since,
  CASE q.enabled WHEN 0 THEN (SELECT coalesce(j.detail || ', ', '') || 'by ' || j.actor FROM fairlead_journal j
    WHERE j.kind = 'switched-off' AND j.queue = q.name ORDER BY j.id DESC LIMIT 1) END AS off_why,
  CASE WHEN q.retry IS NOT NULL THEN json_object('base', json_extract(q.retry, '$.base') / 1e6,
    'factor', json_extract(q.retry, '$.factor') / 1e2, 'limit', json_extract(q.retry, '$.limit') / 1e6,
    'jitter', json_extract(q.retry, '$.jitter') / 1e2) END AS retry,
  q.count_as_failure, q.keep_dead / 86400e6 AS keep_dead
FROM fairlead_queues q;

UPDATE fairlead_schema SET version = 7;
