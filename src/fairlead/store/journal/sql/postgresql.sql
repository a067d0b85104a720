-- On PostgreSQL: the journal, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

-- add_journal: record an event
SELECT fairlead._run_add_journal(
  %(time)s, %(queue)s, %(actor)s, %(id)s::bigint[], %(kind)s::text[], %(group)s::text[], %(key)s::text[],
  %(tenant)s::text[], %(priority)s::bigint[], %(cost)s::bigint[], %(type)s::text[], %(attempt)s::bigint[],
  %(token)s::bigint[], %(lease)s::bigint[], %(detail)s::text[]);

-- journal: events after a place in the journal and up to another one, by the index of places: a plan for any numbers would
-- read all from the first number on. Of a range of numbers the planner believes that it leaves next to nothing, and
-- then it sorts all that is left of the journal for each page; of a CASE it believes that it leaves half
SELECT id, transaction::text::bigint, time, kind, queue, group_name, key, tenant, priority, cost, type,
  attempt, token, actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said,
  login
FROM fairlead.journal
WHERE (transaction, id) > (%(transaction)s::text::xid8, %(after)s) AND CASE WHEN id >= %(first)s THEN id < %(until)s END
  AND (transaction, id) <= (%(last_transaction)s::text::xid8, %(last)s)
  AND (%(queue)s::text IS NULL OR queue = %(queue)s) AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s)
  AND (%(group)s::text IS NULL OR group_name = %(group)s) AND (%(id)s::text IS NULL OR key = %(id)s)
  AND (%(actor)s::text IS NULL OR starts_with(actor, %(actor)s))
  AND (%(kind)s::text IS NULL OR kind = ANY (string_to_array(%(kind)s, ','))) AND (%(start)s::bigint IS NULL OR time >= %(start)s)
  AND (%(end)s::bigint IS NULL OR time < %(end)s)
  AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
    ELSE pg_snapshot_xmin(pg_current_snapshot()) END
ORDER BY journal.transaction, journal.id LIMIT %(most)s;

-- latest: the latest event that can be read now, or one before it
SELECT transaction::text::bigint, id FROM fairlead.journal
WHERE CASE WHEN id >= %(first)s THEN id < %(until)s END
  AND (%(queue)s::text IS NULL OR queue = %(queue)s) AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s)
  AND (%(group)s::text IS NULL OR group_name = %(group)s) AND (%(id)s::text IS NULL OR key = %(id)s)
  AND (%(actor)s::text IS NULL OR starts_with(actor, %(actor)s))
  AND (%(kind)s::text IS NULL OR kind = ANY (string_to_array(%(kind)s, ','))) AND (%(start)s::bigint IS NULL OR time >= %(start)s)
  AND (%(end)s::bigint IS NULL OR time < %(end)s)
  AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
  ELSE pg_snapshot_xmin(pg_current_snapshot()) END
ORDER BY journal.transaction DESC, journal.id DESC LIMIT 1 OFFSET %(back)s;

-- place_of_number: where the first event with this number or a later one stands, and when it was
SELECT transaction::text::bigint, id, time FROM fairlead.journal WHERE id >= %(number)s ORDER BY id LIMIT 1;

-- journal_before: the latest events before a place, of so many that are looked at
SELECT id, transaction::text::bigint, time, kind, queue, group_name, key, tenant, priority, cost, type,
  attempt, token, actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said,
  login
FROM (SELECT * FROM fairlead.journal
  WHERE (transaction, id) < (%(transaction)s::text::xid8, %(before)s)
    AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
      ELSE pg_snapshot_xmin(pg_current_snapshot()) END
  ORDER BY journal.transaction DESC, journal.id DESC LIMIT %(look)s) looked
