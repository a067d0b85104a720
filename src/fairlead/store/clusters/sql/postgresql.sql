-- On PostgreSQL: clusters, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

-- cluster: a cluster as it stands
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM fairlead.clusters WHERE name = %(name)s;

-- lock_cluster: the same, kept from everybody else until the transaction ends
SELECT * FROM fairlead._run_lock_cluster(%(name)s);

-- count_choice: one more choice of a cluster, which nobody else can choose in until this ends
SELECT * FROM fairlead._run_count_choice(%(name)s);

-- cluster_names: all clusters
SELECT name FROM fairlead.clusters ORDER BY name;

-- add_cluster: a cluster that was not there
SELECT fairlead._run_add_cluster(%(name)s);

-- set_cluster: where a cluster stands
SELECT fairlead._run_set_cluster(
  %(allocation)s, %(rule)s, %(reset_every)s, %(reset_due)s, %(due)s, %(version)s, %(stamp)s, %(first)s,
  %(taken)s, %(revision)s, %(state)s, %(cluster)s);

-- set_state: the state of a cluster whose choices are not made ahead
SELECT fairlead._run_set_state(%(revision)s, %(state)s, %(cluster)s);

-- lock_free_cluster: the same, if nobody else has it locked
SELECT * FROM fairlead._run_lock_free_cluster(%(name)s);

-- tickets: how many tickets of a cluster were drawn
SELECT fairlead._tickets(%(cluster)s);

-- draw_ticket: the next ticket of a cluster
SELECT * FROM fairlead._run_draw_ticket(%(cluster)s);

-- begin_tickets: the tickets of a cluster go on where its choices were counted so far
SELECT fairlead._run_begin_tickets(%(cluster)s, %(turn)s);

-- add_version: a cluster after a change
SELECT fairlead._run_add_version(%(cluster)s, %(version)s, %(stamp)s, %(at)s, %(definition)s);

-- version: a cluster at one version
SELECT stamp, at, definition FROM fairlead.versions WHERE cluster = %(cluster)s AND version = %(version)s;

-- add_choice_run: choices that are made ahead, or the state from which on they are made one by one
SELECT fairlead._run_add_choice_run(
  %(cluster)s, %(first)s, %(version)s, %(at)s, %(number)s, %(state)s, %(choices)s::bigint[]);

-- choice_run_of: the run of a turn
SELECT first, version, number, state, choices FROM fairlead.choice_runs
WHERE cluster = %(cluster)s AND first <= %(turn)s ORDER BY first DESC, version DESC LIMIT 1;

-- choice_run_before: the run in which an event happened
SELECT first, version, number, state, choices FROM fairlead.choice_runs
WHERE cluster = %(cluster)s AND version = %(version)s AND number < %(number)s
ORDER BY first DESC LIMIT 1;

-- add_destination: a destination, or what has changed of it
SELECT fairlead._run_add_destination(%(cluster)s, %(id)s, %(name)s, %(address)s, %(queue)s);

-- destinations: the destinations that a cluster has had
SELECT id, name, address FROM fairlead.destinations WHERE cluster = %(cluster)s ORDER BY id;

-- binding: where messages of a group go
SELECT destination FROM fairlead.bindings WHERE cluster = %(cluster)s AND key = %(key)s;

-- bind: where they go from now on
SELECT fairlead._run_bind(%(cluster)s, %(key)s, %(destination)s);

-- unbind_opener: whoever had opened a queue has closed it
SELECT fairlead._run_unbind_opener(%(cluster)s, %(key)s);

-- unbind: nothing is bound any more
SELECT fairlead._run_unbind(%(cluster)s);

-- add_published: messages of a queue whose settlement their cluster waits for
SELECT fairlead._run_add_published(
  %(queue)s, %(cluster)s, %(key)s::text[], %(destination)s::bigint[], %(part)s::text[], %(version)s::bigint[],
  %(guaranteed)s::bigint[], %(shared)s::bigint[]);

