-- What the store does on PostgreSQL, statement by statement. The statements of the two databases have
-- the same names, and give the same columns. All run in READ COMMITTED.

-- schema_version: whether there is a schema, and which
SELECT version FROM fairlead.schema;

-- identity: which store this is, and in which database: a copy has the same name
SELECT store, current_database() FROM fairlead.schema;

-- queue: how a queue is set, and the time of the latest event
SELECT id, name, discipline, default_priority, step, weights, fair, tag_clock, lined, works,
       max_waiting, max_failures, completing, enabled, poison, by_library, remembered,
       (SELECT time FROM fairlead.journal ORDER BY id DESC LIMIT 1),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT 1 FROM fairlead.sleepers s WHERE s.queue = q.id),
       current_setting('transaction_isolation')
FROM fairlead.queues q WHERE name = %(name)s;

-- queue_locked: the same, by a reader that charges tenants: one at a time
SELECT id, name, discipline, default_priority, step, weights, fair, tag_clock, lined, works,
       max_waiting, max_failures, completing, enabled, poison, by_library, remembered,
       (SELECT time FROM fairlead.journal ORDER BY id DESC LIMIT 1),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT 1 FROM fairlead.sleepers s WHERE s.queue = q.id),
       current_setting('transaction_isolation')
FROM fairlead.queues q WHERE name = %(name)s
FOR NO KEY UPDATE;

-- queue_names: all queues
SELECT name FROM fairlead.queues ORDER BY name;

-- add_queue: create a queue with the defaults
INSERT INTO fairlead.queues (name, remembered, max_failures) VALUES (%(name)s, %(remembered)s, %(max_failures)s)
ON CONFLICT (name) DO NOTHING;

-- set_queue: change how a queue is set
UPDATE fairlead.queues SET discipline = %(discipline)s, default_priority = %(default_priority)s,
  step = %(step)s, weights = %(weights)s, max_waiting = %(max_waiting)s, max_failures = %(max_failures)s,
  poison = %(poison)s, by_library = greatest(by_library, %(by_library)s),
  remembered = %(remembered)s, fair = %(fair)s
WHERE id = %(queue)s;

-- set_fair: somebody sends for a tenant; the next reader lines the tenants up
UPDATE fairlead.queues SET fair = 1 WHERE id = %(queue)s AND fair = 0;

-- numbers: so many numbers for events
SELECT nextval('fairlead.numbers') FROM generate_series(1, %(count)s::bigint);

-- add_journal: record an event
INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, type,
  attempt, token, actor, lease, detail)
SELECT coalesce(r.id, nextval('fairlead.numbers')), %(time)s, r.kind, %(queue)s, r."group", r.key,
  r.tenant, r.priority, r.cost, r.type, r.attempt, r.token, %(actor)s, r.lease, r.detail
FROM unnest(%(id)s::bigint[], %(kind)s::text[], %(group)s::text[], %(key)s::text[],
  %(tenant)s::text[], %(priority)s::bigint[], %(cost)s::bigint[], %(type)s::text[],
  %(attempt)s::bigint[], %(token)s::bigint[], %(lease)s::bigint[], %(detail)s::text[])
  AS r (id, kind, "group", key, tenant, priority, cost, type, attempt, token, lease, detail);

-- add_journal_taken: record that messages without a group were taken
INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, priority, cost, attempt,
  token, actor, lease)
SELECT %(time)s, 'taken', %(queue)s, '', m.key, g.tenant, nullif(g.was_priority, -1), m.cost,
  g.releases + 1, g.token, %(actor)s, g.deadline
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS i (value, place)
  JOIN fairlead.groups g ON g.id = i.value JOIN fairlead.messages m ON m.group_id = g.id
ORDER BY i.place;

-- add_journal_accepted: record that messages without a group were accepted
INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, token, actor)
SELECT %(time)s, 'accepted', %(queue)s, '', m.key, g.tenant, m.cost, g.token, %(actor)s
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS i (value, place)
  JOIN fairlead.groups g ON g.id = i.value JOIN fairlead.messages m ON m.group_id = g.id
ORDER BY i.place;

-- journal: events after a place in the journal
SELECT id, transaction::text::bigint, time, kind, queue, group_name, key, tenant, priority, cost, type,
  attempt, token, actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said
FROM fairlead.journal
WHERE (transaction, id) > (%(transaction)s::text::xid8, %(after)s) AND id >= %(first)s AND id < %(until)s
  AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
    ELSE pg_snapshot_xmin(pg_current_snapshot()) END
ORDER BY journal.transaction, journal.id LIMIT %(most)s;

-- latest: the latest event that can be read now
SELECT transaction::text::bigint, id FROM fairlead.journal
WHERE id >= %(first)s AND id < %(until)s AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
  ELSE pg_snapshot_xmin(pg_current_snapshot()) END
ORDER BY journal.transaction DESC, journal.id DESC LIMIT 1;

