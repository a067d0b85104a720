-- What the store does on SQLite, statement by statement. The statements of the two databases have
-- the same names, and give the same columns. A parameter that is a list arrives as JSON.

-- schema_version: whether there is a schema, and which
SELECT version FROM fairlead_schema;

-- identity: which store this is, and in which database: a copy has the same name
SELECT store, (SELECT file FROM pragma_database_list WHERE name = 'main') FROM fairlead_schema;

-- queue: how a queue is set, and the time of the latest event
SELECT id, name, discipline, default_priority, step, weights, fair, tag_clock, lined, works,
       max_waiting, max_failures, completing, enabled, poison, by_library, remembered,
       (SELECT time FROM fairlead_journal
        WHERE id = (SELECT max(id) FROM fairlead_journal)), 0, 0, ''
FROM fairlead_queues WHERE name = :name;

-- queue_locked: the same, by a reader that charges tenants: one at a time
SELECT id, name, discipline, default_priority, step, weights, fair, tag_clock, lined, works,
       max_waiting, max_failures, completing, enabled, poison, by_library, remembered,
       (SELECT time FROM fairlead_journal
        WHERE id = (SELECT max(id) FROM fairlead_journal)), 0, 0, ''
FROM fairlead_queues WHERE name = :name;

-- queue_names: all queues
SELECT name FROM fairlead_queues ORDER BY name;

-- add_queue: create a queue with the defaults
INSERT INTO fairlead_queues (name, remembered, max_failures) VALUES (:name, :remembered, :max_failures)
ON CONFLICT (name) DO NOTHING;

-- set_queue: change how a queue is set
UPDATE fairlead_queues SET discipline = :discipline, default_priority = :default_priority,
  step = :step, weights = :weights, max_waiting = :max_waiting, max_failures = :max_failures,
  poison = :poison, by_library = max(by_library, :by_library),
  remembered = :remembered, fair = :fair
WHERE id = :queue;

-- set_fair: somebody sends for a tenant; the next reader lines the tenants up
UPDATE fairlead_queues SET fair = 1 WHERE id = :queue AND fair = 0;

-- last_number: the highest number so far
SELECT coalesce(max(id), 0) FROM fairlead_journal;

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

-- journal: events after a place in the journal
SELECT id, 0, time, kind, queue, group_name, key, tenant, priority, cost, type, attempt, token,
  actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said
FROM fairlead_journal WHERE id > :after AND id >= :first AND id < :until ORDER BY id LIMIT :most;

-- latest: the latest event that can be read now
SELECT 0, id FROM fairlead_journal WHERE id >= :first AND id < :until ORDER BY id DESC LIMIT 1;

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

-- held_token: whether the work with a token is still in a reader's hands
SELECT 1 FROM fairlead_groups WHERE token = :token AND state = 2 LIMIT 1;

-- pruned: the last event that was forgotten
SELECT 0, pruned FROM fairlead_schema;

-- retention: how long events are kept
SELECT journal_keep FROM fairlead_schema;

-- set_retention: keep events so long
UPDATE fairlead_schema SET journal_keep = :keep;

-- prune_journal: forget the first events, if they are before a time, but for the latest event
DELETE FROM fairlead_journal WHERE id IN (
  SELECT id FROM (SELECT id, time FROM fairlead_journal ORDER BY id LIMIT :most)
  WHERE time < :before AND id < (SELECT max(id) FROM fairlead_journal))
RETURNING id;

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

-- prune_stretches: forget the first stretches of each cluster that were over before a time
DELETE FROM fairlead_stretches WHERE (cluster, first, version) IN (
    SELECT s.cluster, s.first, s.version
    FROM fairlead_clusters c JOIN fairlead_stretches s ON s.cluster = c.id AND s.first <= coalesce(
      (SELECT w.first FROM fairlead_stretches w WHERE w.cluster = c.id
       ORDER BY w.first, w.version LIMIT 1 OFFSET :most), 9223372036854775807)
    WHERE s.at < :before AND :before > (
      SELECT l.at FROM fairlead_stretches l
      WHERE l.cluster = s.cluster AND (l.first, l.version) > (s.first, s.version)
      ORDER BY l.first, l.version LIMIT 1)
    LIMIT :most)
RETURNING first;

-- forget_stretches: the same, of those that are older than events are kept
DELETE FROM fairlead_stretches WHERE (cluster, first, version) IN (
    SELECT s.cluster, s.first, s.version
    FROM fairlead_clusters c JOIN fairlead_stretches s ON s.cluster = c.id AND s.first <= coalesce(
      (SELECT w.first FROM fairlead_stretches w WHERE w.cluster = c.id
       ORDER BY w.first, w.version LIMIT 1 OFFSET :most), 9223372036854775807)
    WHERE s.at < :now - (SELECT journal_keep FROM fairlead_schema)
      AND :now - (SELECT journal_keep FROM fairlead_schema) > (
      SELECT l.at FROM fairlead_stretches l
      WHERE l.cluster = s.cluster AND (l.first, l.version) > (s.first, s.version)
      ORDER BY l.first, l.version LIMIT 1)
    LIMIT :most)
