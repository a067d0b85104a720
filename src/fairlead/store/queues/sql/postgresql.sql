-- On PostgreSQL: queues, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

-- queue: how a queue is set, and the time of the latest event
SELECT id, name, discipline, default_priority, step, weights, fair, virtual_time, backlogged, in_service,
       max_waiting, max_failures, max_seconds, completing, enabled, poison, by_library, retry,
       count_as_failure, keep_dead, limits, off_tenants, remembered,
       (SELECT time FROM fairlead.journal ORDER BY id DESC LIMIT 1),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT 1 FROM fairlead.listeners s WHERE s.queue = q.id)
FROM fairlead.queues q WHERE name = %(name)s;

-- queue_locked: the same, by a reader that charges tenants: one at a time
SELECT * FROM fairlead._run_queue_locked(%(name)s);

-- queue_names: all queues
SELECT name FROM fairlead.queues ORDER BY name;

-- add_queue: create a queue with the defaults
SELECT fairlead._run_add_queue(%(name)s);

-- set_fair: somebody sends for a tenant; the next reader lines the tenants up
SELECT fairlead._run_set_fair(%(queue)s);

-- groups_by_name: the groups that live, kept from ending while this transaction runs
SELECT * FROM fairlead._run_groups_by_name(%(queue)s, %(names)s::text[]);

-- add_group: begin a group
SELECT * FROM fairlead._run_add_group(
  %(queue)s, %(fair)s, %(arrived)s, %(id)s::bigint[], %(name)s::text[], %(tenant)s::text[],
  %(k1)s::bigint[], %(k2)s::bigint[], %(priority)s::bigint[], %(entered)s::bigint[], %(number)s::bigint[],
  %(lane)s::text[]);

-- add_lone: begin groups of messages that have none, and no tenant; nobody has raised them
SELECT fairlead._run_add_lone(%(queue)s, %(fair)s, %(k1)s, %(arrived)s, %(lane)s, %(ids)s::bigint[]);

-- add_message: a message arrives
SELECT fairlead._run_add_message(
  %(queue)s, %(arrived)s, %(body)s, %(id)s::bigint[], %(group_id)s::bigint[], %(key)s::text[],
  %(expires)s::bigint[], %(cost)s::bigint[], %(type)s::text[], %(conversation)s::bigint[],
  %(format)s::bigint[], %(body.begin)s::integer[], %(body.length)s::integer[]);

-- message_ids: what is remembered with some ids
SELECT key, at, digest FROM fairlead.message_ids WHERE queue = %(queue)s AND key = ANY (%(keys)s::text[]);

-- add_message_ids: remember ids of messages; those that were not known, or whose time is over
SELECT * FROM fairlead._run_add_message_ids(
  %(queue)s, %(at)s, %(keys)s::text[], %(digests)s::text[], %(before)s);

-- over_limit: whether a limited queue holds more than so many messages, those that arrive later too
SELECT 1 FROM fairlead._run_over_limit(%(queue)s, %(most)s) AS is_over WHERE is_over;

-- add_pending_update: what the next reader has to know
SELECT fairlead._run_add_pending_update(
  %(queue)s, %(kind)s::text[], %(number)s::bigint[], %(group_id)s::bigint[], %(tenant)s::text[],
  %(priority)s::bigint[], %(at)s::bigint[], %(cost)s::bigint[], %(turn)s::bigint[], %(placed)s::bigint[]);

-- maintenance: what there is to do before a take. (A plan without the values would look for the first row
-- that fits, wherever it stands: so the first one is asked for, in the order of an index.)
SELECT (SELECT min(group_id) FROM fairlead.pending_updates WHERE queue = %(queue)s AND kind = 'raised') IS NOT NULL,
       (SELECT min(id) FROM fairlead.pending_updates WHERE queue = %(queue)s AND kind <> 'raised') IS NOT NULL,
       coalesce((SELECT min(not_before) FROM fairlead.groups WHERE queue = %(queue)s AND state = 3) <= %(now)s, false),
       coalesce((SELECT min(due) FROM fairlead.delayed WHERE queue = %(queue)s) <= %(now)s, false),
       coalesce((SELECT min(deadline) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2) <= %(now)s, false);

-- lapsed: groups whose lease is over, and whether that is the server's fault
SELECT * FROM fairlead._run_lapsed(%(queue)s, %(now)s, %(most)s);

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

-- heads_of: the first message of each group that has any, by when they came: an Error has a number
-- below 0, as it is read first
SELECT m.group_id, abs(m.id), m.arrived
FROM unnest(%(ids)s::bigint[]) AS g (value) CROSS JOIN LATERAL (
  SELECT least((SELECT min(id) FROM fairlead.messages WHERE group_id = g.value AND id > 0),
               (SELECT -max(id) FROM fairlead.messages WHERE group_id = g.value AND id < 0)) AS head) h
  JOIN fairlead.messages m ON m.id IN (h.head, -h.head);

-- bytes_of: how many bytes messages have
SELECT id, octet_length(body) FROM fairlead.messages WHERE id = ANY (%(ids)s::bigint[]);

-- drop_messages: they are done
SELECT fairlead._run_drop_messages(%(ids)s::bigint[]);

-- send: send a message
SELECT fairlead._send(%(queue)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s, %(type)s,
  %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(actor)s);

-- try_send: the same; what was refused comes as a row, and leaves the transaction as it was
SELECT * FROM fairlead._try_send(%(queue)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s, %(type)s,
  %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(actor)s);

