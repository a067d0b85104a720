-- On SQLite: what an operator asks and sets, statement by statement. Those of the other database have
-- the same names and columns. A parameter that is a list arrives as JSON.
--
-- What `fairlead store check` looks for stands at the end: find_… gives the place, how many there
-- are, and one of them; mend_… puts it right. They may read all there is.

-- set_queue: change how a queue is set
UPDATE fairlead_queues SET discipline = :discipline, default_priority = :default_priority,
  step = :step, weights = :weights, max_waiting = :max_waiting, max_failures = :max_failures,
  max_seconds = :max_seconds, poison = :poison, by_library = max(by_library, :by_library),
  retry = :retry, count_as_failure = :count_as_failure, keep_dead = :keep_dead,
  limits = :limits,
  remembered = :remembered, fair = :fair
WHERE id = :queue;

-- rows_waiting: what waits, in one queue or in all, as the view has it; times are numbers of seconds
SELECT queue, place, in_group, id, tenant, priority, raised_to, messages, since, why, until, failures
FROM fairlead_waiting WHERE :queue IS NULL OR queue = :queue;

-- rows_dead_letters: dead letters, of one queue or of all, as the view has them
SELECT queue, number, id, in_group, tenant, priority, reason, attempt, died, cost, type, body_text, body
FROM fairlead_dead_letters WHERE :queue IS NULL OR queue = :queue;

-- prune_journal: forget the first events, if they are before a time, but for the latest event
DELETE FROM fairlead_journal WHERE id IN (
  SELECT id FROM (SELECT id, time FROM fairlead_journal ORDER BY id LIMIT :most)
  WHERE time < :before AND id < (SELECT max(id) FROM fairlead_journal))
RETURNING id;

-- prune_choice_runs: forget the first runs of each cluster that were over before a time
DELETE FROM fairlead_choice_runs WHERE (cluster, first, version) IN (
    SELECT s.cluster, s.first, s.version
    FROM fairlead_clusters c JOIN fairlead_choice_runs s ON s.cluster = c.id AND s.first <= coalesce(
      (SELECT w.first FROM fairlead_choice_runs w WHERE w.cluster = c.id
       ORDER BY w.first, w.version LIMIT 1 OFFSET :most), 9223372036854775807)
    WHERE s.at < :before AND :before > (
      SELECT l.at FROM fairlead_choice_runs l
      WHERE l.cluster = s.cluster AND (l.first, l.version) > (s.first, s.version)
      ORDER BY l.first, l.version LIMIT 1)
    LIMIT :most)
RETURNING first;

-- count_length: how many messages a queue holds, which was not limited, or is not any more
UPDATE fairlead_queues SET length = (SELECT count(*) FROM fairlead_messages WHERE queue = :queue)
  + (SELECT count(*) FROM fairlead_delayed WHERE queue = :queue)
WHERE id = :queue;

