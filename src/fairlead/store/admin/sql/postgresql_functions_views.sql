-- The views that show bodies: as text, where they are one.

-- The dead letters; of a queue, the oldest first.
CREATE OR REPLACE VIEW fairlead.dead_letters WITH (security_invoker = true) AS
SELECT q.name AS queue, d.id AS number, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
  d.reason, d.attempt, timestamptz 'epoch' + d.died * interval '1 microsecond' AS died, d.cost, d.type,
  fairlead._text(d.format, d.body) COLLATE "C" AS body_text, b.body
FROM fairlead.queues q CROSS JOIN LATERAL (
  SELECT x.* FROM fairlead.dead x WHERE x.queue = q.id ORDER BY x.id) d
CROSS JOIN LATERAL (SELECT CASE WHEN d.format & 4 = 0 THEN d.body
  ELSE substr(d.body, 1 + (d.format >> 4 & 268435455)::integer, (d.format >> 32 & 268435455)::integer) END AS body) b;

-- The messages that were sent with a delay, and timers of dialogs; of a queue, the next first.
CREATE OR REPLACE VIEW fairlead.delayed_messages WITH (security_invoker = true) AS
SELECT q.name AS queue, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
  timestamptz 'epoch' + d.due * interval '1 microsecond' AS due,
  timestamptz 'epoch' + d.expires * interval '1 microsecond' AS expires, d.cost, d.type,
  fairlead._text(d.format, d.body) COLLATE "C" AS body_text, b.body
FROM fairlead.queues q CROSS JOIN LATERAL (
  SELECT x.* FROM fairlead.delayed x WHERE x.queue = q.id
    AND NOT (x.conversation IS NOT NULL AND x.type = 'Error')  -- the end of a lifetime
  ORDER BY x.due, x.id) d
CROSS JOIN LATERAL (SELECT CASE WHEN d.format & 4 = 0 THEN d.body
  ELSE substr(d.body, 1 + (d.format >> 4 & 268435455)::integer, (d.format >> 32 & 268435455)::integer) END AS body) b;