-- send_many: send messages
SELECT fairlead._send_many(%(queue)s, %(group)s::text[], %(priority)s::bigint[], %(key)s::text[],
  %(type)s::text[], %(tenant)s::text[], %(cost)s::bigint[], %(due)s::bigint[], %(expires)s::bigint[],
  %(format)s::bigint[], %(body)s, %(body.begin)s::integer[], %(body.length)s::integer[], %(actor)s);

-- try_send_many: the same; what was refused comes as a row, and leaves the transaction as it was
SELECT * FROM fairlead._try_send_many(%(queue)s, %(group)s::text[], %(priority)s::bigint[], %(key)s::text[],
  %(type)s::text[], %(tenant)s::text[], %(cost)s::bigint[], %(due)s::bigint[], %(expires)s::bigint[],
  %(format)s::bigint[], %(body)s, %(body.begin)s::integer[], %(body.length)s::integer[], %(actor)s);

-- try_prioritise: raise a group, in one statement; what was refused comes as a row
SELECT * FROM fairlead._try_prioritise(%(queue)s, %(group)s, %(priority)s::integer, %(actor)s);

-- take: take groups, the best first, each with its first messages
SELECT * FROM fairlead._take(%(queue)s, %(group)s, %(lease)s, %(holder)s, %(most)s, %(actor)s,
  %(conversation)s, %(groups)s);

-- bring_up_to_date: do what is due in a queue, as a take does first
SELECT fairlead._bring_up_to_date(%(queue)s, %(actor)s);

-- switch_tenant: switch a tenant of a queue off or on; whether that is a change
SELECT fairlead._switch_tenant(%(queue)s, %(tenant)s, %(on)s, %(reason)s, %(actor)s);

-- more_said: what was not given yet of a group that is held, if it was said in conversations. A row without
-- a message says that it is held; no row, that it is not
SELECT * FROM fairlead._more(%(id)s, %(token)s, %(given)s::bigint[], %(conversation)s, %(most)s);

-- settle_one: settle one group
SELECT fairlead._settle_one(ROW(%(id)s, %(token)s, %(kind)s, %(given)s, %(dead)s, %(reason)s, %(delay)s,
  %(failed)s, %(done)s, %(partly)s, %(keep)s, %(moved)s, %(redelivers)s)::fairlead.settlement, %(actor)s);

-- try_settle_one: the same; what was refused comes as a row, and leaves the transaction as it was
SELECT * FROM fairlead._try_settle_one(ROW(%(id)s, %(token)s, %(kind)s, %(given)s, %(dead)s, %(reason)s,
  %(delay)s, %(failed)s, %(done)s, %(partly)s, %(keep)s, %(moved)s, %(redelivers)s)::fairlead.settlement,
  %(actor)s);

-- settle: settle groups of one queue
SELECT fairlead._settle_all(%(plain)s::bigint[], %(tokens)s::bigint[], %(numbers)s::bigint[],
  %(ends)s::jsonb, %(actor)s);

-- try_settle: the same; what was refused comes as a row, and leaves the transaction as it was
SELECT * FROM fairlead._try_settle_all(%(plain)s::bigint[], %(tokens)s::bigint[], %(numbers)s::bigint[],
  %(ends)s::jsonb, %(actor)s);

-- purge: the next messages that wait are deleted; how many, and after which group it goes on
SELECT * FROM fairlead._purge(%(queue)s, %(group)s, %(tenant)s, %(until)s, %(after)s, %(most)s, %(reason)s,
  %(actor)s);

-- take_back: release groups whose readers are gone
SELECT fairlead._take_back(%(ids)s::bigint[], %(tokens)s::bigint[], %(reason)s, %(failed)s,
  %(blameless)s::bigint[], %(actor)s);

-- switch: switch a queue on or off
SELECT * FROM fairlead._run_switch(%(enabled)s, %(queue)s);

-- events_of_groups: what happened to some groups, and which tenants were switched off and on
SELECT id, time, kind, group_name, key, tenant, priority, token, actor, detail FROM fairlead.journal
WHERE id > %(after)s AND queue = %(queue)s AND (group_name = ANY (%(groups)s::text[])
  OR kind IN ('switched-off', 'switched-on') AND tenant <> '')
ORDER BY id LIMIT %(most)s;

-- first_kept: the time of the first event that is kept
SELECT time FROM fairlead.journal ORDER BY id LIMIT 1;

-- unpublish: its cluster waits for a message no more: it goes to another destination, or to none
SELECT fairlead._run_unpublish(%(queue)s, %(key)s);

-- sender_of: who sent a message
SELECT actor FROM fairlead.events WHERE position = %(id)s AND kind = 'sent';

-- as_sent: messages as they were sent
SELECT id, expires, cost, type, format, body FROM fairlead.messages WHERE id = ANY (%(ids)s::bigint[]);

-- place: give a group its place
SELECT fairlead._run_place(
  %(priority)s::bigint[], %(entered)s::bigint[], %(number)s::bigint[], %(k1)s::bigint[], %(k2)s::bigint[],
  %(head)s::bigint[], %(arrived)s::bigint[], %(id)s::bigint[]);

-- next_tenant: who is next
SELECT name, tag, turn, in_service, backlogged FROM fairlead.tenants
WHERE queue = %(queue)s AND backlogged = 1 AND name <> ALL (%(besides)s::text[])
ORDER BY tag, turn LIMIT 1;

-- drop_tenants: nothing waits and nobody works, so nobody was charged anything
SELECT fairlead._run_drop_tenants(%(queue)s);

-- group_place: where a group stands
SELECT id, state, head, arrived, tenant, k1, k2 FROM fairlead.groups
WHERE queue = %(queue)s AND name = %(name)s;

-- drop_dead: they are dead letters no more
SELECT * FROM fairlead._run_drop_dead(%(queue)s, %(ids)s::bigint[]);