-- epochs: the events with which the epochs of the journal begin, but for the first one
SELECT first FROM fairlead.epochs ORDER BY first;

-- add_epoch: a new epoch begins with an event
INSERT INTO fairlead.epochs (first, began) VALUES (%(first)s, %(began)s);

-- skip_numbers: number on behind all that there is, where data was restored without its sequence
SELECT setval('fairlead.numbers', used.id) FROM (SELECT greatest(
    (SELECT max(id) FROM fairlead.journal), (SELECT max(id) FROM fairlead.groups),
    (SELECT max(id) FROM fairlead.messages)) AS id) used
WHERE used.id > (SELECT last_value FROM fairlead.numbers);

-- reached: whether a transaction has begun on this server, and whether all of the running epoch have
SELECT %(transaction)s::text::xid8 < pg_snapshot_xmax(pg_current_snapshot()),
       NOT EXISTS (SELECT 1 FROM (SELECT j.transaction, j.id FROM fairlead.journal j
           ORDER BY j.transaction DESC, j.id DESC LIMIT 1) last
         WHERE last.id >= %(first)s AND last.transaction >= pg_snapshot_xmax(pg_current_snapshot()));

-- outcome: how the work with a token was settled; what is released may be accepted in part, and what
-- is accepted rejected
SELECT kind FROM fairlead.journal
WHERE token = %(token)s AND kind <> 'taken' ORDER BY kind = 'released' DESC, kind = 'accepted' DESC, id DESC
LIMIT 1;

-- held_token: whether the work with a token is still in a reader's hands
SELECT 1 WHERE fairlead._is_held(%(token)s);

-- pruned: the last event that was forgotten
SELECT pruned_transaction::text::bigint, pruned_id FROM fairlead.schema;

-- retention: how long events are kept
SELECT journal_keep FROM fairlead.schema;

-- set_retention: keep events so long
UPDATE fairlead.schema SET journal_keep = %(keep)s::bigint;

-- prune_journal: forget the first events, if they are before a time, but for the latest event
DELETE FROM fairlead.journal WHERE id = ANY (ARRAY (
  SELECT j.id FROM (SELECT id, time FROM fairlead.journal ORDER BY id LIMIT %(most)s) j
  WHERE j.time < %(before)s AND j.id < (SELECT max(id) FROM fairlead.journal)))
RETURNING id;

-- forget_events: the same, of those that are older than events are kept
SELECT fairlead._forget_events(%(now)s, %(most)s);

-- forget_ids: forget the oldest ids of messages, if their time is over
SELECT fairlead._forget_ids(%(now)s, %(most)s);

-- groups_by_name: the groups that live, kept from ending while this transaction runs
SELECT name, id, tenant, state, head FROM fairlead.groups
WHERE queue = %(queue)s AND name = ANY (%(names)s::text[])
ORDER BY name FOR KEY SHARE;

-- add_group: begin a group
INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered, number,
  head, arrived)
SELECT r.id, %(queue)s, r.name, r.tenant, %(fair)s, 1, r.k1, r.k2, r.priority, r.entered, r.number,
  r.id, %(arrived)s
FROM unnest(%(id)s::bigint[], %(name)s::text[], %(tenant)s::text[], %(k1)s::bigint[],
  %(k2)s::bigint[], %(priority)s::bigint[], %(entered)s::bigint[], %(number)s::bigint[])
  AS r (id, name, tenant, k1, k2, priority, entered, number)
ON CONFLICT DO NOTHING;

-- add_lone: begin groups of messages that have none, and no tenant; nobody has raised them
INSERT INTO fairlead.groups (id, queue, tenant, fair, state, k1, k2, head, arrived)
SELECT value, %(queue)s, '', %(fair)s, 1, %(k1)s, value, value, %(arrived)s
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

-- crowded: whether a limited queue holds more than so many messages, those that arrive later too
SELECT 1 WHERE fairlead._held_by_queue(%(queue)s) > %(most)s;

-- lock_queues: nobody adds messages or takes them away: who does looks at queues, if only to count
LOCK TABLE fairlead.queues IN ACCESS EXCLUSIVE MODE;

-- count_held: how many messages a queue holds, which was not limited, or is not any more
WITH gone AS (DELETE FROM fairlead.room WHERE queue = %(queue)s)
INSERT INTO fairlead.room (queue, change)
SELECT q.id, (SELECT count(*) FROM fairlead.messages m WHERE m.queue = q.id)
  + (SELECT count(*) FROM fairlead.delayed d WHERE d.queue = q.id)
FROM fairlead.queues q WHERE q.id = %(queue)s AND q.max_waiting IS NOT NULL;

-- add_notice: what the next reader has to know
INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant, priority, at, cost, turn, placed)
SELECT %(queue)s, r.group_id, r.kind, r.number, r.tenant, r.priority, r.at, r.cost, r.turn, r.placed
FROM unnest(%(kind)s::text[], %(number)s::bigint[], %(group_id)s::bigint[], %(tenant)s::text[],
  %(priority)s::bigint[], %(at)s::bigint[], %(cost)s::bigint[], %(turn)s::bigint[],
  %(placed)s::bigint[])
  AS r (kind, number, group_id, tenant, priority, at, cost, turn, placed);

