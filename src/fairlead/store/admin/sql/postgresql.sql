-- On PostgreSQL: what an operator asks and sets, statement by statement. Those of the other database have
-- the same names and columns. All run in READ COMMITTED.
--
-- What `fairlead store check` looks for stands at the end: find_… gives the place, how many there
-- are, and one of them; mend_… puts it right. They may read all there is.

-- set_queue: change how a queue is set
SELECT fairlead._run_set_queue(
  %(discipline)s, %(default_priority)s, %(step)s, %(weights)s, %(max_waiting)s, %(max_failures)s,
  %(max_seconds)s, %(poison)s, %(by_library)s, %(retry)s, %(count_as_failure)s, %(keep_dead)s, %(limits)s, %(remembered)s,
  %(fair)s, %(queue)s);

-- prune_journal: forget the first events, if they are before a time, but for the latest event
SELECT * FROM fairlead._run_prune_journal(%(most)s, %(before)s);

-- rows_waiting: what waits, in one queue or in all, as the view has it; times are numbers of seconds
SELECT queue, place, in_group, id, tenant, priority, raised_to, messages,
  extract(epoch FROM since)::float8, why, extract(epoch FROM until)::float8, failures
FROM fairlead.waiting WHERE %(queue)s::text IS NULL OR queue = %(queue)s::text;

-- rows_dead_letters: dead letters, of one queue or of all, as the view has them
SELECT queue, number, id, in_group, tenant, priority, reason, attempt,
  extract(epoch FROM died)::float8, cost, type, body_text, body
FROM fairlead.dead_letters WHERE %(queue)s::text IS NULL OR queue = %(queue)s::text;

-- lock_queues: nobody adds messages or takes them away: who does looks at queues, if only to count
SELECT fairlead._run_lock_queues();

-- count_length: how many messages a queue holds, which was not limited, or is not any more
SELECT fairlead._run_count_length(%(queue)s);

-- all_tenants: what all were charged
SELECT name, tag, turn, in_service, backlogged FROM fairlead.tenants WHERE queue = %(queue)s;

-- first_groups: the groups that would be taken next
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1
  AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT %(most)s;

-- first_of_tenant: the groups of a tenant that would be taken next
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1 AND g.tenant = %(tenant)s AND g.fair = 1
  AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT %(most)s;

-- later: what waits for its time: groups that were released with a delay, and messages sent with one
(SELECT g.not_before, 'released', coalesce(g.name, ''),
  CASE WHEN g.name IS NULL
    THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
  (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = g.id), g.tenant, g.priority
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 3
  AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
ORDER BY g.not_before LIMIT %(most)s)
UNION ALL
(SELECT due, 'delayed', coalesce(group_name, ''), key, 1, tenant, coalesce(priority, -1)
FROM fairlead.delayed WHERE queue = %(queue)s AND NOT (conversation IS NOT NULL AND type = 'Error')
ORDER BY due, id LIMIT %(most)s)
ORDER BY 1, 2, 3, 4 LIMIT %(most)s;

-- sizes_of: how many messages groups have
SELECT group_id, count(*), sum(cost)::bigint FROM fairlead.messages
WHERE group_id = ANY (%(ids)s::bigint[]) GROUP BY group_id;

-- ready_count: how many groups can be taken
SELECT count(*) FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1
  AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id);

-- held_count: how many groups are held
SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2;

-- held: the work in the hands of readers
SELECT id, name, tenant, was_priority, releases, token, holder, taken, deadline
FROM fairlead.groups WHERE queue = %(queue)s AND state = 2 ORDER BY token, k1, k2;

-- held_groups: what readers hold, of a queue or of all, the longest first
SELECT q.name, coalesce(g.name, ''), g.tenant, nullif(g.was_priority, -1), g.releases + 1,
  (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = g.id),
  g.token, coalesce(h.name, ''), coalesce(g.client, ''), coalesce(j.actor, ''), g.taken, g.deadline,
  h.id, h.host, h.pid
FROM (SELECT * FROM fairlead.groups WHERE state = 2 AND (%(queue)s::bigint IS NULL OR queue = %(queue)s)
      ORDER BY taken, token LIMIT %(most)s) g
  JOIN fairlead.queues q ON q.id = g.queue LEFT JOIN fairlead.lease_holders h ON h.id = g.holder
  LEFT JOIN fairlead.journal j ON j.id = g.token  -- the event of its take
ORDER BY g.taken, g.token;

