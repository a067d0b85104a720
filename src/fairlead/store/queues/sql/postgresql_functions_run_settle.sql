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

-- Messages become dead letters.
CREATE OR REPLACE FUNCTION fairlead._run_bury(
  p_died bigint, p_reason text, p_attempt bigint, p_priority bigint, p_ids bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority, key, cost,
    type, conversation, format, body)
  SELECT abs(m.id), m.queue, p_died, p_reason, p_attempt, g.name, g.tenant, p_priority, m.key, m.cost,
    m.type,
    m.conversation, m.format, m.body
  FROM fairlead.messages m JOIN fairlead.groups g ON g.id = m.group_id
  WHERE m.id = ANY (p_ids) AND g.state = 2;
END $$;

-- A group is not held any more.
CREATE OR REPLACE FUNCTION fairlead._run_put_back(
  p_state bigint[], p_not_before bigint[], p_priority bigint[], p_entered bigint[], p_number bigint[],
  p_k1 bigint[], p_k2 bigint[], p_head bigint[], p_arrived bigint[], p_releases bigint[],
  p_failures bigint[], p_id bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.groups g SET state = r.state, not_before = r.not_before, priority = r.priority,
    entered = r.entered, number = r.number, k1 = r.k1, k2 = r.k2, head = r.head, arrived = r.arrived,
    releases = r.releases, failures = r.failures, token = NULL, holder = NULL, deadline = NULL,
    client = NULL
  FROM unnest(p_state, p_not_before, p_priority, p_entered,
    p_number, p_k1, p_k2, p_head,
    p_arrived, p_releases, p_failures, p_id)
    AS r (state, not_before, priority, entered, number, k1, k2, head, arrived, releases, failures, id)
  WHERE g.id = r.id;
END $$;

-- Those of some groups to which nobody is sending.
CREATE OR REPLACE FUNCTION fairlead._run_lock_ended(p_ids bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT id FROM fairlead.groups WHERE id = ANY (p_ids) FOR UPDATE SKIP LOCKED;
END $$;

-- Groups of which nothing is left.
CREATE OR REPLACE FUNCTION fairlead._run_end_groups(p_ids bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.groups g WHERE g.id = ANY (p_ids)
    AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id);
END $$;

-- Messages without a group are done, if the reader still holds them.
CREATE OR REPLACE FUNCTION fairlead._run_end_lone(p_id bigint[], p_token bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    DELETE FROM fairlead.groups g
    USING unnest(p_id, p_token) AS held (id, token)
    WHERE g.id = held.id AND g.token = held.token AND g.state = 2
    RETURNING g.id;
END $$;

-- Messages whose own groups have ended.
CREATE OR REPLACE FUNCTION fairlead._run_drop_lone(p_id bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.messages m WHERE m.group_id = ANY (p_id)
    AND NOT EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.id = m.group_id);
END $$;

-- Switch a queue on or off.
CREATE OR REPLACE FUNCTION fairlead._run_switch(p_enabled bigint, p_queue bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    UPDATE fairlead.queues SET enabled = p_enabled WHERE id = p_queue AND enabled <> p_enabled
    RETURNING id;
END $$;

-- Messages that were published are about to be done.
CREATE OR REPLACE FUNCTION fairlead._run_complete(p_ids bigint[], p_now bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._complete(p_ids, p_now);
END $$;

-- Its cluster waits for a message no more: it goes to another destination, or to none.
CREATE OR REPLACE FUNCTION fairlead._run_unpublish(p_queue bigint, p_key text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.published WHERE queue = p_queue AND key = p_key;
END $$;

-- Nothing is left of dialogs of which both ends have ended.
CREATE OR REPLACE FUNCTION fairlead._run_drop_ended(p_dialogs bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.endpoints WHERE state = 3 AND dialog = ANY (p_dialogs) AND NOT EXISTS (
    SELECT 1 FROM fairlead.endpoints other WHERE other.dialog = fairlead.endpoints.dialog
      AND other.state <> 3);
END $$;
