-- Version 11: a body may have come in an envelope, which these views leave out.

DROP VIEW fairlead_dead_letters;
CREATE VIEW fairlead_dead_letters AS
SELECT queue, number, id, in_group, tenant, priority, reason, attempt, died, cost, type,
  CASE WHEN format & 3 > 0 THEN CAST(body AS TEXT) END AS body_text, body
FROM (SELECT q.name AS queue, d.id AS number, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
    d.reason, d.attempt, d.died / 1e6 AS died, d.cost, d.type, d.format,
    CASE WHEN d.format & 4 = 0 THEN d.body
      ELSE substr(d.body, 1 + (d.format >> 4 & 268435455), d.format >> 32) END AS body
  FROM fairlead_queues q CROSS JOIN fairlead_dead d ON d.queue = q.id);

DROP VIEW fairlead_delayed_messages;
CREATE VIEW fairlead_delayed_messages AS
SELECT queue, id, in_group, tenant, priority, due, expires, cost, type,
  CASE WHEN format & 3 > 0 THEN CAST(body AS TEXT) END AS body_text, body
FROM (SELECT q.name AS queue, d.key AS id, d.group_name AS in_group, d.tenant, d.priority, d.due / 1e6 AS due,
    d.expires / 1e6 AS expires, d.cost, d.type, d.format,
    CASE WHEN d.format & 4 = 0 THEN d.body
      ELSE substr(d.body, 1 + (d.format >> 4 & 268435455), d.format >> 32) END AS body
  FROM fairlead_queues q CROSS JOIN fairlead_delayed d ON d.queue = q.id
  WHERE NOT (d.conversation IS NOT NULL AND d.type = 'Error'));  -- the end of a lifetime

UPDATE fairlead_schema SET version = 11;