-- chores: what there is to do before a take. (A plan without the values would look for the first row
-- that fits, wherever it stands: so the first one is asked for, in the order of an index.)
SELECT EXISTS (SELECT 1 FROM fairlead.notices WHERE queue = %(queue)s AND kind = 'raised'),
       EXISTS (SELECT 1 FROM fairlead.notices WHERE queue = %(queue)s AND kind <> 'raised'),
       coalesce((SELECT min(not_before) FROM fairlead.groups WHERE queue = %(queue)s AND state = 3) <= %(now)s, false),
       coalesce((SELECT min(due) FROM fairlead.delayed WHERE queue = %(queue)s) <= %(now)s, false),
       coalesce((SELECT min(deadline) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2) <= %(now)s, false);

-- notices: what is to be told of tenants
SELECT id, kind, number, tenant, cost, turn, placed FROM fairlead.notices
WHERE queue = %(queue)s AND kind <> 'raised' ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED;

-- raised_groups: the groups that were raised, but for those that are held; and whether they live. How
-- often each was raised is of no matter: the index leads from one group to the next.
WITH RECURSIVE told (id) AS (
  SELECT min(group_id) FROM fairlead.notices WHERE queue = %(queue)s AND kind = 'raised'
  UNION ALL
  SELECT (SELECT min(n.group_id) FROM fairlead.notices n
    WHERE n.queue = %(queue)s AND n.kind = 'raised' AND n.group_id > told.id)
  FROM told WHERE told.id IS NOT NULL)
SELECT told.id, g.id IS NOT NULL FROM told LEFT JOIN fairlead.groups g ON g.id = told.id
WHERE told.id IS NOT NULL AND (g.id IS NULL OR g.state <> 2) LIMIT %(most)s;

-- raises_of: the raises of groups, by who has them locked
SELECT id, group_id, number, priority, at FROM fairlead.notices
WHERE group_id = ANY (%(ids)s::bigint[]) AND kind = 'raised' ORDER BY id FOR UPDATE;

-- drop_raises_of: groups that have ended cannot be raised
DELETE FROM fairlead.notices WHERE id = ANY (ARRAY (SELECT id FROM fairlead.notices
  WHERE group_id = ANY (%(ids)s::bigint[]) AND kind = 'raised' FOR UPDATE SKIP LOCKED));

-- drop_notices: they are told
DELETE FROM fairlead.notices WHERE id = ANY (%(ids)s::bigint[]);

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

-- held_by: groups in the hands of some holders
SELECT id, token, taken FROM fairlead.groups
WHERE queue = %(queue)s AND state = 2 AND holder = ANY (%(holders)s::bigint[])
FOR NO KEY UPDATE SKIP LOCKED;

-- holders_of: who holds groups of a queue
SELECT h.id, h.host, h.stopping FROM fairlead.holders h
WHERE h.id IN (SELECT DISTINCT holder FROM fairlead.groups WHERE queue = %(queue)s AND state = 2);

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

-- fence: groups with the tokens of who holds them, kept from everybody else until it has settled them
SELECT id, queue, name, tenant, token, was_priority, was_entered, was_number, was_turn, releases,
  failures, taken, holder
FROM fairlead.groups WHERE id = ANY (%(ids)s::bigint[])
ORDER BY id FOR NO KEY UPDATE;

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

-- extend: a longer lease
UPDATE fairlead.groups SET deadline = %(deadline)s WHERE id = %(id)s AND token = %(token)s AND state = 2
RETURNING id;

-- tenants: what some tenants were charged
SELECT name, tag, turn, works, lined FROM fairlead.tenants
WHERE queue = %(queue)s AND name = ANY (%(names)s::text[]);

-- all_tenants: what all were charged
SELECT name, tag, turn, works, lined FROM fairlead.tenants WHERE queue = %(queue)s;

-- next_tenant: who is next
SELECT name, tag, turn, works, lined FROM fairlead.tenants
WHERE queue = %(queue)s AND lined = 1 AND name <> ALL (%(besides)s::text[])
ORDER BY tag, turn LIMIT 1;

-- set_tenant: what a tenant is charged
INSERT INTO fairlead.tenants (queue, name, tag, turn, works, lined)
SELECT %(queue)s, r.name, r.tag, r.turn, r.works, r.lined
FROM unnest(%(name)s::text[], %(tag)s::text[], %(turn)s::bigint[], %(works)s::bigint[],
  %(lined)s::bigint[])
  AS r (name, tag, turn, works, lined)
ON CONFLICT (queue, name) DO UPDATE SET tag = excluded.tag, turn = excluded.turn,
  works = excluded.works, lined = excluded.lined;

