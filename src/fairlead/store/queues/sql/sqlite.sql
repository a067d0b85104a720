-- On SQLite: queues, statement by statement. Those of the other database have the
-- same names and columns. A parameter that is a list arrives as JSON.

-- queue: how a queue is set, and the time of the latest event
SELECT id, name, discipline, default_priority, step, weights, fair, virtual_time, backlogged, in_service,
       max_waiting, max_failures, max_seconds, completing, enabled, poison, by_library, retry,
       count_as_failure, keep_dead, limits, off_tenants, remembered,
       (SELECT time FROM fairlead_journal
        WHERE id = (SELECT max(id) FROM fairlead_journal)), 0, 0
FROM fairlead_queues WHERE name = :name;

-- queue_locked: the same, by a reader that charges tenants: one at a time
SELECT id, name, discipline, default_priority, step, weights, fair, virtual_time, backlogged, in_service,
       max_waiting, max_failures, max_seconds, completing, enabled, poison, by_library, retry,
       count_as_failure, keep_dead, limits, off_tenants, remembered,
       (SELECT time FROM fairlead_journal
        WHERE id = (SELECT max(id) FROM fairlead_journal)), 0, 0
FROM fairlead_queues WHERE name = :name;

-- queue_names: all queues
SELECT name FROM fairlead_queues ORDER BY name;

-- add_queue: create a queue with the defaults
INSERT INTO fairlead_queues (name, remembered, max_failures) VALUES (:name, :remembered, :max_failures)
ON CONFLICT (name) DO NOTHING;

-- set_fair: somebody sends for a tenant; the next reader lines the tenants up
UPDATE fairlead_queues SET fair = 1 WHERE id = :queue AND fair = 0;

-- groups_by_name: the groups that live, kept from ending while this transaction runs
SELECT name, id, tenant, state, head FROM fairlead_groups
WHERE queue = :queue AND name IN (SELECT value FROM json_each(:names));

-- add_group: begin a group
INSERT INTO fairlead_groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered, number,
  head, arrived, lane)
VALUES (:id, :queue, :name, :tenant, :fair, 1, :k1, :k2, :priority, :entered, :number, :id, :arrived, :lane)
ON CONFLICT DO NOTHING;

-- add_lone: begin groups of messages that have none, and no tenant; nobody has raised them
INSERT INTO fairlead_groups (id, queue, tenant, fair, state, k1, k2, head, arrived, lane)
SELECT value, :queue, '', :fair, 1, :k1, value, value, :arrived, :lane FROM json_each(:ids);

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

-- add_message_ids: remember ids of messages; those that were not known, or whose time is over. (Of a list
-- itself the second would be read from its beginning for each entry of the first.)
WITH digests AS MATERIALIZED (SELECT key, value FROM json_each(:digests))
INSERT INTO fairlead_message_ids (queue, key, at, digest)
SELECT :queue, k.value, :at, d.value
FROM json_each(:keys) k JOIN digests d ON d.key = k.key
WHERE true
ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
  WHERE fairlead_message_ids.at < :before
RETURNING key;

-- over_limit: whether a limited queue holds more than so many messages, those that arrive later too
SELECT 1 FROM fairlead_queues WHERE id = :queue AND length > :most;

-- add_pending_update: what the next reader has to know
INSERT INTO fairlead_pending_updates (kind, number, group_id, tenant, priority, at, cost, turn, placed, queue)
VALUES (:kind, :number, :group_id, :tenant, :priority, :at, :cost, :turn, :placed, :queue);

-- maintenance: what there is to do before a take
SELECT EXISTS (SELECT 1 FROM fairlead_pending_updates WHERE queue = :queue AND kind = 'raised'),
       EXISTS (SELECT 1 FROM fairlead_pending_updates WHERE queue = :queue AND kind <> 'raised'),
       EXISTS (SELECT 1 FROM fairlead_groups WHERE queue = :queue AND state = 3 AND not_before <= :now),
       EXISTS (SELECT 1 FROM fairlead_delayed WHERE queue = :queue AND due <= :now),
       EXISTS (SELECT 1 FROM fairlead_groups WHERE queue = :queue AND state = 2 AND deadline <= :now);

-- pending_updates: what is to be counted for tenants
SELECT id, kind, number, tenant, cost, turn, placed FROM fairlead_pending_updates
WHERE queue = :queue AND kind <> 'raised' ORDER BY id LIMIT :most;

-- raised_groups: the groups that were raised, but for those that are held; and whether they live. How
-- often each was raised is of no matter: the index leads from one group to the next.
WITH RECURSIVE raised (id) AS (
  SELECT min(group_id) FROM fairlead_pending_updates WHERE queue = :queue AND kind = 'raised'
  UNION ALL
  SELECT (SELECT min(n.group_id) FROM fairlead_pending_updates n
    WHERE n.queue = :queue AND n.kind = 'raised' AND n.group_id > raised.id)
  FROM raised WHERE raised.id IS NOT NULL)