RETURNING first;

-- forget_versions: forget the versions of which no stretch is left
DELETE FROM fairlead_versions WHERE (cluster, version) IN (
  SELECT v.cluster, v.version FROM fairlead_clusters c CROSS JOIN fairlead_versions v ON v.cluster = c.id
    AND v.version < (SELECT s.version FROM fairlead_stretches s WHERE s.cluster = c.id
      ORDER BY s.first, s.version LIMIT 1))
RETURNING version;

-- groups_by_name: the groups that live, kept from ending while this transaction runs
SELECT name, id, tenant, state, head FROM fairlead_groups
WHERE queue = :queue AND name IN (SELECT value FROM json_each(:names));

-- add_group: begin a group
INSERT INTO fairlead_groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered, number,
  head, arrived)
VALUES (:id, :queue, :name, :tenant, :fair, 1, :k1, :k2, :priority, :entered, :number, :id, :arrived)
ON CONFLICT DO NOTHING;

-- add_lone: begin groups of messages that have none, and no tenant; nobody has raised them
INSERT INTO fairlead_groups (id, queue, tenant, fair, state, k1, k2, head, arrived)
SELECT value, :queue, '', :fair, 1, :k1, value, value, :arrived FROM json_each(:ids);

-- add_message: a message arrives
INSERT INTO fairlead_messages (id, queue, group_id, key, arrived, expires, cost, type, conversation,
  format, body)
VALUES (:id, :queue, :group_id, :key, :arrived, :expires, :cost, :type, :conversation, :format,
  :body);

-- add_delayed: a message that arrives later
INSERT INTO fairlead_delayed (id, queue, due, group_name, tenant, priority, key, expires, cost, type,
  conversation, format, body)
VALUES (:id, :queue, :due, :group, :tenant, :priority, :key, :expires, :cost, :type, :conversation,
  :format, :body);

-- message_ids: what is remembered with some ids
SELECT key, at, digest FROM fairlead_message_ids WHERE queue = :queue AND key IN (SELECT value FROM json_each(:keys));

-- add_message_ids: remember ids of messages; those that were not known, or whose time is over
INSERT INTO fairlead_message_ids (queue, key, at, digest)
SELECT :queue, k.value, :at, d.value
FROM json_each(:keys) k JOIN json_each(:digests) d ON d.key = k.key
WHERE true
ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
  WHERE fairlead_message_ids.at < :before
RETURNING key;

-- crowded: whether a limited queue holds more than so many messages, those that arrive later too
SELECT 1 FROM fairlead_queues WHERE id = :queue AND held > :most;

-- count_held: how many messages a queue holds, which was not limited, or is not any more
UPDATE fairlead_queues SET held = (SELECT count(*) FROM fairlead_messages WHERE queue = :queue)
  + (SELECT count(*) FROM fairlead_delayed WHERE queue = :queue)
WHERE id = :queue;

-- add_notice: what the next reader has to know
INSERT INTO fairlead_notices (kind, number, group_id, tenant, priority, at, cost, turn, placed, queue)
VALUES (:kind, :number, :group_id, :tenant, :priority, :at, :cost, :turn, :placed, :queue);

-- chores: what there is to do before a take
SELECT EXISTS (SELECT 1 FROM fairlead_notices WHERE queue = :queue AND kind = 'raised'),
       EXISTS (SELECT 1 FROM fairlead_notices WHERE queue = :queue AND kind <> 'raised'),
       EXISTS (SELECT 1 FROM fairlead_groups WHERE queue = :queue AND state = 3 AND not_before <= :now),
       EXISTS (SELECT 1 FROM fairlead_delayed WHERE queue = :queue AND due <= :now),
       EXISTS (SELECT 1 FROM fairlead_groups WHERE queue = :queue AND state = 2 AND deadline <= :now);

-- notices: what is to be told of tenants
SELECT id, kind, number, tenant, cost, turn, placed FROM fairlead_notices
WHERE queue = :queue AND kind <> 'raised' ORDER BY id LIMIT :most;

-- raised_groups: the groups that were raised, but for those that are held; and whether they live. How
-- often each was raised is of no matter: the index leads from one group to the next.
WITH RECURSIVE told (id) AS (
  SELECT min(group_id) FROM fairlead_notices WHERE queue = :queue AND kind = 'raised'
  UNION ALL
  SELECT (SELECT min(n.group_id) FROM fairlead_notices n
    WHERE n.queue = :queue AND n.kind = 'raised' AND n.group_id > told.id)
  FROM told WHERE told.id IS NOT NULL)
