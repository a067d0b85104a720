-- Groups that are made ready and taken, as the library does it.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- Work without a deadline nobody would ever take back.
CREATE OR REPLACE FUNCTION fairlead._check_deadline(p_deadline bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_deadline IS NULL THEN
    PERFORM fairlead._refuse('deadline: found NULL, allowed: a time');
  END IF;
END $$;

-- How a queue is set, for a reader that charges tenants: one at a time.
CREATE OR REPLACE FUNCTION fairlead._run_queue_locked(p_name text)
RETURNS TABLE (
  o_id bigint, o_name text, o_discipline text, o_default_priority bigint, o_step bigint, o_weights text,
  o_fair bigint, o_virtual_time text, o_backlogged bigint, o_in_service bigint, o_max_waiting bigint,
  o_max_failures bigint, o_max_seconds bigint, o_completing bigint, o_enabled bigint, o_poison text, o_by_library bigint,
  o_retry text, o_count_as_failure text, o_keep_dead bigint, o_limits text, o_off_tenants text,
  o_remembered bigint,
  o_time bigint, o_int8 bigint, o_exists boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT id, name, discipline, default_priority, step, weights, fair, virtual_time, backlogged,
      in_service,
           max_waiting, max_failures, max_seconds, completing, enabled, poison, by_library, retry,
           count_as_failure, keep_dead, limits, off_tenants, remembered,
           (SELECT time FROM fairlead.journal ORDER BY id DESC LIMIT 1),
           (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
           EXISTS (SELECT 1 FROM fairlead.listeners s WHERE s.queue = q.id)
    FROM fairlead.queues q WHERE name = p_name
    FOR NO KEY UPDATE;
END $$;

-- Whether the server was started anew after some time, and before now: nobody could extend a lease.
CREATE OR REPLACE FUNCTION fairlead._restarted_since(p_time bigint, p_now bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint BETWEEN p_time AND p_now;

-- Groups whose lease is over, and whether that is their server's fault.
CREATE OR REPLACE FUNCTION fairlead._run_lapsed(p_queue bigint, p_now bigint, p_most bigint)
RETURNS TABLE (o_id bigint, o_token bigint, o_blameless boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT id, token, fairlead._restarted_since(taken, p_now) FROM fairlead.groups
    WHERE queue = p_queue AND state = 2 AND deadline <= p_now
    ORDER BY deadline LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED;
END $$;

-- Give groups their places; not those that a reader has.
CREATE OR REPLACE FUNCTION fairlead._run_place(
  p_priority bigint[], p_entered bigint[], p_number bigint[], p_k1 bigint[], p_k2 bigint[],
  p_head bigint[], p_arrived bigint[], p_id bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.groups g SET priority = r.priority, entered = r.entered, number = r.number, k1 = r.k1,
    k2 = r.k2, head = r.head, arrived = r.arrived
  FROM unnest(p_priority, p_entered, p_number, p_k1,
    p_k2, p_head, p_arrived, p_id)
    AS r (priority, entered, number, k1, k2, head, arrived, id)
  WHERE g.id = r.id AND g.state <> 2;
END $$;