-- held_with: the groups that a reader holds with a token
SELECT g.id, q.name FROM fairlead.groups g JOIN fairlead.queues q ON q.id = g.queue
WHERE g.state = 2 AND g.token = %(token)s ORDER BY g.id;

-- count_between: how many ready groups stand from one place to another; the index alone tells it
SELECT count(*) FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1
  AND (g.k1, g.k2) > (%(a1)s, %(a2)s) AND (g.k1, g.k2) < (%(b1)s, %(b2)s);

-- count_of_tenant_between: the same, of a tenant
SELECT count(*) FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1 AND g.tenant = %(tenant)s AND g.fair = 1
  AND (g.k1, g.k2) > (%(a1)s, %(a2)s) AND (g.k1, g.k2) < (%(b1)s, %(b2)s);

-- groups_between: the first of these groups
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1
  AND (%(tenant)s::text IS NULL OR g.tenant = %(tenant)s::text)
  AND (g.k1, g.k2) > (%(a1)s, %(a2)s) AND (g.k1, g.k2) < (%(b1)s, %(b2)s)
ORDER BY g.k1, g.k2 LIMIT %(most)s;

-- groups_after_place: the groups that would be taken next, behind a place
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived, g.k1, g.k2
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1 AND (g.k1, g.k2) > (%(a1)s, %(a2)s)
  AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT %(most)s;

-- tenant_groups_after: the same, of a tenant
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived, g.k1, g.k2
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1 AND g.tenant = %(tenant)s AND g.fair = 1
  AND (g.k1, g.k2) > (%(a1)s, %(a2)s)
  AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
ORDER BY g.k1, g.k2 LIMIT %(most)s;

