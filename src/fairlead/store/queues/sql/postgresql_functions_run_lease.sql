-- Who holds leases, what tenants are charged, and how far limits are used up.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- Groups in the hands of some holders.
CREATE OR REPLACE FUNCTION fairlead._run_held_by(
  p_queue bigint, p_holders bigint[], p_most bigint)
RETURNS TABLE (o_id bigint, o_token bigint, o_taken bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT id, token, taken FROM fairlead.groups
    WHERE queue = p_queue AND state = 2 AND holder = ANY (p_holders)
    LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED;
END $$;

-- A longer lease.
CREATE OR REPLACE FUNCTION fairlead._run_extend(
  p_deadline bigint, p_id bigint, p_token bigint, p_client text)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_deadline(p_deadline);
  RETURN QUERY
    UPDATE fairlead.groups SET deadline = p_deadline, client = coalesce(p_client, client)
    WHERE id = p_id AND token = p_token AND state = 2
    RETURNING id;
END $$;

-- A process that takes work.
CREATE OR REPLACE FUNCTION fairlead._run_add_holder(
  p_host text, p_pid bigint, p_name text, p_since bigint)
RETURNS SETOF integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    INSERT INTO fairlead.lease_holders (host, pid, name, since) VALUES (p_host, p_pid, p_name, p_since)
    RETURNING id;
END $$;

-- A process that takes work lives as long as a session of the server holds a lock.
CREATE OR REPLACE FUNCTION fairlead._run_say_alive(p_id bigint, p_session bigint, p_key bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.lease_holders SET session = p_session, alive = p_key WHERE id = p_id;
END $$;

-- What the process holds did not fail: 1, it was told to stop; 2, it holds for others.
CREATE OR REPLACE FUNCTION fairlead._run_stopping(p_id bigint, p_how bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.lease_holders SET stopping = p_how WHERE id = p_id;
END $$;

-- They hold nothing any more, or have gone and left it to others: no process has the number 0.
CREATE OR REPLACE FUNCTION fairlead._run_drop_lease_holders(p_ids bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.lease_holders h WHERE id = ANY (p_ids) AND NOT EXISTS
    (SELECT 1 FROM fairlead.groups g WHERE g.state = 2 AND g.holder = h.id);
  UPDATE fairlead.lease_holders SET pid = 0 WHERE id = ANY (p_ids);
END $$;

-- A store waits for work of a queue.
CREATE OR REPLACE FUNCTION fairlead._run_add_listener(p_queue bigint, p_holder bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.listeners (queue, holder) VALUES (p_queue, p_holder) ON CONFLICT DO NOTHING;
END $$;

-- The store waits for nothing any more.
CREATE OR REPLACE FUNCTION fairlead._run_drop_listeners(p_ids bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.listeners WHERE holder = ANY (p_ids);
END $$;

-- The lane of a group.
CREATE OR REPLACE FUNCTION fairlead._run_set_lane(p_lane text[], p_id bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.groups g SET lane = r.lane
  FROM unnest(p_lane, p_id) AS r (lane, id) WHERE g.id = r.id;
END $$;

-- Nothing waits and nobody works, so nobody was charged anything.
CREATE OR REPLACE FUNCTION fairlead._run_drop_tenants(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.tenants WHERE queue = p_queue;
END $$;
