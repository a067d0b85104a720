-- On SQLite: the journal, statement by statement. Those of the other database have the
-- same names and columns. A parameter that is a list arrives as JSON.

-- add_journal: record an event
INSERT INTO fairlead_journal (id, time, kind, queue, group_name, key, tenant, priority, cost, type,
  attempt, token, actor, lease, detail)
VALUES (:id, :time, :kind, :queue, :group, :key, :tenant, :priority, :cost, :type, :attempt,
  :token, :actor, :lease, :detail);

-- add_journal_sent: record that messages were sent, all from one number to another, and raise none
INSERT INTO fairlead_journal (id, time, kind, queue, group_name, key, tenant, cost, type, actor)
SELECT m.id, :time, 'sent', :queue, coalesce(g.name, ''), m.key, g.tenant, m.cost, m.type, :actor
FROM fairlead_messages m CROSS JOIN fairlead_groups g ON g.id = m.group_id
WHERE m.id BETWEEN :first AND :last;

-- add_journal_taken: record that messages without a group were taken, under
-- the numbers of their tokens
INSERT INTO fairlead_journal (id, time, kind, queue, group_name, key, tenant, priority, cost, attempt,
  token, actor, lease)
SELECT g.token, :time, 'taken', :queue, '', m.key, g.tenant,
  nullif(g.was_priority, -1), m.cost, g.releases + 1, g.token, :actor, g.deadline
FROM json_each(:ids) CROSS JOIN fairlead_groups g ON g.id = json_each.value
  CROSS JOIN fairlead_messages m ON m.group_id = g.id;

-- add_journal_accepted: record that messages without a group were accepted
INSERT INTO fairlead_journal (id, time, kind, queue, group_name, key, tenant, cost, token, actor)
SELECT :first + json_each.key, :time, 'accepted', :queue, '', m.key, g.tenant, m.cost, g.token,
  :actor
FROM json_each(:ids) CROSS JOIN fairlead_groups g ON g.id = json_each.value
  CROSS JOIN fairlead_messages m ON m.group_id = g.id;

-- journal: events after a place in the journal and up to another one
SELECT id, 0, time, kind, queue, group_name, key, tenant, priority, cost, type, attempt, token,
  actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said, NULL
FROM fairlead_journal WHERE id > :after AND id <= :last AND id >= :first AND id < :until
  AND (:queue IS NULL OR queue = :queue) AND (:cluster IS NULL OR cluster = :cluster)
  AND (:group IS NULL OR group_name = :group) AND (:id IS NULL OR key = :id)
  AND (:actor IS NULL OR substr(actor, 1, length(:actor)) = :actor)
  AND (:kind IS NULL OR instr(',' || :kind || ',', ',' || kind || ',') > 0) AND (:start IS NULL OR time >= :start)
  AND (:end IS NULL OR time < :end)
ORDER BY id LIMIT :most;

-- latest: the latest event that can be read now, or one before it
SELECT 0, id FROM fairlead_journal WHERE id >= :first AND id < :until
  AND (:queue IS NULL OR queue = :queue) AND (:cluster IS NULL OR cluster = :cluster)
  AND (:group IS NULL OR group_name = :group) AND (:id IS NULL OR key = :id)
  AND (:actor IS NULL OR substr(actor, 1, length(:actor)) = :actor)
  AND (:kind IS NULL OR instr(',' || :kind || ',', ',' || kind || ',') > 0) AND (:start IS NULL OR time >= :start)
  AND (:end IS NULL OR time < :end)
ORDER BY id DESC LIMIT 1 OFFSET :back;

-- place_of_number: where the first event with this number or a later one stands, and when it was
SELECT 0, id, time FROM fairlead_journal WHERE id >= :number ORDER BY id LIMIT 1;

-- journal_before: the latest events before a place, of so many that are looked at
SELECT id, 0, time, kind, queue, group_name, key, tenant, priority, cost, type, attempt, token,
  actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said, NULL
FROM (SELECT * FROM fairlead_journal WHERE id < min(:before, :until) AND id >= :first
  ORDER BY id DESC LIMIT :look)
WHERE (:queue IS NULL OR queue = :queue) AND (:cluster IS NULL OR cluster = :cluster)
  AND (:group IS NULL OR group_name = :group) AND (:id IS NULL OR key = :id)
  AND (:actor IS NULL OR substr(actor, 1, length(:actor)) = :actor)
  AND (:kind IS NULL OR instr(',' || :kind || ',', ',' || kind || ',') > 0) AND (:start IS NULL OR time >= :start)
  AND (:end IS NULL OR time < :end)
ORDER BY id DESC LIMIT :most;

-- look_before: the last one of the events before a place, of so many that are looked at
SELECT 0, id, time FROM fairlead_journal WHERE id < min(:before, :until) AND id >= :first
ORDER BY id DESC LIMIT 1 OFFSET :look - 1;

-- look_after: the last one of the events after a place, of so many that are looked at
SELECT 0, id, time FROM fairlead_journal WHERE id > :after AND id >= :first AND id < :until
ORDER BY id LIMIT 1 OFFSET :look - 1;

-- count_events: how many events of each queue, kind and minute a part of the journal has, and where that ends
WITH page AS MATERIALIZED (
  SELECT id, queue, kind, time / 60000000 AS minute FROM fairlead_journal
  WHERE id > :after AND id >= :first AND id < :until ORDER BY id LIMIT :most)
