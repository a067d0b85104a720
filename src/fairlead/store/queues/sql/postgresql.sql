-- On PostgreSQL: queues, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

-- queue: how a queue is set, and the time of the latest event
SELECT id, name, discipline, default_priority, step, weights, fair, virtual_time, backlogged, in_service,
       max_waiting, max_failures, completing, enabled, poison, by_library, retry,
       count_as_failure, keep_dead, limits, remembered,
       (SELECT time FROM fairlead.journal ORDER BY id DESC LIMIT 1),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT 1 FROM fairlead.listeners s WHERE s.queue = q.id),
       current_setting('transaction_isolation')
FROM fairlead.queues q WHERE name = %(name)s;

-- queue_locked: the same, by a reader that charges tenants: one at a time
SELECT id, name, discipline, default_priority, step, weights, fair, virtual_time, backlogged, in_service,
       max_waiting, max_failures, completing, enabled, poison, by_library, retry,
       count_as_failure, keep_dead, limits, remembered,
       (SELECT time FROM fairlead.journal ORDER BY id DESC LIMIT 1),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT 1 FROM fairlead.listeners s WHERE s.queue = q.id),
       current_setting('transaction_isolation')
FROM fairlead.queues q WHERE name = %(name)s
FOR NO KEY UPDATE;

-- queue_names: all queues
SELECT name FROM fairlead.queues ORDER BY name;

-- add_queue: create a queue with the defaults
INSERT INTO fairlead.queues (name, remembered, max_failures) VALUES (%(name)s, %(remembered)s, %(max_failures)s)
ON CONFLICT (name) DO NOTHING;

-- set_fair: somebody sends for a tenant; the next reader lines the tenants up
UPDATE fairlead.queues SET fair = 1 WHERE id = %(queue)s AND fair = 0;

-- groups_by_name: the groups that live, kept from ending while this transaction runs
SELECT name, id, tenant, state, head FROM fairlead.groups
WHERE queue = %(queue)s AND name = ANY (%(names)s::text[])
ORDER BY name FOR KEY SHARE;

-- add_group: begin a group
INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered, number,
  head, arrived, lane)
SELECT r.id, %(queue)s, r.name, r.tenant, %(fair)s, 1, r.k1, r.k2, r.priority, r.entered, r.number,
  r.id, %(arrived)s, r.lane
FROM unnest(%(id)s::bigint[], %(name)s::text[], %(tenant)s::text[], %(k1)s::bigint[],
  %(k2)s::bigint[], %(priority)s::bigint[], %(entered)s::bigint[], %(number)s::bigint[],
  %(lane)s::text[])
  AS r (id, name, tenant, k1, k2, priority, entered, number, lane)
ON CONFLICT DO NOTHING;

-- add_lone: begin groups of messages that have none, and no tenant; nobody has raised them
INSERT INTO fairlead.groups (id, queue, tenant, fair, state, k1, k2, head, arrived, lane)
SELECT value, %(queue)s, '', %(fair)s, 1, %(k1)s, value, value, %(arrived)s, %(lane)s
FROM unnest(%(ids)s::bigint[]) AS i (value);

-- add_message: a message arrives
INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, expires, cost, type, conversation,
  format, body)
SELECT r.id, %(queue)s, r.group_id, r.key, %(arrived)s, r.expires, r.cost, r.type, r.conversation, r.format,
  substr(%(body)s, r.body_begin, r.body_length)
FROM unnest(%(id)s::bigint[], %(group_id)s::bigint[], %(key)s::text[], %(expires)s::bigint[],
  %(cost)s::bigint[], %(type)s::text[], %(conversation)s::bigint[], %(format)s::bigint[],
  %(body.begin)s::integer[], %(body.length)s::integer[])
  AS r (id, group_id, key, expires, cost, type, conversation, format, body_begin, body_length);

-- add_delayed: a message that arrives later
INSERT INTO fairlead.delayed (id, queue, due, group_name, tenant, priority, key, expires, cost, type,
  conversation, format, body)
