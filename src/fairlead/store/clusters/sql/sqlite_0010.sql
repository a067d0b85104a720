-- Version 10: the destinations of all clusters in a view, as PostgreSQL has it; here it only shows them.

CREATE VIEW fairlead_machines AS
WITH counted AS (  -- what the state says, and the choices since
  SELECT c.id AS cluster, json_extract(e.value, '$[0]') AS id, json_extract(e.value, '$[1]') AS sent
  FROM fairlead_clusters c LEFT JOIN fairlead_choice_runs s
      ON s.cluster = c.id AND s.first = c.first AND s.version = c.version AND c.state IS NULL,
    json_each(coalesce(c.state, s.state), '$.sent') e
  UNION ALL
  SELECT c.id, e.value, 1 FROM fairlead_clusters c JOIN fairlead_choice_runs s
      ON s.cluster = c.id AND s.first = c.first AND s.version = c.version AND c.state IS NULL,
    json_each(s.choices) e WHERE e.key < c.taken AND e.value <> 0
), sums AS (
  SELECT n.cluster, d.name, d.id, sum(n.sent) AS sent FROM counted n
    JOIN fairlead_destinations d ON d.cluster = n.cluster AND d.id = n.id GROUP BY n.cluster, d.name, d.id
)
SELECT c.name AS cluster, json_extract(o.value, '$[1].name') AS name,
  nullif(json_extract(o.value, '$[1].address'), '') AS address, json_extract(o.value, '$[1].weight') AS weight,
  json_extract(o.value, '$[1].enabled') AS enabled, json_extract(o.value, '$[1].present') AS present,
  json_extract(o.value, '$[1].draining') AS draining, json_extract(o.value, '$[1].state') AS state,
  nullif(json_extract(o.value, '$[1].queue'), '') AS queue, coalesce(n.sent, 0) AS sent,
  coalesce(n.sent * 1.0 / (SELECT sum(t.sent) FROM sums t WHERE t.cluster = c.id), 0.0) AS share
FROM fairlead_clusters c JOIN fairlead_versions v ON v.cluster = c.id AND v.version = c.version,
  json_each(v.definition, '$.shared.objects') o
  LEFT JOIN sums n ON n.cluster = c.id AND n.name = json_extract(o.value, '$[1].name')
    AND n.id IN (SELECT i.value FROM json_each(v.definition, '$.ids') i)
WHERE json_extract(o.value, '$[0][0]') = 'destination';

UPDATE fairlead_schema SET version = 10;
