-- Groups that are settled, as the library does it.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- Groups with the tokens of who holds them, kept from everybody else until it has settled them.
CREATE OR REPLACE FUNCTION fairlead._run_fence(p_ids bigint[])
RETURNS TABLE (
  o_id bigint, o_queue bigint, o_name text, o_tenant text, o_token bigint, o_was_priority bigint,
  o_was_entered bigint, o_was_number bigint, o_was_turn bigint, o_releases bigint, o_failures bigint,
  o_taken bigint, o_holder bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT id, queue, name, tenant, token, was_priority, was_entered, was_number, was_turn, releases,
      failures, taken, holder
    FROM fairlead.groups WHERE id = ANY (p_ids)
    ORDER BY id FOR NO KEY UPDATE;
END $$;

-- Messages are done; not those of groups that nobody has taken.
CREATE OR REPLACE FUNCTION fairlead._run_drop_messages(p_ids bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.messages m WHERE m.id = ANY (p_ids)
    AND NOT EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.id = m.group_id AND g.state <> 2);
END $$;

-- Switch a queue on or off.
CREATE OR REPLACE FUNCTION fairlead._run_switch(p_enabled bigint, p_queue bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    UPDATE fairlead.queues SET enabled = p_enabled WHERE id = p_queue AND enabled <> p_enabled
    RETURNING id;
END $$;

-- Its cluster waits for a message no more: it goes to another destination, or to none.
CREATE OR REPLACE FUNCTION fairlead._run_unpublish(p_queue bigint, p_key text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.published WHERE queue = p_queue AND key = p_key;
END $$;
