-- What an operator sets.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- Change how a queue is set.
CREATE OR REPLACE FUNCTION fairlead._run_set_queue(
  p_discipline text, p_default_priority bigint, p_step bigint, p_weights text, p_max_waiting bigint,
  p_max_failures bigint, p_max_seconds bigint, p_poison text, p_by_library bigint, p_retry text, p_count_as_failure text,
  p_keep_dead bigint, p_limits text, p_remembered bigint, p_fair bigint, p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.queues SET discipline = p_discipline, default_priority = p_default_priority,
    step = p_step, weights = p_weights, max_waiting = p_max_waiting, max_failures = p_max_failures,
    max_seconds = p_max_seconds, poison = p_poison, by_library = greatest(by_library, p_by_library),
    retry = p_retry, count_as_failure = p_count_as_failure, keep_dead = p_keep_dead,
    limits = p_limits,
    remembered = p_remembered, fair = p_fair
  WHERE id = p_queue;
END $$;

-- Forget the first events, if they are before a time, but for the latest event.
CREATE OR REPLACE FUNCTION fairlead._run_prune_journal(p_most bigint, p_before bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    DELETE FROM fairlead.journal WHERE id = ANY (ARRAY (
      SELECT j.id FROM (SELECT id, time FROM fairlead.journal ORDER BY id LIMIT p_most) j
      WHERE j.time < p_before AND j.id < (SELECT max(id) FROM fairlead.journal)))
    RETURNING id;
END $$;

-- Nobody adds messages or takes them away: who does looks at queues, if only to count.
CREATE OR REPLACE FUNCTION fairlead._run_lock_queues()
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  LOCK TABLE fairlead.queues IN ACCESS EXCLUSIVE MODE;
END $$;

-- How many messages a queue holds, which was not limited, or is not any more.
CREATE OR REPLACE FUNCTION fairlead._run_count_length(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  WITH gone AS (DELETE FROM fairlead.length_changes WHERE queue = p_queue)
  INSERT INTO fairlead.length_changes (queue, change)
  SELECT q.id, (SELECT count(*) FROM fairlead.messages m WHERE m.queue = q.id)
    + (SELECT count(*) FROM fairlead.delayed d WHERE d.queue = q.id)
  FROM fairlead.queues q WHERE q.id = p_queue AND q.max_waiting IS NOT NULL;
END $$;

-- Dead letters are so no more.
CREATE OR REPLACE FUNCTION fairlead._run_drop_dead(p_queue bigint, p_ids bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    DELETE FROM fairlead.dead WHERE queue = p_queue AND id = ANY (p_ids)
    RETURNING id;
END $$;

-- A queue is gone, with what was remembered of it.
CREATE OR REPLACE FUNCTION fairlead._run_drop_queue(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.groups WHERE queue = p_queue;
  DELETE FROM fairlead.pending_updates WHERE queue = p_queue;
  DELETE FROM fairlead.message_ids WHERE queue = p_queue;
  DELETE FROM fairlead.tenants WHERE queue = p_queue;
  DELETE FROM fairlead.limit_states WHERE queue = p_queue;
  DELETE FROM fairlead.listeners WHERE queue = p_queue;
  DELETE FROM fairlead.length_changes WHERE queue = p_queue;
  DELETE FROM fairlead.published WHERE queue = p_queue;
  DELETE FROM fairlead.queues WHERE id = p_queue;
END $$;

-- Groups to be given their places anew, from an id on; not those that are held.
CREATE OR REPLACE FUNCTION fairlead._run_groups_after(p_queue bigint, p_after bigint, p_most bigint)
RETURNS TABLE (
  o_id bigint, o_priority bigint, o_entered bigint, o_number bigint, o_head bigint, o_arrived bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT id, priority, entered, number, head, arrived FROM fairlead.groups
    WHERE queue = p_queue AND id > p_after AND state <> 2
    ORDER BY id LIMIT p_most
    FOR NO KEY UPDATE;
END $$;

-- No tenant was charged anything.
CREATE OR REPLACE FUNCTION fairlead._run_clear_line(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.queues SET virtual_time = '', backlogged = 0, in_service = 0 WHERE id = p_queue;
END $$;

-- Forget the first runs of each cluster that were over before a time.
CREATE OR REPLACE FUNCTION fairlead._run_prune_choice_runs(p_before bigint, p_most bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    DELETE FROM fairlead.choice_runs WHERE (cluster, first, version) IN (
        SELECT s.cluster, s.first, s.version FROM fairlead._over(p_before, p_most) s)
    RETURNING first;
END $$;

-- No group of a queue has failed.
CREATE OR REPLACE FUNCTION fairlead._run_forgive(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.groups SET failures = 0 WHERE queue = p_queue AND failures > 0 AND state <> 2;
END $$;

-- Whoever has read what is declared reads it again.
CREATE OR REPLACE FUNCTION fairlead._run_has_declared()
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    UPDATE fairlead.schema SET declared = declared + 1 RETURNING declared;
END $$;

-- A queue is a service's.
CREATE OR REPLACE FUNCTION fairlead._run_serve(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.queues SET by_library = 1 WHERE id = p_queue AND by_library = 0;
END $$;