-- group_now: a group as it is now
SELECT g.name, g.tenant, g.state,
  coalesce((SELECT n.priority FROM fairlead.pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead.pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = g.id), g.head, g.arrived, g.failures,
  CASE g.state WHEN 2 THEN g.deadline WHEN 3 THEN g.not_before END, g.token
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.name = %(name)s;

-- lock_seen: nobody else raises the group as he has seen it until the transaction ends; others may
SELECT pg_advisory_xact_lock(1181641071, hashtext(%(queue)s::bigint || ':' || %(name)s::text));

-- named_groups: groups whose names begin so, behind one of them, by their names
SELECT g.name, g.tenant, g.state,
  coalesce((SELECT n.priority FROM fairlead.pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead.pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = g.id), g.head, g.arrived, g.failures,
  CASE g.state WHEN 2 THEN g.deadline WHEN 3 THEN g.not_before END, g.token
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.name >= %(beginning)s AND g.name < %(end)s AND g.name > %(behind)s
ORDER BY g.name LIMIT %(most)s;

-- processes: who takes work, and how much he holds
SELECT h.id, h.host, h.pid, h.name, h.since, h.stopping, coalesce(g.held, 0), g.taken
FROM fairlead.lease_holders h LEFT JOIN (SELECT holder, count(*) AS held, min(taken) AS taken
    FROM fairlead.groups WHERE state = 2 GROUP BY holder) g ON g.holder = h.id
ORDER BY coalesce(g.held, 0) DESC, h.id;

-- by_tenant: what a queue holds of each tenant
SELECT x.tenant, sum(x.messages)::bigint, sum(x.ready)::bigint, sum(x.working)::bigint, sum(x.parked)::bigint,
       sum(x.delayed)::bigint, sum(x.dead)::bigint, min(x.oldest)
FROM (SELECT g.tenant, count(*) AS messages, 0 AS ready, 0 AS working, 0 AS parked, 0 AS delayed, 0 AS dead,
             NULL::bigint AS oldest
      FROM fairlead.messages m JOIN fairlead.groups g ON g.id = m.group_id WHERE m.queue = %(queue)s GROUP BY g.tenant
      UNION ALL
      SELECT tenant, 0, count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2),
             count(*) FILTER (WHERE state = 3), 0, 0, min(arrived) FILTER (WHERE state = 1 AND head > 0)
      FROM fairlead.groups WHERE queue = %(queue)s GROUP BY tenant
      UNION ALL
      SELECT tenant, 0, 0, 0, 0, count(*), 0, NULL FROM fairlead.delayed WHERE queue = %(queue)s
        AND NOT (conversation IS NOT NULL AND type = 'Error') GROUP BY tenant  -- the end of a lifetime
      UNION ALL
      SELECT tenant, 0, 0, 0, 0, 0, count(*), NULL FROM fairlead.dead WHERE queue = %(queue)s GROUP BY tenant) x
GROUP BY x.tenant ORDER BY 2 DESC, x.tenant;

-- metrics: what a queue holds
SELECT (SELECT count(*) FROM fairlead.messages WHERE queue = %(queue)s),
       (SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 1),
       (SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2),
       (SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 3),
       (SELECT count(*) FROM fairlead.delayed WHERE queue = %(queue)s
         AND NOT (conversation IS NOT NULL AND type = 'Error')),  -- the end of a lifetime
       (SELECT count(*) FROM fairlead.dead WHERE queue = %(queue)s),
       (SELECT min(arrived) FROM fairlead.groups WHERE queue = %(queue)s AND state = 1 AND head > 0),
       (SELECT min(taken) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2),
       (SELECT coalesce(sum(failures), 0)::bigint FROM fairlead.groups WHERE queue = %(queue)s);

-- dead: dead letters
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead.dead WHERE queue = %(queue)s AND id > %(after)s ORDER BY id LIMIT %(most)s;

-- dead_of_reason: those whose reason begins so
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead.dead WHERE queue = %(queue)s AND id > %(after)s
  AND starts_with(reason, %(reason)s)
ORDER BY id LIMIT %(most)s;

-- dead_heads: dead letters without their bodies, of any reason or of those that begin so
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, format, length(body)
FROM fairlead.dead WHERE queue = %(queue)s AND id > %(after)s
  AND (%(reason)s::text IS NULL OR starts_with(reason, %(reason)s::text))
ORDER BY id LIMIT %(most)s;

-- dead_format: what a dead letter's body is, and how long is what is kept
SELECT format, length(body) FROM fairlead.dead WHERE queue = %(queue)s AND id = %(number)s;

-- dead_body: a part of it
SELECT substr(body, %(start)s::int, %(most)s::int) FROM fairlead.dead WHERE queue = %(queue)s AND id = %(number)s;

-- dead_counts: how many dead letters have each reason, the most frequent first; of all reasons how many, and how many letters
SELECT reason, count(*), count(*) OVER (), (sum(count(*)) OVER ())::bigint
FROM fairlead.dead WHERE queue = %(queue)s AND (%(reason)s::text IS NULL OR starts_with(reason, %(reason)s::text))
GROUP BY reason ORDER BY 2 DESC, 1 LIMIT %(most)s;

-- dead_by_key: dead letters of a message
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead.dead WHERE queue = %(queue)s AND key = %(key)s ORDER BY id;

-- what_goes: how many messages a purge would delete
SELECT (SELECT count(*) FROM fairlead.groups g JOIN fairlead.messages m ON m.group_id = g.id
        WHERE g.queue = %(queue)s AND g.state <> 2 AND m.conversation IS NULL
          AND (%(name)s::text IS NULL OR g.name = %(name)s::text) AND (%(tenant)s::text IS NULL OR g.tenant = %(tenant)s::text))
     + (SELECT count(*) FROM fairlead.delayed WHERE queue = %(queue)s AND conversation IS NULL
          AND (%(name)s::text IS NULL OR group_name = %(name)s::text) AND (%(tenant)s::text IS NULL OR tenant = %(tenant)s::text));

-- what_stays: how many messages readers hold, and how many others are of conversations
SELECT count(*) FILTER (WHERE g.state = 2), count(*) FILTER (WHERE g.state <> 2 AND m.conversation IS NOT NULL)
FROM fairlead.groups g JOIN fairlead.messages m ON m.group_id = g.id
WHERE g.queue = %(queue)s AND (%(name)s::text IS NULL OR g.name = %(name)s::text)
  AND (%(tenant)s::text IS NULL OR g.tenant = %(tenant)s::text)
  AND (g.state = 2 OR m.conversation IS NOT NULL);

-- what_is_in: how many messages wait, are delayed, and are dead letters
SELECT (SELECT count(*) FROM fairlead.messages WHERE queue = %(queue)s),
       (SELECT count(*) FROM fairlead.delayed WHERE queue = %(queue)s),
       (SELECT count(*) FROM fairlead.dead WHERE queue = %(queue)s);

-- schedules_to: the schedules that send to a queue
SELECT name FROM fairlead.schedules WHERE queue = %(queue)s ORDER BY name;

-- who_needs: how many ends of dialogs a queue has, groups in the hands of readers, and readers that wait
SELECT (SELECT count(*) FROM fairlead.endpoints WHERE queue = %(name)s AND state <> 3),
       (SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2),
       (SELECT count(*) FROM fairlead.listeners s JOIN fairlead.lease_holders h ON h.id = s.holder
        WHERE s.queue = %(queue)s AND h.pid <> 0);

-- drop_queue: it is gone, with what was remembered of it
SELECT fairlead._run_drop_queue(%(queue)s);

-- groups_after: groups to be given their places anew, from an id on; not those that are held
SELECT * FROM fairlead._run_groups_after(%(queue)s, %(after)s, %(most)s);

-- clear_line: no tenant was charged anything
SELECT fairlead._run_clear_line(%(queue)s);

-- prune_choice_runs: forget the first runs of each cluster that were over before a time
SELECT * FROM fairlead._run_prune_choice_runs(%(before)s, %(most)s);

-- forgive: no group of a queue has failed
SELECT fairlead._run_forgive(%(queue)s);

-- has_declared: whoever has read what is declared reads it again
SELECT * FROM fairlead._run_has_declared();

-- dialogs: the ends of dialogs that are open, the latest first, without their ids
SELECT id, '', dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = ANY (ARRAY (
  SELECT e.dialog FROM fairlead.endpoints e
  WHERE e.side = 0 AND e.dialog < %(before)s AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead.endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT %(most)s))
ORDER BY dialog DESC, side;

-- dialogs_of: the same, of those in which a service speaks
SELECT id, '', dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = ANY (ARRAY (
  SELECT DISTINCT e.dialog FROM fairlead.endpoints e
  WHERE e.service = %(service)s AND e.dialog < %(before)s AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead.endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT %(most)s))
ORDER BY dialog DESC, side;

-- unread: how many messages wait at some ends
SELECT conversation, count(*) FROM fairlead.messages
WHERE conversation = ANY (%(ids)s::bigint[]) GROUP BY conversation;

-- unread_types: the first messages that wait at an end
SELECT key, type, arrived FROM fairlead.messages
WHERE conversation = %(conversation)s ORDER BY id LIMIT %(most)s;

-- timers: when the timers of some ends are due
SELECT conversation, due FROM fairlead.delayed
WHERE conversation = ANY (%(ids)s::bigint[]) AND type = 'DialogTimer';

-- groups_of_ends: the groups in which the messages of some ends wait, and to what they were raised
SELECT e.id, q.enabled, g.state, g.not_before,
  coalesce((SELECT n.priority FROM fairlead.pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead.pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  h.name, g.taken
FROM fairlead.endpoints e JOIN fairlead.queues q ON q.name = e.queue
  JOIN fairlead.groups g ON g.queue = q.id AND g.name = e.group_name
  LEFT JOIN fairlead.lease_holders h ON g.state = 2 AND h.id = g.holder
WHERE e.id = ANY (%(ids)s::bigint[]);

-- open_of_services: how many ends that have not ended each service has
SELECT service, count(*) FROM fairlead.endpoints WHERE state <> 3 GROUP BY service;

-- event: who did something, and when
SELECT time, actor FROM fairlead.journal WHERE id = %(number)s;

-- switched_off: when a queue, or a tenant of it, was switched off for the last time, by whom and why
SELECT time, actor, detail FROM fairlead.journal WHERE kind = 'switched-off' AND queue = %(queue)s
  AND tenant = %(tenant)s ORDER BY id DESC LIMIT 1;

-- serve: a queue is a service's
SELECT fairlead._run_serve(%(queue)s);

-- find_lost_messages: messages whose group is gone: no reader would ever get them
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead.messages m JOIN fairlead.queues q ON q.id = m.queue
WHERE NOT EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.id = m.group_id) GROUP BY q.name ORDER BY q.name;

-- lost_messages: the same, with what the journal says of the group
SELECT * FROM fairlead._run_lost_messages(%(most)s);

-- find_empty_groups: groups that say that a message waits, and have none
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead.groups g JOIN fairlead.queues q ON q.id = g.queue
WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
  AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
  AND NOT EXISTS (SELECT 1 FROM fairlead.pending_updates n WHERE n.group_id = g.id)
GROUP BY q.name ORDER BY q.name;

-- mend_empty_groups: they end
SELECT fairlead._run_mend_empty_groups();

-- find_unbounded_work: work that nobody would ever take back
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead.groups g JOIN fairlead.queues q ON q.id = g.queue
WHERE g.state = 2 AND (g.deadline IS NULL
    OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead.lease_holders h WHERE h.id = g.holder))
GROUP BY q.name ORDER BY q.name;

-- mend_unbounded_work: its lease is over
SELECT fairlead._run_mend_unbounded_work(%(now)s);

-- find_future_events: events that are later than now: a clock was wrong when they were written
SELECT 'journal', count(*), min(id)::text FROM fairlead.journal WHERE time > %(limit)s;

-- mend_future_events: they are as late as they can be
SELECT fairlead._run_mend_future_events(%(now)s, %(limit)s);

-- find_future_groups: groups that came, were raised or were taken later than now
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead.groups g JOIN fairlead.queues q ON q.id = g.queue
WHERE greatest(g.arrived, g.entered, g.was_entered, g.taken) > %(limit)s GROUP BY q.name ORDER BY q.name;

-- mend_future_groups: the same
SELECT fairlead._run_mend_future_groups(%(now)s, %(limit)s);

-- find_future_messages: messages that came later than now
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead.messages m JOIN fairlead.queues q ON q.id = m.queue
WHERE m.arrived > %(limit)s GROUP BY q.name ORDER BY q.name;

-- mend_future_messages: the same
SELECT fairlead._run_mend_future_messages(%(now)s, %(limit)s);

-- find_future_raises: raises that are later than now
SELECT 'queue ' || q.name, count(*), '' FROM fairlead.pending_updates n JOIN fairlead.queues q ON q.id = n.queue
WHERE n.at > %(limit)s GROUP BY q.name ORDER BY q.name;

-- mend_future_raises: the same
SELECT fairlead._run_mend_future_raises(%(now)s, %(limit)s);

-- find_future_ids: ids of messages that were used later than now, and so are known for too long
SELECT 'ids', count(*), min(key) FROM fairlead.message_ids WHERE at > %(limit)s;

-- mend_future_ids: the same
SELECT fairlead._run_mend_future_ids(%(now)s, %(limit)s);

-- find_future_resets: clusters whose next reset is further away than resets are from each other
SELECT 'cluster ' || name, 1, '' FROM fairlead.clusters
WHERE reset_every > 0 AND reset_due - reset_every > %(limit)s ORDER BY name;

-- mend_future_resets: it is as far away as resets are from each other
SELECT fairlead._run_mend_future_resets(%(now)s, %(limit)s);

-- find_future_versions: clusters that changed later than now, so that what they were is never forgotten
SELECT 'cluster ' || c.name, count(*), min(s.version)::text FROM fairlead.choice_runs s JOIN fairlead.clusters c ON c.id = s.cluster
WHERE s.at > %(limit)s GROUP BY c.name ORDER BY c.name;

-- mend_future_versions: the same
SELECT fairlead._run_mend_future_versions(%(now)s, %(limit)s);

-- find_lost_published: what a cluster waits for, and is not there any more
SELECT 'cluster ' || c.name, count(*), min(p.key) FROM fairlead.published p JOIN fairlead.clusters c ON c.id = p.cluster
WHERE NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.queue = p.queue AND m.key = p.key)
  AND NOT EXISTS (SELECT 1 FROM fairlead.delayed d WHERE d.queue = p.queue AND d.key = p.key)
GROUP BY c.name ORDER BY c.name;

-- complete_lost_published: it is done
SELECT fairlead._run_complete_lost_published(%(now)s);

-- acknowledge_lost_published: complete_lost_published does so, too

-- mend_lost_published: nobody waits for it
SELECT fairlead._run_mend_lost_published();

-- find_gone_listeners: processes that are gone, and that every sender notifies
SELECT 'queue ' || q.name, count(*), '' FROM fairlead.listeners s JOIN fairlead.queues q ON q.id = s.queue
WHERE NOT EXISTS (SELECT 1 FROM fairlead.lease_holders h WHERE h.id = s.holder) GROUP BY q.name ORDER BY q.name;

-- mend_gone_listeners: nobody notifies them
SELECT fairlead._run_mend_gone_listeners();

-- find_left_runs: runs of many messages that a process was bringing, which is gone
SELECT '', count(*), min(b.name) FROM fairlead.bulk_staging b
WHERE NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = 1181641070
  AND l.objid = b.number::bigint
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()));

-- mend_left_runs: nothing is left of them
SELECT * FROM fairlead._run_sweep_staging();
