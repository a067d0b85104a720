-- Messages that arrive, as the library lets them.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- Create a queue with the defaults.
CREATE OR REPLACE FUNCTION fairlead._run_add_queue(p_name text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._queue(p_name, true);
END $$;

-- Somebody sends for a tenant; the next reader lines the tenants up.
CREATE OR REPLACE FUNCTION fairlead._run_set_fair(p_queue bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.queues SET fair = 1 WHERE id = p_queue AND fair = 0;
END $$;

-- The groups that live, kept from ending while this transaction runs.
CREATE OR REPLACE FUNCTION fairlead._run_groups_by_name(p_queue bigint, p_names text[])
RETURNS TABLE (o_name text, o_id bigint, o_tenant text, o_state bigint, o_head bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT name, id, tenant, state, head FROM fairlead.groups
    WHERE queue = p_queue AND name = ANY (p_names)
    ORDER BY name FOR KEY SHARE;
END $$;

-- Begin a group.
CREATE OR REPLACE FUNCTION fairlead._run_add_group(
  p_queue bigint, p_fair bigint, p_arrived bigint, p_id bigint[], p_name text[], p_tenant text[],
  p_k1 bigint[], p_k2 bigint[], p_priority bigint[], p_entered bigint[], p_number bigint[], p_lane text[])
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered, number,
      head, arrived, lane)
    SELECT r.id, p_queue, r.name, r.tenant, p_fair, 1, r.k1, r.k2, r.priority, r.entered, r.number,
      r.id, p_arrived, r.lane
    FROM unnest(p_id, p_name, p_tenant, p_k1,
      p_k2, p_priority, p_entered, p_number,
      p_lane)
      AS r (id, name, tenant, k1, k2, priority, entered, number, lane)
    ON CONFLICT DO NOTHING
    RETURNING id;
END $$;

-- Begin groups of messages that have none, and no tenant; nobody has raised them.
CREATE OR REPLACE FUNCTION fairlead._run_add_lone(
  p_queue bigint, p_fair bigint, p_k1 bigint, p_arrived bigint, p_lane text, p_ids bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.groups (id, queue, tenant, fair, state, k1, k2, head, arrived, lane)
  SELECT value, p_queue, '', p_fair, 1, p_k1, value, value, p_arrived, p_lane
  FROM unnest(p_ids) AS i (value);
END $$;

-- A message arrives.
CREATE OR REPLACE FUNCTION fairlead._run_add_message(
  p_queue bigint, p_arrived bigint, p_body bytea, p_id bigint[], p_group_id bigint[], p_key text[],
  p_expires bigint[], p_cost bigint[], p_type text[], p_conversation bigint[], p_format bigint[],
  p_body_begin integer[], p_body_length integer[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, expires, cost, type, conversation,
    format, body)
  SELECT r.id, p_queue, r.group_id, r.key, p_arrived, r.expires, r.cost, r.type, r.conversation, r.format,
    substr(p_body, r.body_begin, r.body_length)
  FROM unnest(p_id, p_group_id, p_key, p_expires,
    p_cost, p_type, p_conversation, p_format,
    p_body_begin, p_body_length)
    AS r (id, group_id, key, expires, cost, type, conversation, format, body_begin, body_length);
END $$;

-- Remember ids of messages that were published in a cluster: those that were not known, or whose time is
-- over.
CREATE OR REPLACE FUNCTION fairlead._run_add_message_ids(
  p_queue bigint, p_at bigint, p_keys text[], p_digests text[], p_before bigint)
RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    INSERT INTO fairlead.message_ids (queue, key, at, digest)
    SELECT p_queue, i.key, p_at, i.digest
    FROM unnest(p_keys, p_digests) AS i (key, digest)
    WHERE p_queue < 0
    ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
      WHERE fairlead.message_ids.at < p_before
    RETURNING key;
END $$;

-- Whether a queue holds more than so many messages.
CREATE OR REPLACE FUNCTION fairlead._run_over_limit(p_queue bigint, p_most bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN fairlead._queue_length(p_queue) > p_most;
END $$;

-- What the next reader has to know.
CREATE OR REPLACE FUNCTION fairlead._run_add_pending_update(
  p_queue bigint, p_kind text[], p_number bigint[], p_group_id bigint[], p_tenant text[],
  p_priority bigint[], p_at bigint[], p_cost bigint[], p_turn bigint[], p_placed bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant, priority, at, cost, turn,
    placed)
  SELECT p_queue, r.group_id, r.kind, r.number, r.tenant, r.priority, r.at, r.cost, r.turn, r.placed
  FROM unnest(p_kind, p_number, p_group_id, p_tenant,
    p_priority, p_at, p_cost, p_turn,
    p_placed)
    AS r (kind, number, group_id, tenant, priority, at, cost, turn, placed);
END $$;
