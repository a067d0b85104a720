-- Version 11: a body may have come in an envelope, which these views leave out.

CREATE OR REPLACE VIEW fairlead.dead_letters WITH (security_invoker = true) AS
SELECT q.name AS queue, d.id AS number, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
  d.reason, d.attempt, timestamptz 'epoch' + d.died * interval '1 microsecond' AS died, d.cost, d.type,
  CASE WHEN d.format & 3 > 0 THEN convert_from(b.body, 'UTF8') END AS body_text, b.body
FROM fairlead.queues q CROSS JOIN LATERAL (
  SELECT x.* FROM fairlead.dead x WHERE x.queue = q.id ORDER BY x.id) d
CROSS JOIN LATERAL (SELECT CASE WHEN d.format & 4 = 0 THEN d.body
  ELSE substr(d.body, 1 + (d.format >> 4 & 268435455)::integer, (d.format >> 32)::integer) END AS body) b;

CREATE OR REPLACE VIEW fairlead.delayed_messages WITH (security_invoker = true) AS
SELECT q.name AS queue, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
  timestamptz 'epoch' + d.due * interval '1 microsecond' AS due,
  timestamptz 'epoch' + d.expires * interval '1 microsecond' AS expires, d.cost, d.type,
  CASE WHEN d.format & 3 > 0 THEN convert_from(b.body, 'UTF8') END AS body_text, b.body
FROM fairlead.queues q CROSS JOIN LATERAL (
  SELECT x.* FROM fairlead.delayed x WHERE x.queue = q.id
    AND NOT (x.conversation IS NOT NULL AND x.type = 'Error')  -- the end of a lifetime
  ORDER BY x.due, x.id) d
CROSS JOIN LATERAL (SELECT CASE WHEN d.format & 4 = 0 THEN d.body
  ELSE substr(d.body, 1 + (d.format >> 4 & 268435455)::integer, (d.format >> 32)::integer) END AS body) b;

UPDATE fairlead.schema SET version = 11;