SELECT told.id, g.id IS NOT NULL FROM told LEFT JOIN fairlead_groups g ON g.id = told.id
WHERE told.id IS NOT NULL AND (g.id IS NULL OR g.state <> 2) LIMIT :most;

-- raises_of: the raises of groups, by who has them locked
SELECT n.id, n.group_id, n.number, n.priority, n.at
FROM json_each(:ids) CROSS JOIN fairlead_notices n ON n.group_id = json_each.value
WHERE n.kind = 'raised' ORDER BY n.id;

-- drop_raises_of: groups that have ended cannot be raised
DELETE FROM fairlead_notices WHERE id IN (
  SELECT n.id FROM json_each(:ids) CROSS JOIN fairlead_notices n ON n.group_id = json_each.value
  WHERE n.kind = 'raised');

-- drop_notices: they are told
DELETE FROM fairlead_notices WHERE id IN (SELECT value FROM json_each(:ids));

-- place: give a group its place
UPDATE fairlead_groups SET priority = :priority, entered = :entered, number = :number, k1 = :k1,
  k2 = :k2, head = :head, arrived = :arrived
WHERE id = :id;

-- wake_groups: groups whose time has come are ready
UPDATE fairlead_groups SET state = 1, not_before = NULL WHERE id IN (
  SELECT id FROM fairlead_groups WHERE queue = :queue AND state = 3 AND not_before <= :now
  ORDER BY not_before LIMIT :most)
RETURNING id, tenant, head, name;

-- due_messages: take out messages that arrive now
DELETE FROM fairlead_delayed WHERE id IN (
  SELECT id FROM fairlead_delayed WHERE queue = :queue AND due <= :now ORDER BY due, id LIMIT :most)
RETURNING id, due, group_name, tenant, priority, key, expires, cost, type, conversation, format, body;

-- look: whether a group of a queue can be taken, and when one becomes so by itself
SELECT q.id, q.enabled, 0, EXISTS (SELECT 1 FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 1),
       (SELECT min(at) FROM (
         SELECT min(g.not_before) AS at FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 3
         UNION ALL SELECT min(d.due) FROM fairlead_delayed d WHERE d.queue = q.id)),
       (SELECT min(g.deadline) FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 2)
FROM fairlead_queues q WHERE q.name = :name;

-- lapsed: groups whose lease is over
SELECT id, token FROM fairlead_groups WHERE queue = :queue AND state = 2 AND deadline <= :now
ORDER BY deadline LIMIT :most;

-- held_by: groups in the hands of some holders
SELECT id, token, taken FROM fairlead_groups
WHERE queue = :queue AND state = 2 AND holder IN (SELECT value FROM json_each(:holders));

-- holders_of: who holds groups of a queue
SELECT h.id, h.host, h.stopping FROM fairlead_holders h
WHERE h.id IN (SELECT DISTINCT holder FROM fairlead_groups WHERE queue = :queue AND state = 2);

-- pick: the best groups that nobody holds
SELECT id, name, tenant, priority, releases, 0, k1, k2 FROM fairlead_groups
WHERE queue = :queue AND state = 1 ORDER BY k1, k2 LIMIT :most;

-- pick_named: a group by its name, if nobody holds it
SELECT id, name, tenant, priority, releases, 0, k1, k2 FROM fairlead_groups
WHERE queue = :queue AND name = :name AND state = 1;

-- pick_of_tenant: the best group of a tenant
SELECT id, name, tenant, priority, releases, 0, k1, k2 FROM fairlead_groups
WHERE queue = :queue AND tenant = :tenant AND state = 1 AND fair = 1 ORDER BY k1, k2 LIMIT 1;

-- hold: take groups that were picked, with tokens from one number on; who writes is alone, so they
-- are still there
UPDATE fairlead_groups SET state = 2, was_priority = priority, was_entered = entered,
  was_number = number, was_turn = :turn, priority = -1, entered = 0, number = 0,
  token = :first + json_each.key, holder = :holder, taken = :taken, deadline = :deadline
FROM json_each(:ids) WHERE fairlead_groups.id = json_each.value;

-- tenant_of: whose a ready group is
SELECT tenant FROM fairlead_groups WHERE queue = :queue AND name = :name AND state = 1;

-- lone_messages: the messages that are groups of their own
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead_messages
WHERE group_id IN (SELECT value FROM json_each(:ids)) ORDER BY id;

-- more_of: the messages of a group after one
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead_messages
WHERE group_id = :id AND id > :after ORDER BY id LIMIT :most;

-- late_of: the messages of a group that were not given, wherever they stand
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead_messages
WHERE group_id = :id AND id NOT IN (SELECT value FROM json_each(:given)) ORDER BY id LIMIT :most;

-- costs_of: what the messages of groups cost in all
SELECT group_id, sum(cost) FROM fairlead_messages
WHERE group_id IN (SELECT value FROM json_each(:ids)) GROUP BY group_id;

