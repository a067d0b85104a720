-- What the library writes in the journal on PostgreSQL.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- Record events of a queue.
CREATE OR REPLACE FUNCTION fairlead._run_add_journal(
  p_time bigint, p_queue text, p_actor text, p_id bigint[], p_kind text[], p_group text[], p_key text[],
  p_tenant text[], p_priority bigint[], p_cost bigint[], p_type text[], p_attempt bigint[],
  p_token bigint[], p_lease bigint[], p_detail text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_events(p_kind, p_time, p_id);
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, type,
    attempt, token, actor, lease, detail)
  SELECT coalesce(r.id, nextval('fairlead.numbers')), p_time, r.kind, p_queue, r."group", r.key,
    r.tenant, r.priority, r.cost, r.type, r.attempt, r.token, p_actor, r.lease, r.detail
  FROM unnest(p_id, p_kind, p_group, p_key,
    p_tenant, p_priority, p_cost, p_type,
    p_attempt, p_token, p_lease, p_detail)
    AS r (id, kind, "group", key, tenant, priority, cost, type, attempt, token, lease, detail);
END $$;

-- A new epoch begins with an event.
CREATE OR REPLACE FUNCTION fairlead._run_add_epoch(p_first bigint, p_began bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.epochs (first, began) VALUES (p_first, p_began);
END $$;

-- Number on behind all that there is, where data was restored without its sequence.
CREATE OR REPLACE FUNCTION fairlead._run_skip_numbers()
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT setval('fairlead.numbers', used.id) FROM (SELECT greatest(
        (SELECT max(id) FROM fairlead.journal), (SELECT max(id) FROM fairlead.groups),
        (SELECT max(id) FROM fairlead.messages)) AS id) used
    WHERE used.id > (SELECT last_value FROM fairlead.numbers);
END $$;

-- Keep events so long.
CREATE OR REPLACE FUNCTION fairlead._run_set_retention(p_keep bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.schema SET journal_keep = p_keep;
END $$;

-- Forget the versions of which no run is left.
CREATE OR REPLACE FUNCTION fairlead._run_forget_versions()
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    DELETE FROM fairlead.versions v USING fairlead.clusters c
    WHERE v.cluster = c.id AND v.version < (SELECT s.version FROM fairlead.choice_runs s
      WHERE s.cluster = c.id ORDER BY s.first, s.version LIMIT 1)
    RETURNING v.version;
END $$;
