-- What the library writes of clusters.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- A cluster as it stands, kept from everybody else until the transaction ends.
CREATE OR REPLACE FUNCTION fairlead._run_lock_cluster(p_name text)
RETURNS TABLE (
  o_id bigint, o_name text, o_allocation text, o_rule text, o_reset_every bigint, o_reset_due bigint,
  o_due bigint, o_version bigint, o_stamp text, o_first bigint, o_taken bigint, o_revision bigint,
  o_state text, o_int8 bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._await_run(p_name, true);
  RETURN QUERY
    SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
           state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    FROM fairlead.clusters WHERE name = p_name FOR NO KEY UPDATE;
END $$;

-- One more choice of a cluster, which nobody else can choose in until this ends.
CREATE OR REPLACE FUNCTION fairlead._run_count_choice(p_name text)
RETURNS TABLE (
  o_id bigint, o_name text, o_allocation text, o_rule text, o_reset_every bigint, o_reset_due bigint,
  o_due bigint, o_version bigint, o_stamp text, o_first bigint, o_taken bigint, o_revision bigint,
  o_state text, o_int8 bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._await_run(p_name, false);
  RETURN QUERY
    UPDATE fairlead.clusters SET taken = taken + 1 WHERE name = p_name AND allocation = 'exact'
    RETURNING id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken,
              revision, state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
END $$;

-- A cluster that was not there.
CREATE OR REPLACE FUNCTION fairlead._run_add_cluster(p_name text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.clusters (name, allocation, rule, reset_every, version, stamp, first, taken,
    revision)
  VALUES (p_name, 'exact', '', 0, -1, '', 0, 0, 0) ON CONFLICT (name) DO NOTHING;
END $$;

-- Where a cluster stands.
CREATE OR REPLACE FUNCTION fairlead._run_set_cluster(
  p_allocation text, p_rule text, p_reset_every bigint, p_reset_due bigint, p_due bigint,
  p_version bigint, p_stamp text, p_first bigint, p_taken bigint, p_revision bigint, p_state text,
  p_cluster bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.clusters SET allocation = p_allocation, rule = p_rule, reset_every = p_reset_every,
    reset_due = p_reset_due, due = p_due, version = p_version, stamp = p_stamp, first = p_first,
    taken = p_taken, revision = p_revision, state = p_state
  WHERE id = p_cluster;
END $$;

-- The state of a cluster whose choices are not made ahead.
CREATE OR REPLACE FUNCTION fairlead._run_set_state(p_revision bigint, p_state text, p_cluster bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.clusters SET revision = p_revision, state = p_state WHERE id = p_cluster;
END $$;

-- The same, if nobody else has it locked.
CREATE OR REPLACE FUNCTION fairlead._run_lock_free_cluster(p_name text)
RETURNS TABLE (
  o_id bigint, o_name text, o_allocation text, o_rule text, o_reset_every bigint, o_reset_due bigint,
  o_due bigint, o_version bigint, o_stamp text, o_first bigint, o_taken bigint, o_revision bigint,
  o_state text, o_int8 bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision,
           state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    FROM fairlead.clusters WHERE name = p_name FOR NO KEY UPDATE SKIP LOCKED;
END $$;

-- The next ticket of a cluster.
CREATE OR REPLACE FUNCTION fairlead._run_draw_ticket(p_cluster bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT nextval(('fairlead.tickets_' || p_cluster)::regclass) FROM fairlead._check_isolation();
END $$;

-- A cluster after a change.
CREATE OR REPLACE FUNCTION fairlead._run_add_version(
  p_cluster bigint, p_version bigint, p_stamp text, p_at bigint, p_definition text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.versions (cluster, version, stamp, at, definition)
  VALUES (p_cluster, p_version, p_stamp, p_at, p_definition);
END $$;

-- Choices that are made ahead, or the state from which on they are made one by one.
CREATE OR REPLACE FUNCTION fairlead._run_add_choice_run(
  p_cluster bigint, p_first bigint, p_version bigint, p_at bigint, p_number bigint, p_state text,
  p_choices bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.choice_runs (cluster, first, version, at, number, state, choices)
  VALUES (p_cluster, p_first, p_version, p_at, p_number, p_state, p_choices);
END $$;

-- A destination, or what has changed of it.
CREATE OR REPLACE FUNCTION fairlead._run_add_destination(
  p_cluster bigint, p_id bigint, p_name text, p_address text, p_queue text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.destinations (cluster, id, name, address, queue)
  VALUES (p_cluster, p_id, p_name, p_address, p_queue)
  ON CONFLICT (cluster, id) DO UPDATE SET name = excluded.name, address = excluded.address,
    queue = excluded.queue;
END $$;

-- Where messages of a group go from now on.
CREATE OR REPLACE FUNCTION fairlead._run_bind(p_cluster bigint, p_key text, p_destination text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.bindings (cluster, key, destination) VALUES (p_cluster, p_key, p_destination)
  ON CONFLICT (cluster, key) DO UPDATE SET destination = excluded.destination;
END $$;

-- Nothing of a cluster is bound any more.
CREATE OR REPLACE FUNCTION fairlead._run_unbind(p_cluster bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.bindings WHERE cluster = p_cluster;
END $$;

-- Nothing goes to a destination that has left.
CREATE OR REPLACE FUNCTION fairlead._run_unbind_from(p_cluster bigint, p_destination text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.bindings WHERE cluster = p_cluster AND destination = p_destination;
END $$;

-- How a destination that is not well stands from now on.
CREATE OR REPLACE FUNCTION fairlead._run_set_unwell(
  p_cluster bigint, p_destination text, p_until bigint, p_cool_down bigint, p_on_trial smallint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.unwell (cluster, destination, until, cool_down, on_trial)
  VALUES (p_cluster, p_destination, p_until, p_cool_down, p_on_trial)
  ON CONFLICT (cluster, destination) DO UPDATE SET until = excluded.until,
    cool_down = excluded.cool_down, on_trial = excluded.on_trial;
END $$;

-- A destination is well, or somebody else has said how it is.
CREATE OR REPLACE FUNCTION fairlead._run_drop_unwell(p_cluster bigint, p_destination text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.unwell WHERE cluster = p_cluster AND destination = p_destination;
END $$;

-- Messages of a queue whose settlement their cluster waits for.
CREATE OR REPLACE FUNCTION fairlead._run_add_published(
  p_queue bigint, p_cluster bigint, p_key text[], p_destination bigint[], p_part text[], p_version bigint[],
  p_guaranteed bigint[], p_shared bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_part(p.part) FROM (SELECT DISTINCT x.part FROM unnest(p_part) AS x (part)) p;
  INSERT INTO fairlead.published (queue, key, cluster, destination, part, version, guaranteed, shared)
  SELECT p_queue, r.key, p_cluster, r.destination, r.part, r.version, r.guaranteed, r.shared
  FROM unnest(p_key, p_destination, p_part, p_version, p_guaranteed, p_shared)
    AS r (key, destination, part, version, guaranteed, shared)
  ON CONFLICT DO NOTHING;
END $$;

-- A guaranteed message was published.
CREATE OR REPLACE FUNCTION fairlead._run_add_guaranteed(
  p_id bigint, p_cluster bigint, p_key text, p_sequence bigint, p_said text, p_delivery text,
  p_copies bigint, p_at bigint, p_due bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_asked(NULL, p_key, NULL, NULL, coalesce(p_said, ''));  -- there is always an object
  INSERT INTO fairlead.guaranteed (id, cluster, key, sequence, said, delivery, copies, at, due)
  VALUES (p_id, p_cluster, p_key, p_sequence, p_said, p_delivery, p_copies, p_at, p_due);
END $$;

-- What became of a copy of one, if it is not too late.
CREATE OR REPLACE FUNCTION fairlead._run_add_acknowledgement(
  p_guaranteed bigint, p_outcome text, p_reason text, p_now bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.acknowledgements (guaranteed, outcome, reason)
  SELECT g.id, p_outcome, p_reason FROM fairlead.guaranteed g
  WHERE g.id = p_guaranteed AND coalesce(g.due, p_now + 1) > p_now;
END $$;

-- A message that a cluster chose for is done.
CREATE OR REPLACE FUNCTION fairlead._run_add_completion(
  p_cluster bigint, p_destination bigint, p_part text, p_version bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_part(p_part);
  INSERT INTO fairlead.completions (cluster, destination, part, version)
  VALUES (p_cluster, p_destination, p_part, p_version);
END $$;

-- What was settled since the last choice, by the order in which it was.
CREATE OR REPLACE FUNCTION fairlead._run_completions(p_cluster bigint)
RETURNS TABLE (o_id bigint, o_destination bigint, o_part text, o_version bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    DELETE FROM fairlead.completions WHERE cluster = p_cluster RETURNING id, destination, part, version;
END $$;

-- Work of a queue is completed for a cluster.
CREATE OR REPLACE FUNCTION fairlead._run_set_completing(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.queues SET completing = 1 WHERE id = p_queue AND completing = 0;
END $$;

-- Record a decision, or what becomes of a cluster.
CREATE OR REPLACE FUNCTION fairlead._run_add_event(
  p_id bigint, p_time bigint, p_kind text, p_queue text, p_group text, p_key text, p_type text,
  p_actor text, p_detail text, p_cluster text, p_version bigint, p_stream text, p_destination text,
  p_address text, p_outcome text, p_sequence bigint, p_said text)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_events(ARRAY[p_kind], p_time, ARRAY[p_id]);
  IF p_kind = 'decided' THEN
    PERFORM fairlead._check_asked(p_group, p_key, p_type, p_actor, p_said);
  ELSIF p_kind = 'completed' THEN
    PERFORM fairlead._check_part(p_said);
    IF p_detail IS NULL OR p_detail !~ '^[0-9]{1,18}$' THEN
      PERFORM fairlead._refuse('detail: found none that is a destination, allowed: its number');
    END IF;
  END IF;
  RETURN QUERY
    INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, cost, type, actor, detail,
      cluster, version, stream, destination, address, outcome, sequence, said)
    VALUES (coalesce(p_id, nextval('fairlead.numbers')), p_time, p_kind, p_queue, p_group, p_key, '', NULL,
      p_type, p_actor, p_detail, p_cluster, p_version,
      p_stream, p_destination, p_address, p_outcome, p_sequence, p_said)
    RETURNING id;
END $$;

-- Record decisions, as _run_add_event does one.
CREATE OR REPLACE FUNCTION fairlead._run_add_decided(
  p_time bigint, p_actor text, p_cluster text, p_id bigint[], p_group text[], p_key text[], p_type text[],
  p_version bigint[], p_stream text[], p_destination text[], p_address text[], p_outcome text[],
  p_sequence bigint[], p_said text[], p_detail text[], p_run bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_events('{decided}', p_time, p_id);
  PERFORM fairlead._check_asked(r."group", r.key, r.type, p_actor, r.said)
    FROM unnest(p_group, p_key, p_type, p_said) AS r ("group", key, type, said);
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, type, actor, detail, cluster,
    version, stream, destination, address, outcome, sequence, said, run)
  SELECT coalesce(r.id, nextval('fairlead.numbers')), p_time, 'decided', '', r."group", r.key, '', r.type,
    p_actor, r.detail, p_cluster, r.version, r.stream, r.destination, r.address, r.outcome, r.sequence, r.said, p_run
  FROM unnest(p_id, p_group, p_key, p_type, p_version, p_stream, p_destination, p_address, p_outcome,
      p_sequence, p_said, p_detail)
    AS r (id, "group", key, type, version, stream, destination, address, outcome, sequence, said, detail);
END $$;

-- A run of many messages has a name. Whoever finds one of another transaction waits for its end.
CREATE OR REPLACE FUNCTION fairlead._run_begin_bulk_run(p_name text, p_batch bigint, p_at bigint, p_actor text)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF fairlead._is_name(p_name) IS NOT TRUE OR p_batch IS NULL OR p_batch < 0 THEN
    PERFORM fairlead._refuse('run: found no name or no number, allowed: a text of printable characters, and '
      'an integer from 0');
  END IF;
  RETURN QUERY
    INSERT INTO fairlead.bulk_runs AS b (name, batch, at, actor, messages)
    VALUES (p_name, p_batch, p_at, p_actor, 0)
    ON CONFLICT (name) DO UPDATE SET batch = excluded.batch, at = excluded.at, actor = excluded.actor
      WHERE b.batch < excluded.batch
    RETURNING b.number;
END $$;

-- How much a run has brought.
CREATE OR REPLACE FUNCTION fairlead._run_end_bulk_run(p_name text, p_messages bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.bulk_runs SET messages = messages + p_messages WHERE name = p_name AND p_messages >= 0;
END $$;

-- What a cluster was loaded from.
CREATE OR REPLACE FUNCTION fairlead._run_set_loaded(p_cluster bigint, p_loaded text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.files (cluster, loaded) VALUES (p_cluster, p_loaded)
  ON CONFLICT (cluster) DO UPDATE SET loaded = excluded.loaded;
END $$;

-- The tickets of a cluster go on where its choices were counted so far.
CREATE OR REPLACE FUNCTION fairlead._run_begin_tickets(p_cluster bigint, p_turn bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('CREATE SEQUENCE IF NOT EXISTS fairlead.tickets_%s MINVALUE 0 START 0', p_cluster);
  PERFORM setval(format('fairlead.tickets_%s', p_cluster)::regclass, p_turn, false);
END $$;

-- Whoever had opened a queue has closed it.
CREATE OR REPLACE FUNCTION fairlead._run_unbind_opener(p_cluster bigint, p_key text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.bindings WHERE cluster = p_cluster AND key = p_key;
END $$;