SELECT r.id, %(queue)s, r.due, r."group", r.tenant, r.priority, r.key, r.expires, r.cost, r.type,
  r.conversation, r.format, substr(%(body)s, r.body_begin, r.body_length)
FROM unnest(%(id)s::bigint[], %(due)s::bigint[], %(group)s::text[], %(tenant)s::text[],
  %(priority)s::bigint[], %(key)s::text[], %(expires)s::bigint[], %(cost)s::bigint[],
  %(type)s::text[], %(conversation)s::bigint[], %(format)s::bigint[], %(body.begin)s::integer[],
  %(body.length)s::integer[])
  AS r (id, due, "group", tenant, priority, key, expires, cost, type, conversation, format, body_begin,
    body_length);

-- message_ids: what is remembered with some ids
SELECT key, at, digest FROM fairlead.message_ids WHERE queue = %(queue)s AND key = ANY (%(keys)s::text[]);

-- add_message_ids: remember ids of messages; those that were not known, or whose time is over
INSERT INTO fairlead.message_ids (queue, key, at, digest)
SELECT %(queue)s, i.key, %(at)s, i.digest
FROM unnest(%(keys)s::text[], %(digests)s::text[]) AS i (key, digest)
ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
  WHERE fairlead.message_ids.at < %(before)s
RETURNING key;

-- over_limit: whether a limited queue holds more than so many messages, those that arrive later too
SELECT 1 WHERE fairlead._queue_length(%(queue)s) > %(most)s;

-- add_pending_update: what the next reader has to know
INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant, priority, at, cost, turn, placed)
SELECT %(queue)s, r.group_id, r.kind, r.number, r.tenant, r.priority, r.at, r.cost, r.turn, r.placed
FROM unnest(%(kind)s::text[], %(number)s::bigint[], %(group_id)s::bigint[], %(tenant)s::text[],
  %(priority)s::bigint[], %(at)s::bigint[], %(cost)s::bigint[], %(turn)s::bigint[],
  %(placed)s::bigint[])
  AS r (kind, number, group_id, tenant, priority, at, cost, turn, placed);

-- maintenance: what there is to do before a take. (A plan without the values would look for the first row
-- that fits, wherever it stands: so the first one is asked for, in the order of an index.)
SELECT EXISTS (SELECT 1 FROM fairlead.pending_updates WHERE queue = %(queue)s AND kind = 'raised'),
       EXISTS (SELECT 1 FROM fairlead.pending_updates WHERE queue = %(queue)s AND kind <> 'raised'),
       coalesce((SELECT min(not_before) FROM fairlead.groups WHERE queue = %(queue)s AND state = 3) <= %(now)s, false),
       coalesce((SELECT min(due) FROM fairlead.delayed WHERE queue = %(queue)s) <= %(now)s, false),
       coalesce((SELECT min(deadline) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2) <= %(now)s, false);

-- pending_updates: what is to be counted for tenants
SELECT id, kind, number, tenant, cost, turn, placed FROM fairlead.pending_updates
WHERE queue = %(queue)s AND kind <> 'raised' ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED;

-- raised_groups: the groups that were raised, but for those that are held; and whether they live. How
-- often each was raised is of no matter: the index leads from one group to the next.
WITH RECURSIVE raised (id) AS (
  SELECT min(group_id) FROM fairlead.pending_updates WHERE queue = %(queue)s AND kind = 'raised'
  UNION ALL
  SELECT (SELECT min(n.group_id) FROM fairlead.pending_updates n
    WHERE n.queue = %(queue)s AND n.kind = 'raised' AND n.group_id > raised.id)
  FROM raised WHERE raised.id IS NOT NULL)
SELECT raised.id, g.id IS NOT NULL FROM raised LEFT JOIN fairlead.groups g ON g.id = raised.id
WHERE raised.id IS NOT NULL AND (g.id IS NULL OR g.state <> 2) LIMIT %(most)s;

-- raises_of: the raises of groups, by who has them locked
SELECT id, group_id, number, priority, at FROM fairlead.pending_updates
WHERE group_id = ANY (%(ids)s::bigint[]) AND kind = 'raised' ORDER BY id FOR UPDATE;