-- heads_of: the first message of each group that has any, by when they came: an Error has a number
-- below 0, as it is read first
SELECT m.group_id, abs(m.id), m.arrived
FROM (SELECT (SELECT min(id) FROM (
        SELECT min(id) AS id FROM fairlead_messages WHERE group_id = value AND id > 0
        UNION ALL
        SELECT -max(id) FROM fairlead_messages WHERE group_id = value AND id < 0)) AS head
      FROM json_each(:ids)) h JOIN fairlead_messages m ON m.id IN (h.head, -h.head);

-- fence: groups with the tokens of who holds them, kept from everybody else until it has settled them
SELECT id, queue, name, tenant, token, was_priority, was_entered, was_number, was_turn, releases,
  failures, taken, holder
FROM fairlead_groups WHERE id IN (SELECT value FROM json_each(:ids));

-- drop_messages: they are done
DELETE FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids));

-- bury: messages become dead letters
INSERT INTO fairlead_dead (id, queue, died, reason, attempt, group_name, tenant, priority, key, cost,
  type, conversation, format, body)
SELECT abs(m.id), m.queue, :died, :reason, :attempt, g.name, g.tenant, :priority, m.key, m.cost, m.type,
  m.conversation, m.format, m.body
FROM fairlead_messages m JOIN fairlead_groups g ON g.id = m.group_id
WHERE m.id IN (SELECT value FROM json_each(:ids));

-- bury_delayed: a message that could not arrive becomes a dead letter
INSERT INTO fairlead_dead (id, queue, died, reason, attempt, group_name, tenant, priority, key, cost,
  type, conversation, format, body)
VALUES (:id, :queue, :died, :reason, 0, :group, :tenant, :priority, :key, :cost, :type,
  :conversation, :format, :body);

-- put_back: a group is not held any more
UPDATE fairlead_groups SET state = :state, not_before = :not_before, priority = :priority,
  entered = :entered, number = :number, k1 = :k1, k2 = :k2, head = :head, arrived = :arrived,
  releases = :releases, failures = :failures, token = NULL, holder = NULL, deadline = NULL
WHERE id = :id;

-- lock_ended: those of some groups to which nobody is sending
SELECT id FROM fairlead_groups WHERE id IN (SELECT value FROM json_each(:ids));

-- end_groups: groups of which nothing is left
DELETE FROM fairlead_groups WHERE id IN (SELECT value FROM json_each(:ids));

-- end_lone: messages without a group are done, if the reader still holds them
DELETE FROM fairlead_groups WHERE id = :id AND token = :token AND state = 2;

-- drop_lone: the messages themselves
DELETE FROM fairlead_messages WHERE group_id = :id;

-- extend: a longer lease
UPDATE fairlead_groups SET deadline = :deadline WHERE id = :id AND token = :token AND state = 2
RETURNING id;

-- tenants: what some tenants were charged
SELECT name, tag, turn, works, lined FROM fairlead_tenants
WHERE queue = :queue AND name IN (SELECT value FROM json_each(:names));

-- all_tenants: what all were charged
SELECT name, tag, turn, works, lined FROM fairlead_tenants WHERE queue = :queue;

-- next_tenant: who is next
SELECT name, tag, turn, works, lined FROM fairlead_tenants
WHERE queue = :queue AND lined = 1 AND name NOT IN (SELECT value FROM json_each(:besides))
ORDER BY tag, turn LIMIT 1;

-- set_tenant: what a tenant is charged
INSERT INTO fairlead_tenants (queue, name, tag, turn, works, lined)
VALUES (:queue, :name, :tag, :turn, :works, :lined)
ON CONFLICT (queue, name) DO UPDATE SET tag = excluded.tag, turn = excluded.turn,
  works = excluded.works, lined = excluded.lined;

-- drop_tenant: it has nothing that a new one would not have
DELETE FROM fairlead_tenants WHERE queue = :queue AND name = :name;

-- drop_tenants: nothing waits and nobody works, so nobody was charged anything
DELETE FROM fairlead_tenants WHERE queue = :queue;

-- set_line: how many tenants can be served, how many groups are held, and the clock of tags
UPDATE fairlead_queues SET tag_clock = :tag_clock, lined = :lined, works = :works, fair = 2
WHERE id = :queue;

-- ready_of_tenant: whether a tenant has a group that can be taken
SELECT 1 FROM fairlead_groups WHERE queue = :queue AND tenant = :tenant AND state = 1 AND fair = 1
ORDER BY k1, k2 LIMIT 1;

-- mark_fair: all groups of a queue are lined up by tenant
UPDATE fairlead_groups SET fair = 1 WHERE queue = :queue AND fair = 0;

