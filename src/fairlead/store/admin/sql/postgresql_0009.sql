-- Version 9: the journal says who was logged in.

-- The journal.
CREATE OR REPLACE VIEW fairlead.events WITH (security_invoker = true) AS
SELECT j.id AS position, timestamptz 'epoch' + j.time * interval '1 microsecond' AS time, j.kind, j.queue,
  nullif(j.group_name, '') AS in_group, j.key AS id, j.tenant, j.priority, j.cost, j.type, j.attempt, j.token, j.actor,
  timestamptz 'epoch' + j.lease * interval '1 microsecond' AS lease, j.detail, j.cluster, j.version, j.stream,
  j.destination, j.address, j.outcome, j.sequence, j.said::jsonb AS said, j.login
FROM fairlead.journal j;

UPDATE fairlead.schema SET version = 9;
