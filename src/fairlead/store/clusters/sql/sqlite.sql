-- On SQLite: clusters, statement by statement. Those of the other database have the
-- same names and columns. A parameter that is a list arrives as JSON.

-- cluster: a cluster as it stands
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, 0
FROM fairlead_clusters WHERE name = :name;

-- lock_cluster: the same, kept from everybody else until the transaction ends
SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
       state, 0
FROM fairlead_clusters WHERE name = :name;

-- count_choice: one more choice of a cluster, which nobody else can choose in until this ends
UPDATE fairlead_clusters SET taken = taken + 1 WHERE name = :name AND allocation = 'exact'
RETURNING id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken,
          revision, state, 0;

-- cluster_names: all clusters
SELECT name FROM fairlead_clusters ORDER BY name;

-- add_cluster: a cluster that was not there
INSERT INTO fairlead_clusters (name, allocation, rule, reset_every, version, stamp, first, taken, revision)
VALUES (:name, 'exact', '', 0, -1, '', 0, 0, 0) ON CONFLICT (name) DO NOTHING;

-- set_cluster: where a cluster stands
UPDATE fairlead_clusters SET allocation = :allocation, rule = :rule, reset_every = :reset_every,
  reset_due = :reset_due, due = :due, version = :version, stamp = :stamp, first = :first, taken = :taken,
  revision = :revision, state = :state
WHERE id = :cluster;

-- set_state: the state of a cluster whose choices are not made ahead
UPDATE fairlead_clusters SET revision = :revision, state = :state WHERE id = :cluster;

-- add_version: a cluster after a change
INSERT INTO fairlead_versions (cluster, version, stamp, at, definition)
VALUES (:cluster, :version, :stamp, :at, :definition);

-- version: a cluster at one version
SELECT stamp, at, definition FROM fairlead_versions WHERE cluster = :cluster AND version = :version;

-- add_choice_run: choices that are made ahead, or the state from which on they are made one by one
INSERT INTO fairlead_choice_runs (cluster, first, version, at, number, state, choices)
VALUES (:cluster, :first, :version, :at, :number, :state, :choices);

-- choice_run_of: the run of a turn
SELECT first, version, number, state, choices FROM fairlead_choice_runs
WHERE cluster = :cluster AND first <= :turn ORDER BY first DESC, version DESC LIMIT 1;

-- choice_run_before: the run in which an event happened
SELECT first, version, number, state, choices FROM fairlead_choice_runs
WHERE cluster = :cluster AND version = :version AND number < :number
ORDER BY first DESC LIMIT 1;

-- add_destination: a destination, or what has changed of it
INSERT INTO fairlead_destinations (cluster, id, name, address, queue)
VALUES (:cluster, :id, :name, :address, :queue)
ON CONFLICT (cluster, id) DO UPDATE SET name = excluded.name, address = excluded.address,
  queue = excluded.queue;

-- destinations: the destinations that a cluster has had
SELECT id, name, address FROM fairlead_destinations WHERE cluster = :cluster ORDER BY id;

-- binding: where messages of a group go
SELECT destination FROM fairlead_bindings WHERE cluster = :cluster AND key = :key;

-- bind: where they go from now on
INSERT INTO fairlead_bindings (cluster, key, destination) VALUES (:cluster, :key, :destination)
ON CONFLICT (cluster, key) DO UPDATE SET destination = excluded.destination;

-- unbind_opener: whoever had opened a queue has closed it
DELETE FROM fairlead_bindings WHERE cluster = :cluster AND key = :key;

-- unbind: nothing is bound any more
DELETE FROM fairlead_bindings WHERE cluster = :cluster;

-- add_published: messages of a queue whose settlement their cluster waits for
INSERT INTO fairlead_published (key, destination, part, version, guaranteed, shared, queue, cluster)
VALUES (:key, :destination, :part, :version, :guaranteed, :shared, :queue, :cluster)
ON CONFLICT DO NOTHING;

-- add_guaranteed: a guaranteed message was published
INSERT INTO fairlead_guaranteed (id, cluster, key, sequence, said, delivery, copies, at, due)
VALUES (:id, :cluster, :key, :sequence, :said, :delivery, :copies, :at, :due);

-- add_acknowledgement: what became of a copy of one, if it is not too late
INSERT INTO fairlead_acknowledgements (guaranteed, outcome, reason)
SELECT id, :outcome, :reason FROM fairlead_guaranteed WHERE id = :guaranteed AND coalesce(due, :now + 1) > :now;

-- guaranteed: what is known of a guaranteed message, by a copy of it that waits
SELECT g.id, c.name, g.key, g.sequence, g.said, p.shared
FROM fairlead_published p JOIN fairlead_guaranteed g ON g.id = p.guaranteed JOIN fairlead_clusters c ON c.id = g.cluster
WHERE p.queue = :queue AND p.key = :key;