-- all_tenants: what all were charged
SELECT name, tag, turn, in_service, backlogged FROM fairlead_tenants WHERE queue = :queue;

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
SELECT * FROM (SELECT g.not_before, 'released', coalesce(g.name, ''),
  CASE WHEN g.name IS NULL
    THEN (SELECT m.key FROM fairlead_messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
  (SELECT count(*) FROM fairlead_messages m WHERE m.group_id = g.id), g.tenant, g.priority
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 3
  AND EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
ORDER BY g.not_before LIMIT :most)
UNION ALL
SELECT * FROM (SELECT due, 'delayed', coalesce(group_name, ''), key, 1, tenant, coalesce(priority, -1)
FROM fairlead_delayed WHERE queue = :queue AND NOT (conversation IS NOT NULL AND type = 'Error')
ORDER BY due, id LIMIT :most)
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

-- held_groups: what readers hold, of a queue or of all, the longest first
SELECT q.name, coalesce(g.name, ''), g.tenant, nullif(g.was_priority, -1), g.releases + 1,
  (SELECT count(*) FROM fairlead_messages m WHERE m.group_id = g.id),
  g.token, coalesce(h.name, ''), coalesce(g.client, ''), coalesce(j.actor, ''), g.taken, g.deadline,
  h.id, h.host, h.pid
FROM (SELECT * FROM fairlead_groups WHERE state = 2 AND (:queue IS NULL OR queue = :queue)
      ORDER BY taken, token LIMIT :most) g
  JOIN fairlead_queues q ON q.id = g.queue LEFT JOIN fairlead_lease_holders h ON h.id = g.holder
  LEFT JOIN fairlead_journal j ON j.id = g.token  -- the event of its take
ORDER BY g.taken, g.token;

-- held_with: the groups that a reader holds with a token
SELECT g.id, q.name FROM fairlead_groups g JOIN fairlead_queues q ON q.id = g.queue
WHERE g.state = 2 AND g.token = :token ORDER BY g.id;

-- count_between: how many ready groups stand from one place to another
SELECT count(*) FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1
  AND (g.k1, g.k2) > (:a1, :a2) AND (g.k1, g.k2) < (:b1, :b2);

-- count_of_tenant_between: the same, of a tenant
SELECT count(*) FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1 AND g.tenant = :tenant AND g.fair = 1
  AND (g.k1, g.k2) > (:a1, :a2) AND (g.k1, g.k2) < (:b1, :b2);

-- groups_between: the first of these groups
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1
  AND (:tenant IS NULL OR g.tenant = :tenant)
  AND (g.k1, g.k2) > (:a1, :a2) AND (g.k1, g.k2) < (:b1, :b2)
ORDER BY g.k1, g.k2 LIMIT :most;

-- groups_after_place: the groups that would be taken next, behind a place
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived, g.k1, g.k2
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1 AND (g.k1, g.k2) > (:a1, :a2)
  AND EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT :most;

-- tenant_groups_after: the same, of a tenant
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived, g.k1, g.k2
FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1 AND g.tenant = :tenant AND g.fair = 1
  AND (g.k1, g.k2) > (:a1, :a2)
  AND EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT :most;

-- group_now: a group as it is now
SELECT g.name, g.tenant, g.state,
  coalesce((SELECT n.priority FROM fairlead_pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead_pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  (SELECT count(*) FROM fairlead_messages m WHERE m.group_id = g.id), g.head, g.arrived, g.failures,
  CASE g.state WHEN 2 THEN g.deadline WHEN 3 THEN g.not_before END, g.token
FROM fairlead_groups g WHERE g.queue = :queue AND g.name = :name;

-- named_groups: groups whose names begin so, behind one of them, by their names
SELECT g.name, g.tenant, g.state,
  coalesce((SELECT n.priority FROM fairlead_pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead_pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  (SELECT count(*) FROM fairlead_messages m WHERE m.group_id = g.id), g.head, g.arrived, g.failures,
  CASE g.state WHEN 2 THEN g.deadline WHEN 3 THEN g.not_before END, g.token
FROM fairlead_groups g WHERE g.queue = :queue AND g.name >= :beginning AND g.name < :end AND g.name > :behind
ORDER BY g.name LIMIT :most;

-- processes: who takes work, and how much he holds
SELECT h.id, h.host, h.pid, h.name, h.since, h.stopping, coalesce(g.held, 0), g.taken
FROM fairlead_lease_holders h LEFT JOIN (SELECT holder, count(*) AS held, min(taken) AS taken
    FROM fairlead_groups WHERE state = 2 GROUP BY holder) g ON g.holder = h.id
ORDER BY coalesce(g.held, 0) DESC, h.id;

-- by_tenant: what a queue holds of each tenant
SELECT x.tenant, sum(x.messages), sum(x.ready), sum(x.working), sum(x.parked),
       sum(x.delayed), sum(x.dead), min(x.oldest)
FROM (SELECT g.tenant, count(*) AS messages, 0 AS ready, 0 AS working, 0 AS parked, 0 AS delayed, 0 AS dead,
             NULL AS oldest
      FROM fairlead_messages m JOIN fairlead_groups g ON g.id = m.group_id WHERE m.queue = :queue GROUP BY g.tenant
      UNION ALL
      SELECT tenant, 0, count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2),
             count(*) FILTER (WHERE state = 3), 0, 0, min(arrived) FILTER (WHERE state = 1 AND head > 0)
      FROM fairlead_groups WHERE queue = :queue GROUP BY tenant
      UNION ALL
      SELECT tenant, 0, 0, 0, 0, count(*), 0, NULL FROM fairlead_delayed WHERE queue = :queue
        AND NOT (conversation IS NOT NULL AND type = 'Error') GROUP BY tenant  -- the end of a lifetime
      UNION ALL
      SELECT tenant, 0, 0, 0, 0, 0, count(*), NULL FROM fairlead_dead WHERE queue = :queue GROUP BY tenant) x
GROUP BY x.tenant ORDER BY 2 DESC, x.tenant;

-- metrics: what a queue holds
SELECT (SELECT count(*) FROM fairlead_messages WHERE queue = :queue),
       (SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 1),
       (SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 2),
       (SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 3),
       (SELECT count(*) FROM fairlead_delayed WHERE queue = :queue
         AND NOT (conversation IS NOT NULL AND type = 'Error')),  -- the end of a lifetime
       (SELECT count(*) FROM fairlead_dead WHERE queue = :queue),
       (SELECT min(arrived) FROM fairlead_groups WHERE queue = :queue AND state = 1 AND head > 0),
       (SELECT min(taken) FROM fairlead_groups WHERE queue = :queue AND state = 2),
       (SELECT coalesce(sum(failures), 0) FROM fairlead_groups WHERE queue = :queue);

-- dead: dead letters
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead_dead WHERE queue = :queue AND id > :after ORDER BY id LIMIT :most;

-- dead_of_reason: those whose reason begins so
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead_dead WHERE queue = :queue AND id > :after
  AND substr(reason, 1, length(:reason)) = :reason
ORDER BY id LIMIT :most;

-- dead_heads: dead letters without their bodies, of any reason or of those that begin so
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, format, length(body)
FROM fairlead_dead WHERE queue = :queue AND id > :after
  AND (:reason IS NULL OR substr(reason, 1, length(:reason)) = :reason)
ORDER BY id LIMIT :most;

-- dead_format: what a dead letter's body is, and how long is what is kept
SELECT format, length(body) FROM fairlead_dead WHERE queue = :queue AND id = :number;

-- dead_body: a part of it
SELECT substr(body, :start, :most) FROM fairlead_dead WHERE queue = :queue AND id = :number;

-- dead_counts: how many dead letters have each reason, the most frequent first; of all reasons how many, and how many letters
SELECT reason, count(*), count(*) OVER (), sum(count(*)) OVER ()
FROM fairlead_dead WHERE queue = :queue AND (:reason IS NULL OR substr(reason, 1, length(:reason)) = :reason)
GROUP BY reason ORDER BY 2 DESC, 1 LIMIT :most;

-- dead_by_key: dead letters of a message
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead_dead WHERE queue = :queue AND key = :key ORDER BY id;

-- what_goes: how many messages a purge would delete
SELECT (SELECT count(*) FROM fairlead_groups g JOIN fairlead_messages m ON m.group_id = g.id
        WHERE g.queue = :queue AND g.state <> 2 AND m.conversation IS NULL
          AND (:name IS NULL OR g.name = :name) AND (:tenant IS NULL OR g.tenant = :tenant))
     + (SELECT count(*) FROM fairlead_delayed WHERE queue = :queue AND conversation IS NULL
          AND (:name IS NULL OR group_name = :name) AND (:tenant IS NULL OR tenant = :tenant));

-- what_stays: how many messages readers hold, and how many others are of conversations
SELECT coalesce(sum(g.state = 2), 0), coalesce(sum(g.state <> 2 AND m.conversation IS NOT NULL), 0)
FROM fairlead_groups g JOIN fairlead_messages m ON m.group_id = g.id
WHERE g.queue = :queue AND (:name IS NULL OR g.name = :name) AND (:tenant IS NULL OR g.tenant = :tenant)
  AND (g.state = 2 OR m.conversation IS NOT NULL);

-- what_is_in: how many messages wait, are delayed, and are dead letters
SELECT (SELECT count(*) FROM fairlead_messages WHERE queue = :queue),
       (SELECT count(*) FROM fairlead_delayed WHERE queue = :queue),
       (SELECT count(*) FROM fairlead_dead WHERE queue = :queue);

-- schedules_to: the schedules that send to a queue
SELECT name FROM fairlead_schedules WHERE queue = :queue ORDER BY name;

-- who_needs: how many ends of dialogs a queue has, groups in the hands of readers, and readers that wait;
-- of those the file does not tell
SELECT (SELECT count(*) FROM fairlead_endpoints WHERE queue = :name AND state <> 3),
       (SELECT count(*) FROM fairlead_groups WHERE queue = :queue AND state = 2), 0;

-- drop_queue: it is gone, with what was remembered of it; a trigger sees to that
DELETE FROM fairlead_queues WHERE id = :queue;

-- groups_after: groups to be given their places anew, from an id on; not those that are held
SELECT id, priority, entered, number, head, arrived FROM fairlead_groups
WHERE queue = :queue AND id > :after AND state <> 2
ORDER BY id LIMIT :most;

-- clear_line: no tenant was charged anything
UPDATE fairlead_queues SET virtual_time = '', backlogged = 0, in_service = 0 WHERE id = :queue;

-- forgive: no group of a queue has failed
UPDATE fairlead_groups SET failures = 0 WHERE queue = :queue AND failures > 0 AND state <> 2;

-- has_declared: whoever has read what is declared reads it again
UPDATE fairlead_schema SET declared = declared + 1 RETURNING declared;

-- dialogs: the ends of dialogs that are open, the latest first, without their ids
SELECT id, '', dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog IN (
  SELECT e.dialog FROM fairlead_endpoints e
  WHERE e.side = 0 AND e.dialog < :before AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead_endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT :most)
ORDER BY dialog DESC, side;

-- dialogs_of: the same, of those in which a service speaks
SELECT id, '', dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog IN (
  SELECT DISTINCT e.dialog FROM fairlead_endpoints e
  WHERE e.service = :service AND e.dialog < :before AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead_endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT :most)
ORDER BY dialog DESC, side;

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
  coalesce((SELECT n.priority FROM fairlead_pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead_pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  h.name, g.taken
FROM fairlead_endpoints e JOIN fairlead_queues q ON q.name = e.queue
  JOIN fairlead_groups g ON g.queue = q.id AND g.name = e.group_name
  LEFT JOIN fairlead_lease_holders h ON g.state = 2 AND h.id = g.holder
WHERE e.id IN (SELECT value FROM json_each(:ids));

-- open_of_services: how many ends that have not ended each service has
SELECT service, count(*) FROM fairlead_endpoints WHERE state <> 3 GROUP BY service;

-- event: who did something, and when
SELECT time, actor FROM fairlead_journal WHERE id = :number;

-- switched_off: when a queue, or a tenant of it, was switched off for the last time, by whom and why
SELECT time, actor, detail FROM fairlead_journal WHERE kind = 'switched-off' AND queue = :queue
  AND tenant = :tenant ORDER BY id DESC LIMIT 1;

-- serve: a queue is a service's
UPDATE fairlead_queues SET by_library = 1 WHERE id = :queue AND by_library = 0;

-- find_lost_messages: messages whose group is gone: no reader would ever get them
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead_messages m JOIN fairlead_queues q ON q.id = m.queue
WHERE NOT EXISTS (SELECT 1 FROM fairlead_groups g WHERE g.id = m.group_id) GROUP BY q.name ORDER BY q.name;

-- lost_messages: the same, with what the journal says of the group
SELECT q.name, m.id, m.key, j.group_name, j.tenant, m.expires, m.cost, m.type, m.conversation, m.format,
       m.body
FROM fairlead_messages m JOIN fairlead_queues q ON q.id = m.queue
  LEFT JOIN fairlead_journal j ON j.id = abs(m.id) AND j.kind IN ('sent', 'arrived')
WHERE NOT EXISTS (SELECT 1 FROM fairlead_groups g WHERE g.id = m.group_id)
ORDER BY q.name, abs(m.id) LIMIT :most;

-- find_empty_groups: groups that say that a message waits, and have none
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead_groups g JOIN fairlead_queues q ON q.id = g.queue
WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
  AND NOT EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
  AND NOT EXISTS (SELECT 1 FROM fairlead_pending_updates n WHERE n.group_id = g.id)
GROUP BY q.name ORDER BY q.name;

-- mend_empty_groups: they end
DELETE FROM fairlead_groups WHERE id IN (SELECT g.id FROM fairlead_groups g
  WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
    AND NOT EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
    AND NOT EXISTS (SELECT 1 FROM fairlead_pending_updates n WHERE n.group_id = g.id));

-- find_unbounded_work: work that nobody would ever take back
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead_groups g JOIN fairlead_queues q ON q.id = g.queue
WHERE g.state = 2 AND (g.deadline IS NULL
    OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead_lease_holders h WHERE h.id = g.holder))
GROUP BY q.name ORDER BY q.name;

-- mend_unbounded_work: its lease is over
UPDATE fairlead_groups AS g SET deadline = :now, token = coalesce(g.token, (SELECT max(id) FROM fairlead_journal))
WHERE g.state = 2 AND (g.deadline IS NULL
    OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead_lease_holders h WHERE h.id = g.holder));

-- find_future_events: events that are later than now: a clock was wrong when they were written
SELECT 'journal', count(*), min(id) FROM fairlead_journal WHERE time > :limit;

-- mend_future_events: they are as late as they can be
UPDATE fairlead_journal SET time = :now WHERE time > :limit;

-- find_future_groups: groups that came, were raised or were taken later than now
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead_groups g JOIN fairlead_queues q ON q.id = g.queue
WHERE max(g.arrived, g.entered, g.was_entered, coalesce(g.taken, 0)) > :limit GROUP BY q.name ORDER BY q.name;

-- mend_future_groups: the same
UPDATE fairlead_groups SET arrived = min(arrived, :now), entered = min(entered, :now),
  was_entered = min(was_entered, :now), taken = min(taken, :now),
  deadline = deadline - max(taken - :now, 0)
WHERE max(arrived, entered, was_entered, coalesce(taken, 0)) > :limit;

-- find_future_messages: messages that came later than now
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead_messages m JOIN fairlead_queues q ON q.id = m.queue
WHERE m.arrived > :limit GROUP BY q.name ORDER BY q.name;

-- mend_future_messages: the same
UPDATE fairlead_messages SET arrived = :now WHERE arrived > :limit;

-- find_future_raises: raises that are later than now
SELECT 'queue ' || q.name, count(*), '' FROM fairlead_pending_updates n JOIN fairlead_queues q ON q.id = n.queue
WHERE n.at > :limit GROUP BY q.name ORDER BY q.name;

-- mend_future_raises: the same
UPDATE fairlead_pending_updates SET at = :now WHERE at > :limit;

-- find_future_ids: ids of messages that were used later than now, and so are known for too long
SELECT 'ids', count(*), min(key) FROM fairlead_message_ids WHERE at > :limit;

-- mend_future_ids: the same
UPDATE fairlead_message_ids SET at = :now WHERE at > :limit;

-- find_future_resets: clusters whose next reset is further away than resets are from each other
SELECT 'cluster ' || name, 1, '' FROM fairlead_clusters
WHERE reset_every > 0 AND reset_due - reset_every > :limit ORDER BY name;

-- mend_future_resets: it is as far away as resets are from each other
UPDATE fairlead_clusters SET reset_due = :now + reset_every, due = min(due, :now + reset_every)
WHERE reset_every > 0 AND reset_due - reset_every > :limit;

-- find_future_versions: clusters that changed later than now, so that what they were is never forgotten
SELECT 'cluster ' || c.name, count(*), min(s.version) FROM fairlead_choice_runs s JOIN fairlead_clusters c ON c.id = s.cluster
WHERE s.at > :limit GROUP BY c.name ORDER BY c.name;

-- mend_future_versions: the same
UPDATE fairlead_choice_runs SET at = :now WHERE at > :limit;

-- find_lost_published: what a cluster waits for, and is not there any more
SELECT 'cluster ' || c.name, count(*), min(p.key) FROM fairlead_published p JOIN fairlead_clusters c ON c.id = p.cluster
WHERE (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_messages)
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_delayed)
GROUP BY c.name ORDER BY c.name;

-- complete_lost_published: it is done
INSERT INTO fairlead_completions (cluster, destination, part, version)
SELECT p.cluster, p.destination, p.part, p.version FROM fairlead_published p
WHERE (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_messages)
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_delayed);

-- acknowledge_lost_published: its publisher is told, where it was guaranteed
INSERT INTO fairlead_acknowledgements (guaranteed, outcome, reason)
SELECT g.id, 'nack', 'its copy is not there any more'
FROM fairlead_published p JOIN fairlead_guaranteed g ON g.id = p.guaranteed
WHERE coalesce(g.due, :now + 1) > :now
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_messages)
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_delayed);

-- mend_lost_published: nobody waits for it
DELETE FROM fairlead_published AS p
WHERE (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_messages)
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_delayed);

-- lock_queues: whoever writes is alone

-- lock_seen: whoever writes is alone

-- find_gone_listeners: nobody is notified

-- mend_gone_listeners: nobody is notified

-- find_left_runs: a run leaves nothing behind: it is one transaction

-- mend_left_runs: the same