-- drop_tenant: it has nothing that a new one would not have
DELETE FROM fairlead.tenants WHERE queue = %(queue)s AND name = %(name)s;

-- drop_tenants: nothing waits and nobody works, so nobody was charged anything
DELETE FROM fairlead.tenants WHERE queue = %(queue)s;

-- set_line: how many tenants can be served, how many groups are held, and the clock of tags
UPDATE fairlead.queues SET tag_clock = %(tag_clock)s, lined = %(lined)s, works = %(works)s, fair = 2
WHERE id = %(queue)s;

-- ready_of_tenant: whether a tenant has a group that can be taken
SELECT 1 FROM fairlead.groups WHERE queue = %(queue)s AND tenant = %(tenant)s AND state = 1 AND fair = 1
ORDER BY k1, k2 LIMIT 1;

-- mark_fair: all groups of a queue are lined up by tenant
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
SELECT g.not_before, 'released', coalesce(g.name, ''),
  CASE WHEN g.name IS NULL
    THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
  (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = g.id), g.tenant, g.priority
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 3
  AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
UNION ALL
SELECT due, 'delayed', coalesce(group_name, ''), key, 1, tenant, coalesce(priority, -1)
FROM fairlead.delayed WHERE queue = %(queue)s AND NOT (conversation IS NOT NULL AND type = 'Error')
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

-- group: one group that lives
SELECT id, tenant FROM fairlead.groups WHERE queue = %(queue)s AND name = %(name)s;

-- group_kept: the same, kept from ending while this transaction runs, if it is not ending already
SELECT id, tenant FROM fairlead.groups WHERE queue = %(queue)s AND name = %(name)s
FOR KEY SHARE SKIP LOCKED;

-- group_place: where a group stands
SELECT id, state, head, arrived, tenant, k1, k2 FROM fairlead.groups
WHERE queue = %(queue)s AND name = %(name)s;

-- count_between: how many ready groups, of a tenant or of all, stand from one place to another
SELECT count(*) FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1
  AND (%(tenant)s::text IS NULL OR g.tenant = %(tenant)s::text)
  AND (g.k1, g.k2) > (%(a1)s, %(a2)s) AND (g.k1, g.k2) < (%(b1)s, %(b2)s);

-- groups_between: the first of these groups
SELECT g.id, g.name, g.tenant, g.priority, g.entered, g.number, g.head, g.arrived
FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1
  AND (%(tenant)s::text IS NULL OR g.tenant = %(tenant)s::text)
  AND (g.k1, g.k2) > (%(a1)s, %(a2)s) AND (g.k1, g.k2) < (%(b1)s, %(b2)s)
ORDER BY g.k1, g.k2 LIMIT %(most)s;

-- metrics: what a queue holds
SELECT (SELECT count(*) FROM fairlead.messages WHERE queue = %(queue)s),
       (SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 1),
       (SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2),
       (SELECT count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 3),
       (SELECT count(*) FROM fairlead.delayed WHERE queue = %(queue)s
         AND NOT (conversation IS NOT NULL AND type = 'Error')),  -- the end of a lifetime
       (SELECT count(*) FROM fairlead.dead WHERE queue = %(queue)s),
       (SELECT min(arrived) FROM fairlead.groups WHERE queue = %(queue)s AND state = 1 AND head > 0),
       (SELECT coalesce(sum(failures), 0)::bigint FROM fairlead.groups WHERE queue = %(queue)s);

-- dead: dead letters
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead.dead WHERE queue = %(queue)s AND id > %(after)s ORDER BY id LIMIT %(most)s;

-- dead_by_key: dead letters of a message
SELECT id, key, group_name, tenant, priority, reason, attempt, died, cost, type, conversation, format,
  body
FROM fairlead.dead WHERE queue = %(queue)s AND key = %(key)s ORDER BY id;

-- drop_dead: they are dead letters no more
DELETE FROM fairlead.dead WHERE queue = %(queue)s AND id = ANY (%(ids)s::bigint[])
RETURNING id;

-- groups_after: groups to be given their places anew, from an id on; not those that are held
SELECT id, priority, entered, number, head, arrived FROM fairlead.groups
WHERE queue = %(queue)s AND id > %(after)s AND state <> 2
ORDER BY id LIMIT %(most)s
FOR NO KEY UPDATE;

-- add_holder: a process that takes work
INSERT INTO fairlead.holders (host, pid, name, since) VALUES (%(host)s, %(pid)s, %(name)s, %(since)s)
RETURNING id;

-- stopping: the process was told to stop; what it holds did not fail
UPDATE fairlead.holders SET stopping = 1 WHERE id = %(id)s;

-- drop_holders: they hold nothing any more
DELETE FROM fairlead.holders h WHERE id = ANY (%(ids)s::bigint[]) AND NOT EXISTS
  (SELECT 1 FROM fairlead.groups g WHERE g.state = 2 AND g.holder = h.id);