-- add_guaranteed: a guaranteed message was published
SELECT fairlead._run_add_guaranteed(%(id)s, %(cluster)s, %(key)s, %(sequence)s, %(said)s,
  %(delivery)s, %(copies)s, %(at)s, %(due)s);

-- add_acknowledgement: what became of a copy of one, if it is not too late
SELECT fairlead._run_add_acknowledgement(%(guaranteed)s, %(outcome)s, %(reason)s, %(now)s);

-- guaranteed: what is known of a guaranteed message, by a copy of it that waits
SELECT g.id, c.name, g.key, g.sequence, g.said, p.shared
FROM fairlead.published p JOIN fairlead.guaranteed g ON g.id = p.guaranteed JOIN fairlead.clusters c ON c.id = g.cluster
WHERE p.queue = %(queue)s AND p.key = %(key)s;

-- deliveries: how it stands with guaranteed messages
SELECT g.id, g.delivery, g.copies, g.due, (SELECT count(*) FROM fairlead.acknowledgements a
    WHERE a.guaranteed = g.id AND a.outcome = 'acknowledged'),
  (SELECT count(*) FROM fairlead.acknowledgements a WHERE a.guaranteed = g.id AND a.outcome <> 'acknowledged'),
  (SELECT a.reason FROM fairlead.acknowledgements a WHERE a.guaranteed = g.id AND a.outcome <> 'acknowledged'
   ORDER BY a.id LIMIT 1)
FROM fairlead.guaranteed g WHERE g.id = ANY (%(ids)s::bigint[]);

-- add_completion: a message that a cluster chose for is done
SELECT fairlead._run_add_completion(%(cluster)s, %(destination)s, %(part)s, %(version)s);

-- completions: what was settled since the last choice, by the order in which it was
SELECT * FROM fairlead._run_completions(%(cluster)s);

-- set_completing: work of a queue is completed for a cluster
SELECT fairlead._run_set_completing(%(queue)s);

-- add_event: record a decision, or what becomes of a cluster
SELECT * FROM fairlead._run_add_event(
  %(id)s, %(time)s, %(kind)s, %(queue)s, %(group)s, %(key)s, %(type)s, %(actor)s, %(detail)s, %(cluster)s,
  %(version)s, %(stream)s, %(destination)s, %(address)s, %(outcome)s, %(sequence)s, %(said)s);

-- add_journal_decided: record decisions
SELECT fairlead._run_add_decided(
  %(time)s, %(actor)s, %(cluster)s, %(id)s::bigint[], %(group)s::text[], %(key)s::text[], %(type)s::text[],
  %(version)s::bigint[], %(stream)s::text[], %(destination)s::text[], %(address)s::text[],
  %(outcome)s::text[], %(sequence)s::bigint[], %(said)s::text[], %(detail)s::text[], %(run)s);

-- begin_bulk_run: a run has a name, and nobody else's is called so; no row where one was
SELECT * FROM fairlead._run_begin_bulk_run(%(name)s, %(batch)s, %(at)s, %(actor)s);

-- end_bulk_run: how much it has brought
SELECT fairlead._run_end_bulk_run(%(name)s, %(messages)s);

-- begin_staging: begin to bring a run; the number of its table
SELECT * FROM fairlead._run_begin_staging(%(name)s);

-- begin_holding: begin to bring a run that keeps clusters from others; its number
SELECT * FROM fairlead._run_begin_holding(%(name)s, %(clusters)s::text[], %(others)s);

-- hold_clusters: nobody but this transaction chooses in the clusters of a run, until it ends
SELECT fairlead._run_hold_clusters(%(number)s);

-- end_staging: nothing is left of what was brought
SELECT fairlead._run_end_staging(%(number)s);

-- add_reserved: a run has reserved turns of a cluster
SELECT fairlead._run_add_reserved(
  %(number)s, %(cluster)s, %(stamp)s, %(first)s, %(taken)s, %(behind)s);