WHERE id >= %(first)s AND id < %(until)s
  AND (%(queue)s::text IS NULL OR queue = %(queue)s) AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s)
  AND (%(group)s::text IS NULL OR group_name = %(group)s) AND (%(id)s::text IS NULL OR key = %(id)s)
  AND (%(actor)s::text IS NULL OR starts_with(actor, %(actor)s))
  AND (%(kind)s::text IS NULL OR kind = ANY (string_to_array(%(kind)s, ','))) AND (%(start)s::bigint IS NULL OR time >= %(start)s)
  AND (%(end)s::bigint IS NULL OR time < %(end)s)
ORDER BY looked.transaction DESC, looked.id DESC LIMIT %(most)s;

-- look_before: the last one of the events before a place, of so many that are looked at
SELECT transaction::text::bigint, id, time FROM fairlead.journal
WHERE (transaction, id) < (%(transaction)s::text::xid8, %(before)s)
  AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
    ELSE pg_snapshot_xmin(pg_current_snapshot()) END
ORDER BY journal.transaction DESC, journal.id DESC LIMIT 1 OFFSET %(look)s - 1;

-- look_after: the last one of the events after a place, of so many that are looked at
SELECT transaction::text::bigint, id, time FROM fairlead.journal
WHERE (transaction, id) > (%(transaction)s::text::xid8, %(after)s)
  AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
    ELSE pg_snapshot_xmin(pg_current_snapshot()) END
ORDER BY journal.transaction, journal.id LIMIT 1 OFFSET %(look)s - 1;

-- count_events: how many events of each queue, kind and minute a part of the journal has, and where that ends
WITH page AS MATERIALIZED (
  SELECT transaction, id, queue, kind, time / 60000000 AS minute FROM fairlead.journal
  WHERE (transaction, id) > (%(transaction)s::text::xid8, %(after)s) AND CASE WHEN id >= %(first)s THEN id < %(until)s END
    AND transaction < CASE WHEN %(over)s::boolean THEN '18446744073709551615'::xid8
      ELSE pg_snapshot_xmin(pg_current_snapshot()) END
  ORDER BY journal.transaction, journal.id LIMIT %(most)s),
last AS (SELECT transaction, id FROM page ORDER BY transaction DESC, id DESC LIMIT 1)
SELECT p.queue, p.kind, p.minute, count(*), l.transaction::text::bigint, l.id FROM page p CROSS JOIN last l
GROUP BY p.queue, p.kind, p.minute, l.transaction, l.id;

-- epochs: the events with which the epochs of the journal begin, but for the first one
SELECT first FROM fairlead.epochs ORDER BY first;

-- add_epoch: a new epoch begins with an event
SELECT fairlead._run_add_epoch(%(first)s, %(began)s);

-- skip_numbers: number on behind all that there is, where data was restored without its sequence
SELECT * FROM fairlead._run_skip_numbers();

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
SELECT fairlead._run_set_retention(%(keep)s);

-- forget_events: the same, of those that are older than events are kept
SELECT fairlead._forget_events(%(now)s, %(most)s);

-- forget_ids: forget the oldest ids of messages, if their time is over
SELECT fairlead._forget_ids(%(now)s, %(most)s);

-- forget_guaranteed: forget the oldest guaranteed messages of which no copy waits, if their time is over
SELECT fairlead._forget_guaranteed(%(now)s, %(most)s);

-- forget_dead: delete dead letters that are older than their queues keep them
SELECT * FROM fairlead._forget_dead(%(now)s, %(most)s);

-- forget_ended: the same, of all
SELECT fairlead._forget_ended(%(most)s);

-- forget_choice_runs: the same, of those that are older than events are kept, and their versions
SELECT fairlead._forget_choice_runs(%(now)s, %(most)s);

-- keep_guaranteed: forget_guaranteed does so, too

-- forget_acknowledgements: forget_guaranteed does so, too

-- forget_versions: forget the versions of which no run is left
SELECT * FROM fairlead._run_forget_versions();

-- sweep_runs: drop what runs of many messages have left behind whose process is gone
SELECT * FROM fairlead._run_sweep_staging();