-- lock_ready: those of some groups that can be given another place now
SELECT id FROM fairlead.groups WHERE id = ANY (%(ids)s::bigint[]) AND state <> 2
FOR NO KEY UPDATE SKIP LOCKED;

-- lock_alive: this session lives as long as it holds this lock
SELECT pg_advisory_lock_shared(1181641069, %(id)s::int);

-- dead_holders: those of some holders whose session is gone
SELECT h.id FROM fairlead.holders h WHERE h.id = ANY (%(ids)s::bigint[]) AND NOT EXISTS (
  SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = 1181641069
    AND l.objid = h.id AND l.objsubid = 2
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()));

-- server_since: when the server was started
SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;

-- sleep: a store waits for work of a queue
INSERT INTO fairlead.sleepers (queue, holder) VALUES (%(queue)s, %(holder)s) ON CONFLICT DO NOTHING;

-- wake_up: the store waits for nothing any more
DELETE FROM fairlead.sleepers WHERE holder = ANY (%(ids)s::bigint[]);

-- notify: wake one of those who wait for work of a queue, at the commit
SELECT fairlead._wake(%(queue)s);

-- look: whether a group of a queue can be taken, and when one becomes so by itself
SELECT q.id, q.enabled, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 1),
       least((SELECT min(g.not_before) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 3),
         (SELECT min(d.due) FROM fairlead.delayed d WHERE d.queue = q.id)),
       (SELECT min(g.deadline) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 2)
FROM fairlead.queues q WHERE q.name = %(name)s;

-- time: what the server's clock says
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- entries_of: to what groups were raised
SELECT id, priority, entered, number FROM fairlead.groups WHERE id = ANY (%(ids)s::bigint[]);

-- drop_tenant_notices: the tenants are lined up as they stand, whatever was told before
DELETE FROM fairlead.notices WHERE queue = %(queue)s AND kind <> 'raised';

-- has_schema: whether there is a schema of any version
SELECT 1 WHERE to_regclass('fairlead.schema') IS NOT NULL;

-- lock_timeout: how long this transaction waits for each lock
SELECT set_config('lock_timeout', %(milliseconds)s, true);

-- in_the_way: whose transaction holds a lock on the schema, the oldest first
SELECT a.pid, a.usename::text, a.application_name, a.state,
       extract(epoch FROM clock_timestamp() - a.xact_start)::float8
FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid() AND a.pid IN (
  SELECT l.pid FROM pg_locks l
  WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.relation IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('fairlead'))
      OR (l.locktype = 'advisory' AND l.classid = 1181641068)))
ORDER BY a.xact_start LIMIT 1;

-- lock_schema: one process at a time changes the schema
SELECT pg_advisory_xact_lock(1181641068, 0);

-- clear_line: no tenant was charged anything
UPDATE fairlead.queues SET tag_clock = '', lined = 0, works = 0 WHERE id = %(queue)s;

-- send_one: send a message, in one statement
SELECT fairlead._send(%(queue)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s, %(type)s,
  %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(actor)s);

-- try_send_one: the same; what was refused is told, and leaves the transaction as it was
SELECT * FROM fairlead._try_send(%(queue)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s, %(type)s,
  %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(actor)s);

-- take_one: take a group, in one statement
SELECT * FROM fairlead._take(%(queue)s, %(group)s, %(lease)s, %(holder)s, %(most)s, %(actor)s);

-- settle_one: settle a group, in one statement
SELECT fairlead._settle(%(token)s, %(outcome)s, %(given)s::bigint[], %(reason)s, %(delay)s, %(failed)s,
  %(actor)s, %(id)s);

-- try_settle_one: the same; what was refused is told, and leaves the transaction as it was
SELECT * FROM fairlead._try_settle(%(token)s, %(outcome)s, %(given)s::bigint[], %(reason)s, %(delay)s, %(failed)s,
  %(actor)s, %(id)s);

-- set_clock: what a clock of the user's own says
SELECT set_config('fairlead.clock', %(now)s, false);

-- still_held: whether a group is held with a token
SELECT 1 FROM fairlead.groups WHERE id = %(id)s AND token = %(token)s AND state = 2;

-- cluster: a cluster as it stands
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM fairlead.clusters WHERE name = %(name)s;

-- lock_cluster: the same, kept from everybody else until the transaction ends
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM fairlead.clusters WHERE name = %(name)s FOR NO KEY UPDATE;

-- count_choice: one more choice of a cluster, which nobody else can choose in until this ends
UPDATE fairlead.clusters SET taken = taken + 1 WHERE name = %(name)s AND allocation = 'exact'
RETURNING id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken,
          revision, state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- cluster_names: all clusters
SELECT name FROM fairlead.clusters ORDER BY name;

-- add_cluster: a cluster that was not there
INSERT INTO fairlead.clusters (name, allocation, rule, reset_every, version, stamp, first, taken, revision)
VALUES (%(name)s, 'exact', '', 0, -1, '', 0, 0, 0) ON CONFLICT (name) DO NOTHING;

