-- Version 13: guaranteed messages whose publishers are told what became of them, and that go to others
-- where their receivers fail.

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

ALTER TABLE fairlead_published ADD COLUMN guaranteed INTEGER;
-- Whether others have theirs whatever becomes of this copy: it is not routed again.
ALTER TABLE fairlead_published ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
CREATE INDEX fairlead_published_guaranteed ON fairlead_published (guaranteed) WHERE guaranteed IS NOT NULL;

-- A body's format has a bit more: it was given to another receiver before.
DROP VIEW fairlead_dead_letters;
CREATE VIEW fairlead_dead_letters AS
SELECT queue, number, id, in_group, tenant, priority, reason, attempt, died, cost, type,
  CASE WHEN format & 3 > 0 THEN CAST(body AS TEXT) END AS body_text, body
FROM (SELECT q.name AS queue, d.id AS number, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
    d.reason, d.attempt, d.died / 1e6 AS died, d.cost, d.type, d.format,
    CASE WHEN d.format & 4 = 0 THEN d.body
      ELSE substr(d.body, 1 + (d.format >> 4 & 268435455), d.format >> 32 & 268435455) END AS body
  FROM fairlead_queues q CROSS JOIN fairlead_dead d ON d.queue = q.id);

DROP VIEW fairlead_delayed_messages;
CREATE VIEW fairlead_delayed_messages AS
SELECT queue, id, in_group, tenant, priority, due, expires, cost, type,
  CASE WHEN format & 3 > 0 THEN CAST(body AS TEXT) END AS body_text, body
FROM (SELECT q.name AS queue, d.key AS id, d.group_name AS in_group, d.tenant, d.priority, d.due / 1e6 AS due,
    d.expires / 1e6 AS expires, d.cost, d.type, d.format,
    CASE WHEN d.format & 4 = 0 THEN d.body
      ELSE substr(d.body, 1 + (d.format >> 4 & 268435455), d.format >> 32 & 268435455) END AS body
  FROM fairlead_queues q CROSS JOIN fairlead_delayed d ON d.queue = q.id
  WHERE NOT (d.conversation IS NOT NULL AND d.type = 'Error'));  -- the end of a lifetime

-- For how long one message may be worked on by a handler, in seconds; NULL: for any time.
ALTER TABLE fairlead_queues ADD COLUMN max_seconds INTEGER;

-- Its tenants that are switched off, as JSON; NULL: none is.
ALTER TABLE fairlead_queues ADD COLUMN off_tenants TEXT;

-- For whom a server holds a group: the AMQP client; NULL: nobody, or it has held it for a moment only.
ALTER TABLE fairlead_groups ADD COLUMN client TEXT;

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

-- The groups that wait for a reader: those that can be taken in the order in which they would be, and
-- those that were released with a delay. A raise counts in the order from the next take on.
DROP VIEW fairlead_waiting;
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

-- With a queue goes what was remembered of it.
CREATE TRIGGER fairlead_queue_gone AFTER DELETE ON fairlead_queues BEGIN
  DELETE FROM fairlead_groups WHERE queue = old.id;
  DELETE FROM fairlead_pending_updates WHERE queue = old.id;
  DELETE FROM fairlead_message_ids WHERE queue = old.id;
  DELETE FROM fairlead_tenants WHERE queue = old.id;
  DELETE FROM fairlead_limit_states WHERE queue = old.id;
  DELETE FROM fairlead_published WHERE queue = old.id;
END;

UPDATE fairlead_schema SET version = 13;
