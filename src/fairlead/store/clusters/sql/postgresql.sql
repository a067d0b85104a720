-- On PostgreSQL: clusters, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

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

-- add_choice_run: choices that are made ahead, or the state from which on they are made one by one
INSERT INTO fairlead.choice_runs (cluster, first, version, at, number, state, choices)
VALUES (%(cluster)s, %(first)s, %(version)s, %(at)s, %(number)s, %(state)s, %(choices)s);

-- choice_run_of: the run of a turn
SELECT first, version, number, state, choices FROM fairlead.choice_runs
WHERE cluster = %(cluster)s AND first <= %(turn)s ORDER BY first DESC, version DESC LIMIT 1;

-- choice_run_before: the run in which an event happened
SELECT first, version, number, state, choices FROM fairlead.choice_runs
WHERE cluster = %(cluster)s AND version = %(version)s AND number < %(number)s
ORDER BY first DESC LIMIT 1;

-- add_destination: a destination, or what has changed of it
INSERT INTO fairlead.destinations (cluster, id, name, address, queue)
VALUES (%(cluster)s, %(id)s, %(name)s, %(address)s, %(queue)s)
ON CONFLICT (cluster, id) DO UPDATE SET name = excluded.name, address = excluded.address,
  queue = excluded.queue;

-- may_change: changes nothing, and is refused to whoever may not change clusters
UPDATE fairlead.destinations SET name = name WHERE false;

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

-- choose_one: choose in a cluster, in one statement; no row where the function cannot
SELECT * FROM fairlead._choose(%(cluster)s, %(group)s, %(key)s, %(type)s::text, %(said)s::text, %(actor)s);

-- publish_one: choose in a cluster and send, in one statement; no row where the function cannot
SELECT * FROM fairlead._publish(%(cluster)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s,
  %(type)s, %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(said)s::text, %(actor)s, false);