-- set_cluster: where a cluster stands
UPDATE fairlead.clusters SET allocation = %(allocation)s, rule = %(rule)s, reset_every = %(reset_every)s,
  reset_due = %(reset_due)s, due = %(due)s, version = %(version)s, stamp = %(stamp)s, first = %(first)s, taken = %(taken)s,
  revision = %(revision)s, state = %(state)s
WHERE id = %(cluster)s;

-- set_state: the state of a cluster whose choices are not made ahead
UPDATE fairlead.clusters SET revision = %(revision)s, state = %(state)s WHERE id = %(cluster)s;

-- lock_free_cluster: the same, if nobody else has it locked
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM fairlead.clusters WHERE name = %(name)s FOR NO KEY UPDATE SKIP LOCKED;

-- tickets: how many tickets of a cluster were drawn
SELECT fairlead._tickets(%(cluster)s);

-- draw_ticket: the next ticket of a cluster
SELECT nextval(('fairlead.tickets_' || %(cluster)s)::regclass) FROM fairlead._check_isolation();

-- add_version: a cluster after a change
INSERT INTO fairlead.versions (cluster, version, stamp, at, definition)
VALUES (%(cluster)s, %(version)s, %(stamp)s, %(at)s, %(definition)s);

-- version: a cluster at one version
SELECT stamp, at, definition FROM fairlead.versions WHERE cluster = %(cluster)s AND version = %(version)s;

-- add_stretch: choices that are made ahead, or the state from which on they are made one by one
INSERT INTO fairlead.stretches (cluster, first, version, at, number, state, choices)
VALUES (%(cluster)s, %(first)s, %(version)s, %(at)s, %(number)s, %(state)s, %(choices)s);

-- stretch_of: the stretch of a turn
SELECT first, version, number, state, choices FROM fairlead.stretches
WHERE cluster = %(cluster)s AND first <= %(turn)s ORDER BY first DESC, version DESC LIMIT 1;

-- stretch_before: the stretch in which an event happened
SELECT first, version, number, state, choices FROM fairlead.stretches
WHERE cluster = %(cluster)s AND version = %(version)s AND number < %(number)s
ORDER BY first DESC LIMIT 1;

-- add_destination: a destination, or what has changed of it
INSERT INTO fairlead.destinations (cluster, id, name, address, queue)
VALUES (%(cluster)s, %(id)s, %(name)s, %(address)s, %(queue)s)
ON CONFLICT (cluster, id) DO UPDATE SET name = excluded.name, address = excluded.address,
  queue = excluded.queue;

-- destinations: the destinations that a cluster has had
SELECT id, name, address FROM fairlead.destinations WHERE cluster = %(cluster)s ORDER BY id;

-- binding: where messages of a group go
SELECT destination FROM fairlead.bindings WHERE cluster = %(cluster)s AND key = %(key)s;

-- bind: where they go from now on
INSERT INTO fairlead.bindings (cluster, key, destination) VALUES (%(cluster)s, %(key)s, %(destination)s)
ON CONFLICT (cluster, key) DO UPDATE SET destination = excluded.destination;

-- unbind: nothing is bound any more
DELETE FROM fairlead.bindings WHERE cluster = %(cluster)s;

-- add_published: a message whose settlement its cluster waits for
INSERT INTO fairlead.published (queue, key, cluster, destination, part, version)
VALUES (%(queue)s, %(key)s, %(cluster)s, %(destination)s, %(part)s, %(version)s)
ON CONFLICT DO NOTHING;

-- complete: messages that were published are about to be done
INSERT INTO fairlead.completions (cluster, destination, part, version)
SELECT p.cluster, p.destination, p.part, p.version
FROM fairlead.messages m JOIN fairlead.published p ON p.queue = m.queue AND p.key = m.key
WHERE m.id = ANY (%(ids)s::bigint[]) ORDER BY m.id;

-- drop_published: their cluster waits for them no more
DELETE FROM fairlead.published WHERE (queue, key) IN (
  SELECT queue, key FROM fairlead.messages WHERE id = ANY (%(ids)s::bigint[]));

-- add_completion: a message that a cluster chose for is done
INSERT INTO fairlead.completions (cluster, destination, part, version)
VALUES (%(cluster)s, %(destination)s, %(part)s, %(version)s);

-- completions: what was settled since the last choice, by the order in which it was
DELETE FROM fairlead.completions WHERE cluster = %(cluster)s RETURNING id, destination, part, version;

-- set_completing: work of a queue is completed for a cluster
UPDATE fairlead.queues SET completing = 1 WHERE id = %(queue)s AND completing = 0;

-- add_event: record a decision, or what becomes of a cluster
INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, cost, type, actor, detail,
  cluster, version, stream, destination, address, outcome, sequence, said)