-- mark_late: groups that can be taken, of senders that did not know yet of tenants
UPDATE fairlead_groups SET fair = 1 WHERE queue = :queue AND state = 1 AND fair = 0
RETURNING tenant, k2;

-- ready_tenants: whose the ready groups are, by when their first came
SELECT tenant, min(k2) FROM fairlead_groups WHERE queue = :queue AND state = 1
GROUP BY tenant ORDER BY 2;

-- held_of_tenants: how many groups of each tenant are held
SELECT tenant, count(*) FROM fairlead_groups WHERE queue = :queue AND state = 2 GROUP BY tenant;

-- charges: the last events of a queue that charged its tenants
SELECT kind, tenant, coalesce(cost, 0) FROM (
  SELECT id, kind, tenant, cost FROM fairlead_journal
  WHERE queue = :queue_name AND kind IN ('taken', 'released')
    AND id > (SELECT max(id) FROM fairlead_journal) - 100000
  ORDER BY id DESC LIMIT :most) latest ORDER BY id;

-- first_groups: the groups that would be taken next
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1
  AND EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT :most;

-- first_of_tenant: the groups of a tenant that would be taken next
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1 AND g.tenant = :tenant AND g.fair = 1
  AND EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT :most;

-- later: what waits for its time: groups that were released with a delay, and messages sent with one
SELECT g.not_before, 'released', coalesce(g.name, ''),
  CASE WHEN g.name IS NULL
    THEN (SELECT m.key FROM fairlead_messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
  (SELECT count(*) FROM fairlead_messages m WHERE m.group_id = g.id), g.tenant, g.priority
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 3
  AND EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
UNION ALL
SELECT due, 'delayed', coalesce(group_name, ''), key, 1, tenant, coalesce(priority, -1)
FROM fairlead_delayed WHERE queue = :queue AND NOT (conversation IS NOT NULL AND type = 'Error')
ORDER BY 1, 2, 3, 4 LIMIT :most;

-- sizes_of: how many messages groups have
SELECT group_id, count(*), sum(cost) FROM fairlead_messages
WHERE group_id IN (SELECT value FROM json_each(:ids)) GROUP BY group_id;

-- ready_count: how many groups can be taken
SELECT count(*) FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1
  AND EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id);

-- held_count: how many groups are held
SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 2;

-- held: the work in the hands of readers
SELECT id, name, tenant, was_priority, releases, token, holder, taken, deadline
FROM fairlead_groups WHERE queue = :queue AND state = 2 ORDER BY token, k1, k2;

-- group: one group that lives
SELECT id, tenant FROM fairlead_groups WHERE queue = :queue AND name = :name;

-- group_kept: the same, kept from ending while this transaction runs, if it is not ending already
SELECT id, tenant FROM fairlead_groups WHERE queue = :queue AND name = :name;

-- group_place: where a group stands
SELECT id, state, head, arrived, tenant, k1, k2 FROM fairlead_groups
WHERE queue = :queue AND name = :name;

-- count_between: how many ready groups, of a tenant or of all, stand from one place to another
SELECT count(*) FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1
  AND (:tenant IS NULL OR g.tenant = :tenant)
  AND (g.k1, g.k2) > (:a1, :a2) AND (g.k1, g.k2) < (:b1, :b2);

-- groups_between: the first of these groups
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1
  AND (:tenant IS NULL OR g.tenant = :tenant)
  AND (g.k1, g.k2) > (:a1, :a2) AND (g.k1, g.k2) < (:b1, :b2)
ORDER BY g.k1, g.k2 LIMIT :most;

-- metrics: what a queue holds
SELECT (SELECT count(*) FROM fairlead_messages WHERE queue = :queue),
       (SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 1),
       (SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 2),
       (SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 3),
       (SELECT count(*) FROM fairlead_delayed WHERE queue = :queue
         AND NOT (conversation IS NOT NULL AND type = 'Error')),  -- the end of a lifetime
       (SELECT count(*) FROM fairlead_dead WHERE queue = :queue),
       (SELECT min(arrived) FROM fairlead_groups WHERE queue = :queue AND state = 1 AND head > 0),
       (SELECT coalesce(sum(failures), 0) FROM fairlead_groups WHERE queue = :queue);

-- dead: dead letters
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead_dead WHERE queue = :queue AND id > :after ORDER BY id LIMIT :most;

-- dead_by_key: dead letters of a message
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead_dead WHERE queue = :queue AND key = :key ORDER BY id;

-- drop_dead: they are dead letters no more
DELETE FROM fairlead_dead WHERE queue = :queue AND id IN (SELECT value FROM json_each(:ids))
RETURNING id;

-- groups_after: groups to be given their places anew, from an id on; not those that are held
SELECT id, priority, entered, number, head, arrived FROM fairlead_groups
WHERE queue = :queue AND id > :after AND state <> 2
ORDER BY id LIMIT :most;