SELECT raised.id, g.id IS NOT NULL FROM raised LEFT JOIN fairlead_groups g ON g.id = raised.id
WHERE raised.id IS NOT NULL AND (g.id IS NULL OR g.state <> 2) LIMIT :most;

-- raises_of: the raises of groups, by who has them locked
SELECT n.id, n.group_id, n.number, n.priority, n.at
FROM json_each(:ids) CROSS JOIN fairlead_pending_updates n ON n.group_id = json_each.value
WHERE n.kind = 'raised' ORDER BY n.id;

-- drop_raises_of: groups that have ended cannot be raised
DELETE FROM fairlead_pending_updates WHERE id IN (
  SELECT n.id FROM json_each(:ids) CROSS JOIN fairlead_pending_updates n ON n.group_id = json_each.value
  WHERE n.kind = 'raised');

-- drop_pending_updates: they are done
DELETE FROM fairlead_pending_updates WHERE id IN (SELECT value FROM json_each(:ids));

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

-- lapsed: groups whose lease is over, and whether that is a server's fault
SELECT id, token, 0 FROM fairlead_groups WHERE queue = :queue AND state = 2 AND deadline <= :now
ORDER BY deadline LIMIT :most;

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

-- key_of: which message comes first in a group, by its id; its body is not read
SELECT key FROM fairlead_messages WHERE group_id = :id ORDER BY id LIMIT 1;

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

-- bytes_of: how many bytes messages have
SELECT id, length(body) FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids));

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
  releases = :releases, failures = :failures, token = NULL, holder = NULL, deadline = NULL,
  client = NULL
WHERE id = :id;

-- end_groups: groups of which nothing is left
DELETE FROM fairlead_groups WHERE id IN (SELECT value FROM json_each(:ids));

-- end_lone: messages without a group are done, if the reader still holds them
DELETE FROM fairlead_groups WHERE id = :id AND token = :token AND state = 2;

-- drop_lone: the messages themselves
DELETE FROM fairlead_messages WHERE group_id = :id;

-- tenants: what some tenants were charged
SELECT name, tag, turn, in_service, backlogged FROM fairlead_tenants
WHERE queue = :queue AND name IN (SELECT value FROM json_each(:names));

-- next_tenant: who is next
SELECT name, tag, turn, in_service, backlogged FROM fairlead_tenants
WHERE queue = :queue AND backlogged = 1 AND name NOT IN (SELECT value FROM json_each(:besides))
ORDER BY tag, turn LIMIT 1;

-- set_tenant: what a tenant is charged
INSERT INTO fairlead_tenants (queue, name, tag, turn, in_service, backlogged)
VALUES (:queue, :name, :tag, :turn, :in_service, :backlogged)
ON CONFLICT (queue, name) DO UPDATE SET tag = excluded.tag, turn = excluded.turn,
  in_service = excluded.in_service, backlogged = excluded.backlogged;

-- drop_tenant: it has nothing that a new one would not have
DELETE FROM fairlead_tenants WHERE queue = :queue AND name = :name;

-- drop_tenants: nothing waits and nobody works, so nobody was charged anything
DELETE FROM fairlead_tenants WHERE queue = :queue;

-- set_line: how many tenants can be served, how many groups are held, and the virtual time
UPDATE fairlead_queues SET virtual_time = :virtual_time, backlogged = :backlogged, in_service = :in_service, fair = 2
WHERE id = :queue;

-- ready_of_tenant: whether a tenant has a group that can be taken
SELECT 1 FROM fairlead_groups WHERE queue = :queue AND tenant = :tenant AND state = 1 AND fair = 1
ORDER BY k1, k2 LIMIT 1;

-- mark_fair: all groups of a queue are ordered by tenant
UPDATE fairlead_groups SET fair = 1 WHERE queue = :queue AND fair = 0;

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

-- group: one group that lives
SELECT id, tenant FROM fairlead_groups WHERE queue = :queue AND name = :name;

-- lock_ready: those of some groups that can be given another place now
SELECT id FROM fairlead_groups WHERE id IN (SELECT value FROM json_each(:ids)) AND state <> 2;

-- entries_of: to what groups were raised
SELECT id, priority, entered, number FROM fairlead_groups
WHERE id IN (SELECT value FROM json_each(:ids));

-- drop_tenant_updates: the tenants are counted anew, whatever was to be counted
DELETE FROM fairlead_pending_updates WHERE queue = :queue AND kind <> 'raised';

-- switch: switch a queue on or off
UPDATE fairlead_queues SET enabled = :enabled WHERE id = :queue AND enabled <> :enabled
RETURNING id;