VALUES (coalesce(%(id)s, nextval('fairlead.numbers')), %(time)s, %(kind)s, %(queue)s, %(group)s, %(key)s, '', NULL, %(type)s, %(actor)s, %(detail)s, %(cluster)s, %(version)s,
  %(stream)s, %(destination)s, %(address)s, %(outcome)s, %(sequence)s, %(said)s)
RETURNING id;

-- events_of_cluster: what happened to a cluster, one event after another
SELECT id, kind, version, destination, outcome, stream, sequence, detail, said FROM fairlead.journal
WHERE cluster = %(cluster)s AND id > %(after)s AND id < %(until)s ORDER BY id;

-- decision: a decision in the journal
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said
FROM fairlead.journal WHERE id = %(number)s AND kind = 'decided';

-- decisions_about: the decisions about a message in the journal, the latest first
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said
FROM fairlead.journal WHERE cluster = %(cluster)s AND kind = 'decided' AND key <> '' AND key = %(key)s
ORDER BY id DESC;

-- decision_in_place: the decision with a place in a stream
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said
FROM fairlead.journal WHERE cluster = %(cluster)s AND kind = 'decided' AND stream = %(stream)s
  AND sequence = %(sequence)s ORDER BY id DESC LIMIT 1;

-- unbind_from: nothing goes to a destination that has left
DELETE FROM fairlead.bindings WHERE cluster = %(cluster)s AND destination = %(destination)s;

-- loaded_from: what a cluster was loaded from
SELECT loaded FROM fairlead.files WHERE cluster = %(cluster)s;

-- set_loaded: the same
INSERT INTO fairlead.files (cluster, loaded) VALUES (%(cluster)s, %(loaded)s)
ON CONFLICT (cluster) DO UPDATE SET loaded = excluded.loaded;

-- prune_stretches: forget the first stretches of each cluster that were over before a time
DELETE FROM fairlead.stretches WHERE (cluster, first, version) IN (
    SELECT s.cluster, s.first, s.version FROM fairlead._over(%(before)s, %(most)s) s)
RETURNING first;

-- forget_stretches: the same, of those that are older than events are kept, and their versions
SELECT fairlead._forget_stretches(%(now)s, %(most)s);

-- forget_versions: forget the versions of which no stretch is left
DELETE FROM fairlead.versions v USING fairlead.clusters c
WHERE v.cluster = c.id AND v.version < (SELECT s.version FROM fairlead.stretches s
  WHERE s.cluster = c.id ORDER BY s.first, s.version LIMIT 1)
RETURNING v.version;

-- choose_one: choose in a cluster, in one statement; no row where the function cannot
SELECT * FROM fairlead._choose(%(cluster)s, %(group)s, %(key)s, %(type)s::text, %(said)s::text, %(actor)s,
  %(now)s::bigint);

-- publish_one: choose in a cluster and send, in one statement; no row where the function cannot
SELECT * FROM fairlead._publish(%(cluster)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s,
  %(type)s, %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(said)s::text, %(actor)s, false);

-- switch: switch a queue on or off
UPDATE fairlead.queues SET enabled = %(enabled)s WHERE id = %(queue)s AND enabled <> %(enabled)s
RETURNING id;

-- forgive: no group of a queue has failed
UPDATE fairlead.groups SET failures = 0 WHERE queue = %(queue)s AND failures > 0 AND state <> 2;

-- declared: message types, contracts and services
SELECT kind, name, definition FROM fairlead.declared ORDER BY kind, name;

-- revision: how often something was declared
SELECT declared FROM fairlead.schema;

-- declare: a message type, a contract or a service is declared, or declared anew
INSERT INTO fairlead.declared (kind, name, definition) VALUES (%(kind)s, %(name)s, %(definition)s)
ON CONFLICT (kind, name) DO UPDATE SET definition = excluded.definition;

-- has_declared: whoever has read what is declared reads it again
UPDATE fairlead.schema SET declared = declared + 1 RETURNING declared;

-- add_endpoint: one end of a dialog
INSERT INTO fairlead.endpoints (id, handle, dialog, side, service, far_service, contract, queue, group_name,
  began, lifetime)
VALUES (%(id)s, %(handle)s, %(dialog)s, %(side)s, %(service)s, %(far_service)s, %(contract)s, %(queue)s, %(group)s,
  %(began)s, %(lifetime)s);

-- endpoint: the end with a handle
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE handle = %(handle)s;

-- endpoints: some ends
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE id = ANY (%(ids)s::bigint[]);

-- end_of: the end of a dialog on one side
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = %(dialog)s AND side = %(side)s;

-- say: an end sends one more message; nobody else sends for it until this ends
UPDATE fairlead.endpoints SET sent = sent + 1 WHERE id = %(id)s AND state = 1
RETURNING sent, (SELECT declared FROM fairlead.schema);

-- lock_open: whether an end is open; nobody else speaks for it until this ends
SELECT 1 FROM fairlead.endpoints WHERE id = %(id)s AND state = 1 FOR NO KEY UPDATE;