-- add_holder: a process that takes work
INSERT INTO fairlead_holders (host, pid, name, since) VALUES (:host, :pid, :name, :since)
RETURNING id;

-- stopping: the process was told to stop; what it holds did not fail
UPDATE fairlead_holders SET stopping = 1 WHERE id = :id;

-- drop_holders: they hold nothing any more
DELETE FROM fairlead_holders WHERE id IN (SELECT value FROM json_each(:ids)) AND NOT EXISTS
  (SELECT 1 FROM fairlead_groups g WHERE g.state = 2 AND g.holder = fairlead_holders.id);

-- lock_ready: those of some groups that can be given another place now
SELECT id FROM fairlead_groups WHERE id IN (SELECT value FROM json_each(:ids)) AND state <> 2;

-- entries_of: to what groups were raised
SELECT id, priority, entered, number FROM fairlead_groups
WHERE id IN (SELECT value FROM json_each(:ids));

-- drop_tenant_notices: the tenants are lined up as they stand, whatever was told before
DELETE FROM fairlead_notices WHERE queue = :queue AND kind <> 'raised';

-- clear_line: no tenant was charged anything
UPDATE fairlead_queues SET tag_clock = '', lined = 0, works = 0 WHERE id = :queue;

-- still_held: whether a group is held with a token
SELECT 1 FROM fairlead_groups WHERE id = :id AND token = :token AND state = 2;

-- cluster: a cluster as it stands
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, 0
FROM fairlead_clusters WHERE name = :name;

-- lock_cluster: the same, kept from everybody else until the transaction ends
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, 0
FROM fairlead_clusters WHERE name = :name;

-- count_choice: one more choice of a cluster, which nobody else can choose in until this ends
UPDATE fairlead_clusters SET taken = taken + 1 WHERE name = :name AND allocation = 'exact'
RETURNING id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken,
          revision, state, 0;

-- cluster_names: all clusters
SELECT name FROM fairlead_clusters ORDER BY name;

-- add_cluster: a cluster that was not there
INSERT INTO fairlead_clusters (name, allocation, rule, reset_every, version, stamp, first, taken, revision)
VALUES (:name, 'exact', '', 0, -1, '', 0, 0, 0) ON CONFLICT (name) DO NOTHING;

-- set_cluster: where a cluster stands
UPDATE fairlead_clusters SET allocation = :allocation, rule = :rule, reset_every = :reset_every,
  reset_due = :reset_due, due = :due, version = :version, stamp = :stamp, first = :first, taken = :taken,
  revision = :revision, state = :state
WHERE id = :cluster;

-- set_state: the state of a cluster whose choices are not made ahead
UPDATE fairlead_clusters SET revision = :revision, state = :state WHERE id = :cluster;

-- add_version: a cluster after a change
INSERT INTO fairlead_versions (cluster, version, stamp, at, definition)
VALUES (:cluster, :version, :stamp, :at, :definition);

-- version: a cluster at one version
SELECT stamp, at, definition FROM fairlead_versions WHERE cluster = :cluster AND version = :version;

-- add_stretch: choices that are made ahead, or the state from which on they are made one by one
INSERT INTO fairlead_stretches (cluster, first, version, at, number, state, choices)
VALUES (:cluster, :first, :version, :at, :number, :state, :choices);

-- stretch_of: the stretch of a turn
SELECT first, version, number, state, choices FROM fairlead_stretches
WHERE cluster = :cluster AND first <= :turn ORDER BY first DESC, version DESC LIMIT 1;

-- stretch_before: the stretch in which an event happened
SELECT first, version, number, state, choices FROM fairlead_stretches
WHERE cluster = :cluster AND version = :version AND number < :number
ORDER BY first DESC LIMIT 1;

-- add_destination: a destination, or what has changed of it
INSERT INTO fairlead_destinations (cluster, id, name, address, queue)
VALUES (:cluster, :id, :name, :address, :queue)
ON CONFLICT (cluster, id) DO UPDATE SET name = excluded.name, address = excluded.address,
  queue = excluded.queue;

-- destinations: the destinations that a cluster has had
SELECT id, name, address FROM fairlead_destinations WHERE cluster = :cluster ORDER BY id;

-- binding: where messages of a group go
SELECT destination FROM fairlead_bindings WHERE cluster = :cluster AND key = :key;

-- bind: where they go from now on
INSERT INTO fairlead_bindings (cluster, key, destination) VALUES (:cluster, :key, :destination)
ON CONFLICT (cluster, key) DO UPDATE SET destination = excluded.destination;

-- unbind: nothing is bound any more
DELETE FROM fairlead_bindings WHERE cluster = :cluster;

-- add_published: a message whose settlement its cluster waits for
INSERT INTO fairlead_published (queue, key, cluster, destination, part, version)
VALUES (:queue, :key, :cluster, :destination, :part, :version)
ON CONFLICT DO NOTHING;