-- set_off_tenants: which tenants of a queue are switched off
UPDATE fairlead_queues SET off_tenants = :off_tenants WHERE id = :queue;

-- events_of_groups: what happened to some groups, and which tenants were switched off and on
SELECT id, time, kind, group_name, key, tenant, priority, token, actor, detail FROM fairlead_journal
WHERE id > :after AND queue = :queue AND (group_name IN (SELECT value FROM json_each(:groups))
  OR kind IN ('switched-off', 'switched-on') AND tenant <> '')
ORDER BY id LIMIT :most;

-- first_kept: the time of the first event that is kept
SELECT time FROM fairlead_journal ORDER BY id LIMIT 1;

-- complete: messages that were published are about to be done
INSERT INTO fairlead_completions (cluster, destination, part, version)
SELECT p.cluster, p.destination, p.part, p.version
FROM fairlead_messages m JOIN fairlead_published p ON p.queue = m.queue AND p.key = m.key
WHERE m.id IN (SELECT value FROM json_each(:ids)) ORDER BY m.id;

-- acknowledge: the publishers of those that are guaranteed can be told, if it is not too late; dead
-- letters are no success
INSERT INTO fairlead_acknowledgements (guaranteed, outcome, reason)
SELECT g.id, CASE WHEN d.id IS NULL THEN 'acknowledged' ELSE 'nack' END, d.reason
FROM fairlead_messages m JOIN fairlead_published p ON p.queue = m.queue AND p.key = m.key
  JOIN fairlead_guaranteed g ON g.id = p.guaranteed LEFT JOIN fairlead_dead d ON d.id = abs(m.id)
WHERE m.id IN (SELECT value FROM json_each(:ids)) AND coalesce(g.due, :now + 1) > :now ORDER BY m.id;

-- complete_delayed: the same of one that could not arrive
INSERT INTO fairlead_completions (cluster, destination, part, version)
SELECT cluster, destination, part, version FROM fairlead_published WHERE queue = :queue AND key = :key;

-- nack_delayed: its publisher can be told, if it is not too late
INSERT INTO fairlead_acknowledgements (guaranteed, outcome, reason)
SELECT g.id, 'nack', :reason FROM fairlead_published p JOIN fairlead_guaranteed g ON g.id = p.guaranteed
WHERE p.queue = :queue AND p.key = :key AND coalesce(g.due, :now + 1) > :now;

-- drop_published: their cluster waits for them no more
DELETE FROM fairlead_published WHERE queue IN (
    SELECT queue FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids)))
  AND key IN (SELECT key FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids)))
  AND (queue, key) IN (
    SELECT queue, key FROM fairlead_messages WHERE id IN (SELECT value FROM json_each(:ids)));

-- unpublish: its cluster waits for a message no more: it goes to another destination, or to none
DELETE FROM fairlead_published WHERE queue = :queue AND key = :key;

-- sender_of: who sent a message
SELECT actor FROM fairlead_journal WHERE id = :id AND kind = 'sent';

-- as_sent: messages as they were sent
SELECT id, expires, cost, type, format, body FROM fairlead_messages
WHERE id IN (SELECT value FROM json_each(:ids));

-- group_place: where a group stands
SELECT id, state, head, arrived, tenant, k1, k2 FROM fairlead_groups
WHERE queue = :queue AND name = :name;

-- drop_dead: they are dead letters no more
DELETE FROM fairlead_dead WHERE queue = :queue AND id IN (SELECT value FROM json_each(:ids))
RETURNING id;

-- purge_delayed: the next messages that were to arrive later are gone, but for those of conversations
DELETE FROM fairlead_delayed WHERE id IN (
  SELECT id FROM fairlead_delayed WHERE queue = :queue AND conversation IS NULL AND id < :until
    AND (:name IS NULL OR group_name = :name) AND (:tenant IS NULL OR tenant = :tenant) LIMIT :most)
RETURNING key, group_name, tenant, cost, type;

-- hold_unheld: the next groups that nobody holds are held, in this transaction only
UPDATE fairlead_groups SET state = 2, was_priority = priority, was_entered = entered,
  was_number = number, priority = -1, entered = 0, number = 0, token = 0, taken = :now, deadline = :now
WHERE id IN (
  SELECT id FROM fairlead_groups WHERE queue = :queue AND id > :after AND id <= :last AND state <> 2
    AND (:tenant IS NULL OR tenant = :tenant)
  ORDER BY id LIMIT :most)
RETURNING id, name, tenant, was_priority, was_entered, was_number, releases, failures, not_before;

-- unsaid_of: the first messages of groups, but for those of conversations
SELECT group_id, id, key, cost, type FROM fairlead_messages
WHERE group_id IN (SELECT value FROM json_each(:ids)) AND conversation IS NULL AND id < :until
ORDER BY group_id, id LIMIT :most;

-- notify: those who wait look at the file