-- fail_endpoint: an end can only be ended
UPDATE fairlead.endpoints SET state = 2 WHERE id = %(id)s AND state = 1;

-- end_endpoint: an end has ended
UPDATE fairlead.endpoints SET state = 3, sent = sent + 1 WHERE id = %(id)s AND state <> 3 RETURNING sent;

-- drop_endpoints: nothing is left of a dialog
DELETE FROM fairlead.endpoints WHERE dialog = %(dialog)s;

-- drop_ended: nothing is left of dialogs of which both ends have ended
DELETE FROM fairlead.endpoints WHERE state = 3 AND dialog = ANY (%(dialogs)s::bigint[]) AND NOT EXISTS (
  SELECT 1 FROM fairlead.endpoints other WHERE other.dialog = fairlead.endpoints.dialog AND other.state <> 3);

-- forget_ended: the same, of all
SELECT fairlead._forget_ended(%(most)s);

-- bind_endpoint: what comes to an end is forwarded to the end of another dialog
UPDATE fairlead.endpoints SET bound = %(bound)s WHERE id = %(id)s AND state <> 3 RETURNING id;

-- drop_delayed: timers of an end, and what its lifetime brings
DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (SELECT id FROM fairlead.delayed
  WHERE conversation = %(conversation)s AND type = ANY (%(types)s::text[]) AND due > %(after)s
  FOR UPDATE SKIP LOCKED));

-- drop_unread: what waits for an end that has ended, but for what its reader was given, or is
-- settling
DELETE FROM fairlead.messages WHERE id = ANY (ARRAY (SELECT id FROM fairlead.messages
  WHERE conversation = %(conversation)s AND NOT id = ANY (%(given)s::bigint[]) FOR UPDATE SKIP LOCKED));

-- of_conversation: the messages of a conversation
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead.messages WHERE conversation = %(conversation)s AND NOT id = ANY (%(given)s::bigint[]) ORDER BY id LIMIT %(most)s;

-- any_of_conversation: whether there is one
SELECT 1 FROM fairlead.messages WHERE conversation = %(conversation)s LIMIT 1;

-- dialogs: the ends of dialogs that are open, the latest first
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = ANY (ARRAY (
  SELECT e.dialog FROM fairlead.endpoints e
  WHERE e.side = 0 AND e.dialog < %(before)s AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead.endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT %(most)s))
ORDER BY dialog DESC, side;

-- dialogs_of: the same, of those in which a service speaks
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = ANY (ARRAY (
  SELECT DISTINCT e.dialog FROM fairlead.endpoints e
  WHERE e.service = %(service)s AND e.dialog < %(before)s AND 3 <> CASE e.state
      WHEN 3 THEN coalesce((SELECT o.state FROM fairlead.endpoints o WHERE o.dialog = e.dialog AND o.side = 1 - e.side), 3)
      ELSE e.state END
  ORDER BY e.dialog DESC LIMIT %(most)s))
ORDER BY dialog DESC, side;

-- ends_of: both ends of a dialog
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = %(dialog)s ORDER BY side;

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
  coalesce((SELECT n.priority FROM fairlead.notices n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END),
  coalesce((SELECT n.number FROM fairlead.notices n WHERE n.group_id = g.id AND n.kind = 'raised'
      AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1),
    CASE g.state WHEN 2 THEN g.was_number ELSE g.number END),
  h.name, g.taken
FROM fairlead.endpoints e JOIN fairlead.queues q ON q.name = e.queue
  JOIN fairlead.groups g ON g.queue = q.id AND g.name = e.group_name
  LEFT JOIN fairlead.holders h ON g.state = 2 AND h.id = g.holder
WHERE e.id = ANY (%(ids)s::bigint[]);

-- open_of_services: how many ends that have not ended each service has
SELECT service, count(*) FROM fairlead.endpoints WHERE state <> 3 GROUP BY service;

-- event: who did something, and when
SELECT time, actor FROM fairlead.journal WHERE id = %(number)s;

-- switched_off: when a queue was switched off for the last time, by whom and why
SELECT time, actor, detail FROM fairlead.journal WHERE kind = 'switched-off' AND queue = %(queue)s
ORDER BY id DESC LIMIT 1;

-- said_in: the group in which a conversation said something
SELECT group_name FROM fairlead.journal
WHERE kind = %(kind)s AND queue = %(queue)s AND key = %(key)s ORDER BY id DESC LIMIT 1;

-- events_of_groups: what happened to some groups
SELECT id, time, kind, group_name, key, tenant, priority, token, actor, detail FROM fairlead.journal
WHERE id > %(after)s AND queue = %(queue)s AND group_name = ANY (%(groups)s::text[])
ORDER BY id LIMIT %(most)s;

-- first_kept: the time of the first event that is kept
SELECT time FROM fairlead.journal ORDER BY id LIMIT 1;

-- serve: a queue is a service's
UPDATE fairlead.queues SET by_library = 1 WHERE id = %(queue)s AND by_library = 0;
