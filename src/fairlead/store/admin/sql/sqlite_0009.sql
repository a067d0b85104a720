-- Version 9: on PostgreSQL the journal says who was logged in; here nobody logs in.

-- The journal.
DROP VIEW fairlead_events;
CREATE VIEW fairlead_events AS
SELECT j.id AS position, j.time / 1e6 AS time, j.kind, j.queue, nullif(j.group_name, '') AS in_group,
  j.key AS id, j.tenant, j.priority, j.cost, j.type, j.attempt, j.token, j.actor, j.lease / 1e6 AS lease, j.detail,
  j.cluster, j.version, j.stream, j.destination, j.address, j.outcome, j.sequence, j.said, NULL AS login
FROM fairlead_journal j;

UPDATE fairlead_schema SET version = 9;