-- deliveries: how it stands with guaranteed messages
SELECT g.id, g.delivery, g.copies, g.due, (SELECT count(*) FROM fairlead_acknowledgements a
    WHERE a.guaranteed = g.id AND a.outcome = 'acknowledged'),
  (SELECT count(*) FROM fairlead_acknowledgements a WHERE a.guaranteed = g.id AND a.outcome <> 'acknowledged'),
  (SELECT a.reason FROM fairlead_acknowledgements a WHERE a.guaranteed = g.id AND a.outcome <> 'acknowledged'
   ORDER BY a.id LIMIT 1)
FROM fairlead_guaranteed g WHERE g.id IN (SELECT value FROM json_each(:ids));

-- add_completion: a message that a cluster chose for is done
INSERT INTO fairlead_completions (cluster, destination, part, version)
VALUES (:cluster, :destination, :part, :version);

-- completions: what was settled since the last choice, by the order in which it was
DELETE FROM fairlead_completions WHERE cluster = :cluster RETURNING id, destination, part, version;

-- set_completing: work of a queue is completed for a cluster
UPDATE fairlead_queues SET completing = 1 WHERE id = :queue AND completing = 0;

-- add_event: record a decision, or what becomes of a cluster
INSERT INTO fairlead_journal (id, time, kind, queue, group_name, key, tenant, cost, type, actor, detail,
  cluster, version, stream, destination, address, outcome, sequence, said)
VALUES (:id, :time, :kind, :queue, :group, :key, '', NULL, :type, :actor, :detail, :cluster, :version,
  :stream, :destination, :address, :outcome, :sequence, :said)
RETURNING id;

-- add_journal_decided: record decisions
INSERT INTO fairlead_journal (id, group_name, key, type, version, stream, destination, address, outcome,
  sequence, said, detail, time, kind, queue, tenant, actor, cluster, run)
VALUES (:id, :group, :key, :type, :version, :stream, :destination, :address, :outcome, :sequence, :said,
  :detail, :time, 'decided', '', '', :actor, :cluster, :run);

-- begin_bulk_run: a run has a name, and nobody else's is called so; no row where one was
INSERT INTO fairlead_bulk_runs (name, batch, at, actor, messages) VALUES (:name, :batch, :at, :actor, 0)
ON CONFLICT (name) DO UPDATE SET batch = excluded.batch, at = excluded.at, actor = excluded.actor
  WHERE fairlead_bulk_runs.batch < excluded.batch
RETURNING number;

-- end_bulk_run: how much it has brought
UPDATE fairlead_bulk_runs SET messages = messages + :messages WHERE name = :name;

-- bulk_run: what is known of a run
SELECT batch, at, actor, messages FROM fairlead_bulk_runs WHERE name = :name;

-- events_of_cluster: what happened to a cluster, one event after another
SELECT id, kind, version, destination, outcome, stream, sequence, detail, said FROM fairlead_journal
WHERE cluster = :cluster AND id > :after AND id < :until ORDER BY id;

-- decision: a decision in the journal
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said,
  (SELECT b.name FROM fairlead_bulk_runs b WHERE b.number = fairlead_journal.run)
FROM fairlead_journal WHERE id = :number AND kind = 'decided';

-- decisions_about: the decisions about a message in the journal, the latest first
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said,
  (SELECT b.name FROM fairlead_bulk_runs b WHERE b.number = fairlead_journal.run)
FROM fairlead_journal WHERE cluster = :cluster AND kind = 'decided' AND key <> '' AND key = :key
ORDER BY id DESC;

-- decision_in_place: the decision with a place in a stream
SELECT id, cluster, version, destination, address, outcome, stream, sequence, detail, said,
  (SELECT b.name FROM fairlead_bulk_runs b WHERE b.number = fairlead_journal.run)
FROM fairlead_journal WHERE cluster = :cluster AND kind = 'decided' AND stream = :stream
  AND sequence = :sequence ORDER BY id DESC LIMIT 1;

-- unbind_from: nothing goes to a destination that has left
DELETE FROM fairlead_bindings WHERE cluster = :cluster AND destination = :destination;

-- loaded_from: what a cluster was loaded from
SELECT loaded FROM fairlead_files WHERE cluster = :cluster;

-- set_loaded: the same
INSERT INTO fairlead_files (cluster, loaded) VALUES (:cluster, :loaded)
ON CONFLICT (cluster) DO UPDATE SET loaded = excluded.loaded;

-- unwell: the destinations of a cluster that are not well
SELECT destination, until, cool_down, on_trial FROM fairlead_unwell WHERE cluster = :cluster
ORDER BY destination;

-- set_unwell: how one of them stands from now on
INSERT INTO fairlead_unwell (cluster, destination, until, cool_down, on_trial)
VALUES (:cluster, :destination, :until, :cool_down, :on_trial)
ON CONFLICT (cluster, destination) DO UPDATE SET until = excluded.until,
  cool_down = excluded.cool_down, on_trial = excluded.on_trial;

-- drop_unwell: it is well, or somebody else has said how it is
DELETE FROM fairlead_unwell WHERE cluster = :cluster AND destination = :destination;

-- published_as: what its cluster has to know when a message is settled that was published
SELECT cluster, destination, part, version FROM fairlead_published
WHERE queue = :queue AND key = :key;