SELECT queue, kind, minute, count(*), 0, (SELECT max(id) FROM page) FROM page
GROUP BY queue, kind, minute;

-- epochs: the events with which the epochs of the journal begin, but for the first one
SELECT first FROM fairlead_epochs ORDER BY first;

-- add_epoch: a new epoch begins with an event
INSERT INTO fairlead_epochs (first, began) VALUES (:first, :began);

-- reached: whether an event with this number was written
SELECT :number <= max(coalesce((SELECT max(id) FROM fairlead_journal), 0), (SELECT pruned FROM fairlead_schema)), 1;

-- outcome: how the work with a token was settled; what is released may be accepted in part, and what
-- is accepted rejected
SELECT kind FROM fairlead_journal
WHERE token = :token AND kind <> 'taken' ORDER BY kind = 'released' DESC, kind = 'accepted' DESC, id DESC
LIMIT 1;

-- pruned: the last event that was forgotten
SELECT 0, pruned FROM fairlead_schema;

-- retention: how long events are kept
SELECT journal_keep FROM fairlead_schema;

-- set_retention: keep events so long
UPDATE fairlead_schema SET journal_keep = :keep;

-- forget_events: the same, of those that are older than events are kept
DELETE FROM fairlead_journal WHERE id IN (
  SELECT id FROM (SELECT id, time FROM fairlead_journal ORDER BY id LIMIT :most)
  WHERE time < :now - (SELECT journal_keep FROM fairlead_schema)
    AND id < (SELECT max(id) FROM fairlead_journal))
RETURNING id;

-- forget_ids: forget the oldest ids of messages, if their time is over
DELETE FROM fairlead_message_ids WHERE (queue, key) IN (
  SELECT i.queue, i.key
  FROM (SELECT queue, key, at FROM fairlead_message_ids ORDER BY at LIMIT :most) i
    LEFT JOIN fairlead_queues q ON q.id = i.queue  -- a cluster's ids have none
  WHERE i.at < :now - coalesce(q.remembered, :remembered))
RETURNING key;

-- keep_guaranteed: the oldest guaranteed messages of which a copy waits are looked at again later
UPDATE fairlead_guaranteed SET at = :now WHERE id IN (
    SELECT id FROM fairlead_guaranteed WHERE at < :now - :remembered ORDER BY at LIMIT :most)
  AND EXISTS (SELECT 1 FROM fairlead_published p WHERE p.guaranteed = fairlead_guaranteed.id);

-- forget_guaranteed: forget the oldest others, if their time is over
DELETE FROM fairlead_guaranteed WHERE id IN (
  SELECT id FROM fairlead_guaranteed WHERE at < :now - :remembered ORDER BY at LIMIT :most)
  AND NOT EXISTS (SELECT 1 FROM fairlead_published p WHERE p.guaranteed = fairlead_guaranteed.id)
RETURNING id;

-- forget_acknowledgements: forget what became of guaranteed messages that are forgotten
DELETE FROM fairlead_acknowledgements
WHERE guaranteed IN (SELECT value FROM json_each(:ids));

-- forget_dead: delete dead letters that are older than their queues keep them
DELETE FROM fairlead_dead WHERE id IN (
  SELECT d.id FROM fairlead_queues q JOIN fairlead_dead d ON d.queue = q.id AND d.died <= :now - q.keep_dead
  WHERE q.keep_dead IS NOT NULL ORDER BY d.died LIMIT :most)
RETURNING (SELECT name FROM fairlead_queues q WHERE q.id = queue), key, group_name, tenant, cost, type, attempt,
  (SELECT keep_dead FROM fairlead_queues q WHERE q.id = queue);

-- forget_ended: the same, of all
DELETE FROM fairlead_endpoints WHERE dialog IN (
  SELECT dialog FROM fairlead_endpoints WHERE state = 3 GROUP BY dialog HAVING count(*) = 2
  LIMIT :most)
RETURNING id;

-- forget_choice_runs: the same, of those that are older than events are kept
DELETE FROM fairlead_choice_runs WHERE (cluster, first, version) IN (
    SELECT s.cluster, s.first, s.version
    FROM fairlead_clusters c JOIN fairlead_choice_runs s ON s.cluster = c.id AND s.first <= coalesce(
      (SELECT w.first FROM fairlead_choice_runs w WHERE w.cluster = c.id
       ORDER BY w.first, w.version LIMIT 1 OFFSET :most), 9223372036854775807)
    WHERE s.at < :now - (SELECT journal_keep FROM fairlead_schema)
      AND :now - (SELECT journal_keep FROM fairlead_schema) > (
      SELECT l.at FROM fairlead_choice_runs l
      WHERE l.cluster = s.cluster AND (l.first, l.version) > (s.first, s.version)
      ORDER BY l.first, l.version LIMIT 1)
    LIMIT :most)
RETURNING first;

-- forget_versions: forget the versions of which no run is left
DELETE FROM fairlead_versions WHERE (cluster, version) IN (
  SELECT v.cluster, v.version FROM fairlead_clusters c CROSS JOIN fairlead_versions v ON v.cluster = c.id
    AND v.version < (SELECT s.version FROM fairlead_choice_runs s WHERE s.cluster = c.id
      ORDER BY s.first, s.version LIMIT 1))
RETURNING version;

-- skip_numbers: the next number is one more than the highest that there is

-- sweep_runs: a run leaves nothing behind: it is one transaction