-- give_back_turns: a run does not use the turns that it has reserved
SELECT fairlead._run_give_back_turns(%(number)s);

-- rank_staged: the order of the messages of a run; how many there are, of each cluster
SELECT * FROM fairlead._run_rank_staged(%(number)s, %(attempts)s::text[], %(rows)s::bigint[]);

-- left_out_staged: some of the messages that are left out
SELECT * FROM fairlead._run_left_out_staged(
  %(number)s, %(attempts)s::text[], %(nobody)s::text[], %(most)s);

-- decide_staged: decide about the messages of a run for one cluster
SELECT * FROM fairlead._run_decide_staged(
  %(number)s, %(cluster)s, %(rows)s, %(first)s, %(version)s, %(choices)s::bigint[], %(actor)s);

-- send_staged: send the messages of a run that were decided about
SELECT fairlead._run_send_staged(%(number)s, %(actor)s);

-- bulk_run: what is known of a run
SELECT batch, at, actor, messages FROM fairlead.bulk_runs WHERE name = %(name)s;

-- events_of_cluster: what happened to a cluster, one event after another
SELECT id, kind, version, destination, outcome, stream, sequence, detail, said FROM fairlead._cluster_events
WHERE cluster = %(cluster)s AND id > %(after)s AND id < %(until)s ORDER BY id;

-- decision: a decision in the journal
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said,
  (SELECT b.name FROM fairlead.bulk_runs b WHERE b.number = _cluster_events.run)
FROM fairlead._cluster_events WHERE id = %(number)s AND kind = 'decided';

-- decisions_about: the decisions about a message in the journal, the latest first
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said,
  (SELECT b.name FROM fairlead.bulk_runs b WHERE b.number = _cluster_events.run)
FROM fairlead._cluster_events WHERE cluster = %(cluster)s AND kind = 'decided' AND key <> '' AND key = %(key)s
ORDER BY id DESC;

-- decision_in_place: the decision with a place in a stream
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said,
  (SELECT b.name FROM fairlead.bulk_runs b WHERE b.number = _cluster_events.run)
FROM fairlead._cluster_events WHERE cluster = %(cluster)s AND kind = 'decided' AND stream = %(stream)s
  AND sequence = %(sequence)s ORDER BY id DESC LIMIT 1;

-- unbind_from: nothing goes to a destination that has left
SELECT fairlead._run_unbind_from(%(cluster)s, %(destination)s);

-- loaded_from: what a cluster was loaded from
SELECT loaded FROM fairlead.files WHERE cluster = %(cluster)s;

-- set_loaded: the same
SELECT fairlead._run_set_loaded(%(cluster)s, %(loaded)s);

-- choose_one: choose in a cluster, in one statement; no row where the function cannot
SELECT * FROM fairlead._choose(%(cluster)s, %(group)s, %(key)s, %(type)s::text, %(said)s::text, %(actor)s);

-- publish_one: choose in a cluster and send, in one statement; no row where the function cannot
SELECT * FROM fairlead._publish(%(cluster)s, %(format)s, %(body)s, %(group)s, %(priority)s, %(key)s,
  %(type)s, %(tenant)s, %(cost)s, %(due)s, %(expires)s, %(said)s::text, %(actor)s, false);

-- unwell: the destinations of a cluster that are not well
SELECT destination, until, cool_down, on_trial FROM fairlead.unwell WHERE cluster = %(cluster)s
ORDER BY destination;

-- set_unwell: how one of them stands from now on
SELECT fairlead._run_set_unwell(
  %(cluster)s, %(destination)s, %(until)s, %(cool_down)s, %(on_trial)s::smallint);

-- drop_unwell: it is well, or somebody else has said how it is
SELECT fairlead._run_drop_unwell(%(cluster)s, %(destination)s);

-- published_as: what its cluster has to know when a message is settled that was published
SELECT cluster, destination, part, version FROM fairlead.published
WHERE queue = %(queue)s AND key = %(key)s;