-- complete: messages that were published are about to be done
INSERT INTO fairlead_completions (cluster, destination, part, version)
SELECT p.cluster, p.destination, p.part, p.version
FROM fairlead_messages m JOIN fairlead_published p ON p.queue = m.queue AND p.key = m.key
WHERE m.id IN (SELECT value FROM json_each(:ids)) ORDER BY m.id;

-- drop_published: their cluster waits for them no more
DELETE FROM fairlead_published WHERE queue IN (
    SELECT queue FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids)))
  AND key IN (SELECT key FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids)))
  AND (queue, key) IN (
    SELECT queue, key FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids)));

-- add_completion: a message that a cluster chose for is done
INSERT INTO fairlead_completions (cluster, destination, part, version)
VALUES (:cluster, :destination, :part, :version);

-- completions: what was settled since the last choice, by the order in which it was
DELETE FROM fairlead_completions WHERE cluster = :cluster RETURNING id, destination, part, version;

-- set_completing: work of a queue is completed for a cluster
UPDATE fairlead_queues SET completing = 1 WHERE id = :queue AND completing = 0;

-- add_event: record a decision, or what becomes of a cluster
INSERT INTO fairlead_journal (id, time, kind, queue, group_name, key, tenant, cost, type, actor, detail,
  cluster, version, stream, destination, address, outcome, sequence, said)
VALUES (:id, :time, :kind, :queue, :group, :key, '', NULL, :type, :actor, :detail, :cluster, :version,
  :stream, :destination, :address, :outcome, :sequence, :said)
RETURNING id;

-- events_of_cluster: what happened to a cluster, one event after another
SELECT id, kind, version, destination, outcome, stream, sequence, detail, said FROM fairlead_journal
WHERE cluster = :cluster AND id > :after AND id < :until ORDER BY id;

-- decision: a decision in the journal
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said
FROM fairlead_journal WHERE id = :number AND kind = 'decided';

-- decisions_about: the decisions about a message in the journal, the latest first
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said
FROM fairlead_journal WHERE cluster = :cluster AND kind = 'decided' AND key <> '' AND key = :key
ORDER BY id DESC;

-- decision_in_place: the decision with a place in a stream
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said
FROM fairlead_journal WHERE cluster = :cluster AND kind = 'decided' AND stream = :stream
  AND sequence = :sequence ORDER BY id DESC LIMIT 1;

-- unbind_from: nothing goes to a destination that has left
DELETE FROM fairlead_bindings WHERE cluster = :cluster AND destination = :destination;

-- loaded_from: what a cluster was loaded from
SELECT loaded FROM fairlead_files WHERE cluster = :cluster;

-- set_loaded: the same
INSERT INTO fairlead_files (cluster, loaded) VALUES (:cluster, :loaded)
ON CONFLICT (cluster) DO UPDATE SET loaded = excluded.loaded;

-- switch: switch a queue on or off
UPDATE fairlead_queues SET enabled = :enabled WHERE id = :queue AND enabled <> :enabled
RETURNING id;

-- forgive: no group of a queue has failed
UPDATE fairlead_groups SET failures = 0 WHERE queue = :queue AND failures > 0 AND state <> 2;

-- declared: message types, contracts and services
SELECT kind, name, definition FROM fairlead_declared ORDER BY kind, name;

-- revision: how often something was declared
SELECT declared FROM fairlead_schema;

-- declare: a message type, a contract or a service is declared, or declared anew
INSERT INTO fairlead_declared (kind, name, definition) VALUES (:kind, :name, :definition)
ON CONFLICT (kind, name) DO UPDATE SET definition = excluded.definition;

-- has_declared: whoever has read what is declared reads it again
UPDATE fairlead_schema SET declared = declared + 1 RETURNING declared;

-- add_endpoint: one end of a dialog
INSERT INTO fairlead_endpoints (id, handle, dialog, side, service, far_service, contract, queue, group_name,
  began, lifetime)
VALUES (:id, :handle, :dialog, :side, :service, :far_service, :contract, :queue, :group,
  :began, :lifetime);

-- endpoint: the end with a handle
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE handle = :handle;

-- endpoints: some ends
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE id IN (SELECT value FROM json_each(:ids));

-- end_of: the end of a dialog on one side
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog = :dialog AND side = :side;

-- say: an end sends one more message; nobody else sends for it until this ends
UPDATE fairlead_endpoints SET sent = sent + 1 WHERE id = :id AND state = 1
RETURNING sent, (SELECT declared FROM fairlead_schema);

-- lock_open: whether an end is open; nobody else speaks for it until this ends
SELECT 1 FROM fairlead_endpoints WHERE id = :id AND state = 1;

-- fail_endpoint: an end can only be ended
UPDATE fairlead_endpoints SET state = 2 WHERE id = :id AND state = 1;