-- drop_raises_of: groups that have ended cannot be raised
DELETE FROM fairlead.pending_updates WHERE id = ANY (ARRAY (SELECT id FROM fairlead.pending_updates
  WHERE group_id = ANY (%(ids)s::bigint[]) AND kind = 'raised' FOR UPDATE SKIP LOCKED));

-- drop_pending_updates: they are done
DELETE FROM fairlead.pending_updates WHERE id = ANY (%(ids)s::bigint[]);

-- place: give a group its place
UPDATE fairlead.groups g SET priority = r.priority, entered = r.entered, number = r.number, k1 = r.k1,
  k2 = r.k2, head = r.head, arrived = r.arrived
FROM unnest(%(priority)s::bigint[], %(entered)s::bigint[], %(number)s::bigint[], %(k1)s::bigint[],
  %(k2)s::bigint[], %(head)s::bigint[], %(arrived)s::bigint[], %(id)s::bigint[])
  AS r (priority, entered, number, k1, k2, head, arrived, id)
WHERE g.id = r.id;

-- wake_groups: groups whose time has come are ready
UPDATE fairlead.groups SET state = 1, not_before = NULL WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = %(queue)s AND state = 3 AND not_before <= %(now)s
  ORDER BY not_before LIMIT %(most)s FOR UPDATE SKIP LOCKED))
RETURNING id, tenant, head, name;

-- postpone: groups to which somebody is still sending are looked at again, the later the longer it takes
UPDATE fairlead.groups SET not_before = %(now)s + least(greatest((%(now)s - coalesce(taken, 0)) / 4, 50000), 1000000)
WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = %(queue)s AND state = 3 AND not_before <= %(now)s
  ORDER BY not_before LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED)) AND head = 0
RETURNING id;

-- due_messages: take out messages that arrive now
DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (SELECT id FROM fairlead.delayed WHERE queue = %(queue)s AND due <= %(now)s ORDER BY due, id LIMIT %(most)s FOR UPDATE SKIP LOCKED))
RETURNING id, due, group_name, tenant, priority, key, expires, cost, type, conversation, format, body;

-- lapsed: groups whose lease is over
SELECT id, token FROM fairlead.groups WHERE queue = %(queue)s AND state = 2 AND deadline <= %(now)s
ORDER BY deadline LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED;

-- pick: take the best groups that nobody holds
UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
  was_number = number, was_turn = %(turn)s, priority = -1, entered = 0, number = 0, token = nextval('fairlead.numbers'),
  holder = %(holder)s, taken = %(taken)s, deadline = %(deadline)s
WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = %(queue)s AND state = 1
  ORDER BY k1, k2 LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id, name, tenant, was_priority, releases, token, k1, k2;

-- pick_named: take a group by its name
UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
  was_number = number, was_turn = %(turn)s, priority = -1, entered = 0, number = 0, token = nextval('fairlead.numbers'),
  holder = %(holder)s, taken = %(taken)s, deadline = %(deadline)s
WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = %(queue)s AND name = %(name)s
  AND state = 1 FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id, name, tenant, was_priority, releases, token, k1, k2;

-- pick_of_tenant: take the best group of a tenant
UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
  was_number = number, was_turn = %(turn)s, priority = -1, entered = 0, number = 0, token = nextval('fairlead.numbers'),
  holder = %(holder)s, taken = %(taken)s, deadline = %(deadline)s
WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = %(queue)s AND tenant = %(tenant)s AND state = 1
  AND fair = 1 ORDER BY k1, k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id, name, tenant, was_priority, releases, token, k1, k2;

-- tenant_of: whose a ready group is
SELECT tenant FROM fairlead.groups WHERE queue = %(queue)s AND name = %(name)s AND state = 1;

-- lone_messages: the messages that are groups of their own
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead.messages
WHERE group_id = ANY (%(ids)s::bigint[]) ORDER BY id;

