-- On PostgreSQL: the journal, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

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

-- pruned: the last event that was forgotten
SELECT pruned_transaction::text::bigint, pruned_id FROM fairlead.schema;

-- retention: how long events are kept
SELECT journal_keep FROM fairlead.schema;

-- set_retention: keep events so long
UPDATE fairlead.schema SET journal_keep = %(keep)s::bigint;

-- forget_events: the same, of those that are older than events are kept
SELECT fairlead._forget_events(%(now)s, %(most)s);

-- forget_ids: forget the oldest ids of messages, if their time is over
SELECT fairlead._forget_ids(%(now)s, %(most)s);

-- forget_dead: delete dead letters that are older than their queues keep them
SELECT * FROM fairlead._forget_dead(%(now)s, %(most)s);

-- forget_ended: the same, of all
SELECT fairlead._forget_ended(%(most)s);

-- forget_choice_runs: the same, of those that are older than events are kept, and their versions
SELECT fairlead._forget_choice_runs(%(now)s, %(most)s);

-- forget_versions: forget the versions of which no run is left
DELETE FROM fairlead.versions v USING fairlead.clusters c
WHERE v.cluster = c.id AND v.version < (SELECT s.version FROM fairlead.choice_runs s
  WHERE s.cluster = c.id ORDER BY s.first, s.version LIMIT 1)
RETURNING v.version;