-- end_endpoint: an end has ended
UPDATE fairlead_endpoints SET state = 3, sent = sent + 1 WHERE id = :id AND state <> 3 RETURNING sent;

-- drop_endpoints: nothing is left of a dialog
DELETE FROM fairlead_endpoints WHERE dialog = :dialog;

-- drop_ended: nothing is left of dialogs of which both ends have ended
DELETE FROM fairlead_endpoints WHERE state = 3 AND dialog IN (SELECT value FROM json_each(:dialogs)) AND NOT EXISTS (
  SELECT 1 FROM fairlead_endpoints other WHERE other.dialog = fairlead_endpoints.dialog AND other.state <> 3);

-- forget_ended: the same, of all
DELETE FROM fairlead_endpoints WHERE dialog IN (
  SELECT dialog FROM fairlead_endpoints WHERE state = 3 GROUP BY dialog HAVING count(*) = 2
  LIMIT :most)
RETURNING id;

-- bind_endpoint: what comes to an end is forwarded to the end of another dialog
UPDATE fairlead_endpoints SET bound = :bound WHERE id = :id AND state <> 3 RETURNING id;

-- drop_delayed: timers of an end, and what its lifetime brings
DELETE FROM fairlead_delayed WHERE conversation = :conversation AND type IN (SELECT value FROM json_each(:types))
  AND due > :after;

-- drop_unread: what waits for an end that has ended, but for what its reader was given
DELETE FROM fairlead_messages WHERE conversation = :conversation AND NOT id IN (SELECT value FROM json_each(:given));

-- of_conversation: the messages of a conversation
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead_messages WHERE conversation = :conversation AND NOT id IN (SELECT value FROM json_each(:given)) ORDER BY id LIMIT :most;

-- any_of_conversation: whether there is one
SELECT 1 FROM fairlead_messages WHERE conversation = :conversation LIMIT 1;

-- dialogs: the ends of dialogs that are open, the latest first
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog IN (
  SELECT e.dialog FROM fairlead_endpoints e
  WHERE e.side = 0 AND e.dialog < :before AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead_endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT :most)
ORDER BY dialog DESC, side;

-- dialogs_of: the same, of those in which a service speaks
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog IN (
  SELECT DISTINCT e.dialog FROM fairlead_endpoints e
  WHERE e.service = :service AND e.dialog < :before AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead_endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT :most)
ORDER BY dialog DESC, side;

-- ends_of: both ends of a dialog
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog = :dialog ORDER BY side;

-- unread: how many messages wait at some ends
SELECT conversation, count(*) FROM fairlead_messages
WHERE conversation IN (SELECT value FROM json_each(:ids)) GROUP BY conversation;

-- unread_types: the first messages that wait at an end
SELECT key, type, arrived FROM fairlead_messages
WHERE conversation = :conversation ORDER BY id LIMIT :most;

-- timers: when the timers of some ends are due
SELECT conversation, due FROM fairlead_delayed
WHERE conversation IN (SELECT value FROM json_each(:ids)) AND type = 'DialogTimer';

-- groups_of_ends: the groups in which the messages of some ends wait, and to what they were raised
SELECT e.id, q.enabled, g.state, g.not_before,
  coalesce((SELECT n.priority FROM fairlead_notices n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead_notices n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  h.name, g.taken
FROM fairlead_endpoints e JOIN fairlead_queues q ON q.name = e.queue
  JOIN fairlead_groups g ON g.queue = q.id AND g.name = e.group_name
  LEFT JOIN fairlead_holders h ON g.state = 2 AND h.id = g.holder
WHERE e.id IN (SELECT value FROM json_each(:ids));

-- open_of_services: how many ends that have not ended each service has
SELECT service, count(*) FROM fairlead_endpoints WHERE state <> 3 GROUP BY service;

-- event: who did something, and when
SELECT time, actor FROM fairlead_journal WHERE id = :number;

-- switched_off: when a queue was switched off for the last time, by whom and why
SELECT time, actor, detail FROM fairlead_journal WHERE kind = 'switched-off' AND queue = :queue
ORDER BY id DESC LIMIT 1;

-- said_in: the group in which a conversation said something
SELECT group_name FROM fairlead_journal
WHERE kind = :kind AND queue = :queue AND key = :key ORDER BY id DESC LIMIT 1;

-- events_of_groups: what happened to some groups
SELECT id, time, kind, group_name, key, tenant, priority, token, actor, detail FROM fairlead_journal
WHERE id > :after AND queue = :queue AND group_name IN (SELECT value FROM json_each(:groups))
ORDER BY id LIMIT :most;

-- first_kept: the time of the first event that is kept
SELECT time FROM fairlead_journal ORDER BY id LIMIT 1;

-- serve: a queue is a service's
UPDATE fairlead_queues SET by_library = 1 WHERE id = :queue AND by_library = 0;