-- messages_of: the messages of some groups, so many of each
SELECT m.group_id, m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.conversation, m.format, m.body
FROM unnest(%(ids)s::bigint[]) AS g (value) CROSS JOIN LATERAL (
  SELECT * FROM fairlead.messages WHERE group_id = g.value ORDER BY id LIMIT %(most)s) m
ORDER BY m.id;

-- more_of: the messages of a group after one
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead.messages
WHERE group_id = %(id)s AND id > %(after)s ORDER BY id LIMIT %(most)s;

-- more_of_held: what was not given yet of a group that is held: what follows, else what came late. A row
-- without a message says that it is held; no row, that it is not
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), later AS MATERIALIZED (
  SELECT m.group_id, m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.conversation, m.format, m.body
  FROM fairlead.messages m, clock
  WHERE m.group_id = %(id)s AND m.id > %(after)s AND coalesce(m.expires > clock.now, true)
  ORDER BY m.id LIMIT %(most)s
)
SELECT more.* FROM fairlead.groups g LEFT JOIN (
  SELECT * FROM later
  UNION ALL (
    SELECT m.group_id, m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.conversation, m.format, m.body
    FROM fairlead.messages m, clock
    WHERE m.group_id = %(id)s AND m.id <> ALL (%(given)s::bigint[]) AND coalesce(m.expires > clock.now, true)
      AND NOT EXISTS (SELECT 1 FROM later)
    ORDER BY m.id LIMIT %(most)s)) more ON true
WHERE g.id = %(id)s AND g.token = %(token)s AND g.state = 2
ORDER BY more.id;

-- late_of: the messages of a group that were not given, wherever they stand
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead.messages
WHERE group_id = %(id)s AND id <> ALL (%(given)s::bigint[]) ORDER BY id LIMIT %(most)s;

-- costs_of: what the messages of groups cost in all
SELECT group_id, sum(cost)::bigint FROM fairlead.messages
WHERE group_id = ANY (%(ids)s::bigint[]) GROUP BY group_id;

-- heads_of: the first message of each group that has any, by when they came: an Error has a number
-- below 0, as it is read first
SELECT m.group_id, abs(m.id), m.arrived
FROM unnest(%(ids)s::bigint[]) AS g (value) CROSS JOIN LATERAL (
  SELECT least((SELECT min(id) FROM fairlead.messages WHERE group_id = g.value AND id > 0),
               (SELECT -max(id) FROM fairlead.messages WHERE group_id = g.value AND id < 0)) AS head) h
  JOIN fairlead.messages m ON m.id IN (h.head, -h.head);

-- drop_messages: they are done
DELETE FROM fairlead.messages WHERE id = ANY (%(ids)s::bigint[]);

-- bury: messages become dead letters
INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority, key, cost,
  type, conversation, format, body)
SELECT abs(m.id), m.queue, %(died)s, %(reason)s, %(attempt)s, g.name, g.tenant, %(priority)s::bigint, m.key, m.cost, m.type,
  m.conversation, m.format, m.body
FROM fairlead.messages m JOIN fairlead.groups g ON g.id = m.group_id
WHERE m.id = ANY (%(ids)s::bigint[]);

-- bury_delayed: a message that could not arrive becomes a dead letter
INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority, key, cost,
  type, conversation, format, body)
VALUES (%(id)s, %(queue)s, %(died)s, %(reason)s, 0, %(group)s, %(tenant)s, %(priority)s, %(key)s, %(cost)s, %(type)s,
  %(conversation)s, %(format)s, %(body)s);

-- put_back: a group is not held any more
UPDATE fairlead.groups g SET state = r.state, not_before = r.not_before, priority = r.priority,
  entered = r.entered, number = r.number, k1 = r.k1, k2 = r.k2, head = r.head, arrived = r.arrived,
  releases = r.releases, failures = r.failures, token = NULL, holder = NULL, deadline = NULL
FROM unnest(%(state)s::bigint[], %(not_before)s::bigint[], %(priority)s::bigint[], %(entered)s::bigint[],
  %(number)s::bigint[], %(k1)s::bigint[], %(k2)s::bigint[], %(head)s::bigint[],
  %(arrived)s::bigint[], %(releases)s::bigint[], %(failures)s::bigint[], %(id)s::bigint[])
  AS r (state, not_before, priority, entered, number, k1, k2, head, arrived, releases, failures, id)
WHERE g.id = r.id;

-- lock_ended: those of some groups to which nobody is sending
SELECT id FROM fairlead.groups WHERE id = ANY (%(ids)s::bigint[]) FOR UPDATE SKIP LOCKED;

-- end_groups: groups of which nothing is left
DELETE FROM fairlead.groups WHERE id = ANY (%(ids)s::bigint[]);

-- end_lone: messages without a group are done, if the reader still holds them
DELETE FROM fairlead.groups g
USING unnest(%(id)s::bigint[], %(token)s::bigint[]) AS held (id, token)
WHERE g.id = held.id AND g.token = held.token AND g.state = 2;

-- drop_lone: the messages themselves
DELETE FROM fairlead.messages WHERE group_id = ANY (%(id)s::bigint[]);

-- tenants: what some tenants were charged
SELECT name, tag, turn, in_service, backlogged FROM fairlead.tenants
WHERE queue = %(queue)s AND name = ANY (%(names)s::text[]);

-- next_tenant: who is next
SELECT name, tag, turn, in_service, backlogged FROM fairlead.tenants
WHERE queue = %(queue)s AND backlogged = 1 AND name <> ALL (%(besides)s::text[])
ORDER BY tag, turn LIMIT 1;

-- set_tenant: what a tenant is charged
INSERT INTO fairlead.tenants (queue, name, tag, turn, in_service, backlogged)
SELECT %(queue)s, r.name, r.tag, r.turn, r.in_service, r.backlogged
FROM unnest(%(name)s::text[], %(tag)s::text[], %(turn)s::bigint[], %(in_service)s::bigint[],
  %(backlogged)s::bigint[])
  AS r (name, tag, turn, in_service, backlogged)
ON CONFLICT (queue, name) DO UPDATE SET tag = excluded.tag, turn = excluded.turn,
  in_service = excluded.in_service, backlogged = excluded.backlogged;

-- drop_tenant: it has nothing that a new one would not have
DELETE FROM fairlead.tenants WHERE queue = %(queue)s AND name = %(name)s;

-- drop_tenants: nothing waits and nobody works, so nobody was charged anything
DELETE FROM fairlead.tenants WHERE queue = %(queue)s;

-- set_line: how many tenants can be served, how many groups are held, and the virtual time
UPDATE fairlead.queues SET virtual_time = %(virtual_time)s, backlogged = %(backlogged)s, in_service = %(in_service)s, fair = 2
WHERE id = %(queue)s;

-- ready_of_tenant: whether a tenant has a group that can be taken
SELECT 1 FROM fairlead.groups WHERE queue = %(queue)s AND tenant = %(tenant)s AND state = 1 AND fair = 1
ORDER BY k1, k2 LIMIT 1;

-- mark_fair: all groups of a queue are ordered by tenant
UPDATE fairlead.groups SET fair = 1 WHERE queue = %(queue)s AND fair = 0;

-- mark_late: groups that can be taken, of senders that did not know yet of tenants
UPDATE fairlead.groups SET fair = 1 WHERE queue = %(queue)s AND state = 1 AND fair = 0
RETURNING tenant, k2;

-- ready_tenants: whose the ready groups are, by when their first came
SELECT tenant, min(k2) FROM fairlead.groups WHERE queue = %(queue)s AND state = 1
GROUP BY tenant ORDER BY 2;

-- held_of_tenants: how many groups of each tenant are held
SELECT tenant, count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2 GROUP BY tenant;

-- charges: the last events of a queue that charged its tenants
SELECT kind, tenant, coalesce(cost, 0) FROM (
  SELECT id, kind, tenant, cost FROM fairlead.journal
  WHERE queue = %(queue_name)s AND kind IN ('taken', 'released')
    AND id > (SELECT max(id) FROM fairlead.journal) - 100000
  ORDER BY id DESC LIMIT %(most)s) latest ORDER BY id;

-- lock_ready: those of some groups that can be given another place now
SELECT id FROM fairlead.groups WHERE id = ANY (%(ids)s::bigint[]) AND state <> 2
FOR NO KEY UPDATE SKIP LOCKED;

-- entries_of: to what groups were raised
SELECT id, priority, entered, number FROM fairlead.groups WHERE id = ANY (%(ids)s::bigint[]);

-- drop_tenant_updates: the tenants are counted anew, whatever was to be counted
DELETE FROM fairlead.pending_updates WHERE queue = %(queue)s AND kind <> 'raised';

-- send_one: send a message, in one statement
SELECT fairlead._send(%(queue)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s, %(type)s,
  %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(actor)s);

-- try_send_one: the same; what was refused comes as a row, and leaves the transaction as it was
SELECT * FROM fairlead._try_send(%(queue)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s, %(type)s,
  %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(actor)s);

-- try_send_many: send messages, in one statement; what was refused comes as a row
SELECT * FROM fairlead._try_send_many(%(queue)s, %(group)s::text[], %(priority)s::bigint[], %(key)s::text[],
  %(type)s::text[], %(tenant)s::text[], %(cost)s::bigint[], %(due)s::bigint[], %(expires)s::bigint[],
  %(format)s::bigint[], %(body)s, %(body.begin)s::integer[], %(body.length)s::integer[], %(actor)s);

-- try_prioritise: raise a group, in one statement; what was refused comes as a row
SELECT * FROM fairlead._try_prioritise(%(queue)s, %(group)s, %(priority)s::integer, %(actor)s);

-- take_one: take a group, in one statement
SELECT * FROM fairlead._take(%(queue)s, %(group)s, %(lease)s, %(holder)s, %(most)s, %(actor)s,
  %(conversation)s);

-- more_said: what was not given yet of a group that is held, if it was said in conversations. A row without
-- a message says that it is held; no row, that it is not
SELECT * FROM fairlead._more(%(id)s, %(token)s, %(given)s::bigint[], %(conversation)s, %(most)s);

-- settle_one: settle a group, in one statement
SELECT fairlead._settle(%(token)s, %(outcome)s, %(given)s::bigint[], %(reason)s, %(delay)s, %(failed)s,
  %(actor)s, %(id)s, %(partly)s);

-- try_settle_one: the same; what was refused comes as a row, and leaves the transaction as it was
SELECT * FROM fairlead._try_settle(%(token)s, %(outcome)s, %(given)s::bigint[], %(reason)s, %(delay)s, %(failed)s,
  %(actor)s, %(id)s, %(partly)s);

-- switch: switch a queue on or off
UPDATE fairlead.queues SET enabled = %(enabled)s WHERE id = %(queue)s AND enabled <> %(enabled)s
RETURNING id;

-- events_of_groups: what happened to some groups
SELECT id, time, kind, group_name, key, tenant, priority, token, actor, detail FROM fairlead.journal
WHERE id > %(after)s AND queue = %(queue)s AND group_name = ANY (%(groups)s::text[])
ORDER BY id LIMIT %(most)s;

-- first_kept: the time of the first event that is kept
SELECT time FROM fairlead.journal ORDER BY id LIMIT 1;

-- complete: messages that were published are about to be done
INSERT INTO fairlead.completions (cluster, destination, part, version)
SELECT p.cluster, p.destination, p.part, p.version
FROM fairlead.messages m JOIN fairlead.published p ON p.queue = m.queue AND p.key = m.key
WHERE m.id = ANY (%(ids)s::bigint[]) ORDER BY m.id;

-- drop_published: their cluster waits for them no more
DELETE FROM fairlead.published WHERE (queue, key) IN (
  SELECT queue, key FROM fairlead.messages WHERE id = ANY (%(ids)s::bigint[]));

-- sender_of: who sent a message
SELECT actor FROM fairlead.events WHERE position = %(id)s AND kind = 'sent';
