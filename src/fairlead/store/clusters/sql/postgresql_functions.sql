-- Clusters in plain SQL: choose, publish, look at machines, and change them. The store itself calls
-- _choose, because one statement is one way to the server and back. What is written is what
-- store/clusters/*.py writes, and they are held to the same tests.
--
-- A cluster's definition and state are the JSON of its version and of its run. In a state, the
-- rule has one entry for each member. Members are the destinations by name, under `circular` in the
-- order of the file; the definition's ids are in the same order.
-- SQLSTATE FL005: plain SQL does not know the cluster's policy; nothing was done. FL006: there is
-- nobody to publish to; nothing was sent or counted.

-- Why plain SQL can do nothing with a cluster: there is none, or its rule is Python's.
CREATE OR REPLACE FUNCTION fairlead._refuse_cluster(p_cluster text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  policy jsonb;
  names text[];
BEGIN
  SELECT v.definition::jsonb #> '{file,policy}' INTO policy
    FROM fairlead.clusters c JOIN fairlead.versions v ON v.cluster = c.id AND v.version = c.version
    WHERE c.name = p_cluster;
  IF FOUND THEN
    PERFORM fairlead._refuse(format('cluster %L: found the policy %s with these options, which '
      'plain SQL does not know, allowed: msmq, weighted, round-robin and hot-standby, or '
      'compositions that choose as they do, without affinity, slow_start and failback_delay; '
      'the library can%s', p_cluster, policy, CASE WHEN EXISTS (
        SELECT 1 FROM fairlead.queue_managers m WHERE m.cluster = p_cluster)
      THEN ', and so can whoever sends to outbox:QUEUE, which its queue manager puts to QUEUE'
      ELSE '' END), 'FL005');
  END IF;
  names := ARRAY (SELECT c.name FROM fairlead.clusters c ORDER BY c.name COLLATE "C");
  PERFORM fairlead._refuse(format('cluster: found %L, allowed: %s%s', p_cluster,
    coalesce(nullif(array_to_string(names[:12], ', '), ''), 'none: no cluster was loaded yet'),
    CASE WHEN cardinality(names) > 12
      THEN format(', … (%s more)', cardinality(names) - 12) ELSE '' END));
END $$;

-- Whether a destination can be chosen. What its policy does not look at, it does not have. (This and
-- _members become parts of the statements of others, as _k1 does.)
CREATE OR REPLACE FUNCTION fairlead._passes(p_each jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN p_each -> 'present' = 'true' AND coalesce(p_each -> 'enabled' = 'true', true)
  AND coalesce(p_each ->> 'state' = 'up', true) AND coalesce(p_each -> 'draining' = 'false', true)
  AND coalesce(p_each -> 'weight' > '0', true);

CREATE OR REPLACE FUNCTION fairlead._members(p_rule text, p_definition jsonb)
RETURNS TABLE (place bigint, id bigint, name text, passes boolean)
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
  SELECT m.place, i.id::bigint, m.name, m.passes
  FROM (SELECT row_number() OVER (
          ORDER BY CASE WHEN p_rule <> 'circular' THEN o.each #>> '{1,name}' END COLLATE "C", o.at)
          AS place, o.each #>> '{1,name}' AS name, fairlead._passes(o.each -> 1) AS passes
        FROM jsonb_array_elements(p_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    ) m
    JOIN jsonb_array_elements_text(p_definition -> 'ids') WITH ORDINALITY AS i (id, place)
    USING (place);
END;

-- The next choices, made ahead; 0 where nobody can be chosen.
--
-- Least served: member i's j-th choice from here has the value (count + j)/weight, and the lowest is
-- next. Values of weights below 2^63 that differ, differ by more than 10^-38; so their whole parts in
-- units of 10^-39 tell apart what differs, and nothing else. Of all values, those below (256 + sum of
-- counts)/(sum of weights) are 256 at least, whichever members are summed: the least of these bounds
-- leaves few values to be sorted.
CREATE OR REPLACE FUNCTION fairlead._ahead(p_rule text, p_definition jsonb, p_state jsonb)
RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r jsonb := p_state #> '{rules,0,1}';
  unit numeric := 1e39;
  ring bigint[];
BEGIN
  IF p_rule = 'least-served' THEN
    WITH m AS MATERIALIZED (
      SELECT x.place, x.id, v.count::numeric AS c, v.weight::numeric AS w
      FROM fairlead._members(p_rule, p_definition) x JOIN ROWS FROM (
          jsonb_array_elements_text(r -> 'count'), jsonb_array_elements_text(r -> 'weight')
        ) WITH ORDINALITY AS v (count, weight, place) USING (place)
      WHERE x.passes
    ), bound AS MATERIALIZED (
      SELECT min(div((256 + s.c) * unit, s.w)) + 1 AS value
      FROM (SELECT sum(m.c) OVER up_to AS c, sum(m.w) OVER up_to AS w
            FROM m WINDOW up_to AS (ORDER BY div(m.c * unit, m.w), m.place)) s
    ), k AS (
      SELECT m.id, row_number() OVER (ORDER BY div((m.c + j) * unit, m.w), m.w DESC, m.place) AS turn
      FROM m, bound, generate_series(0,
        div(greatest(m.w * bound.value - m.c * unit, 0) + unit - 1, unit)::bigint - 1) AS j
    )
    SELECT array_agg(k.id ORDER BY k.turn) INTO ring FROM k WHERE k.turn <= 256;
  ELSIF p_rule = 'circular' THEN
    ring := ARRAY (SELECT x.id FROM fairlead._members(p_rule, p_definition) x
      JOIN jsonb_array_elements_text(r -> 'ready') WITH ORDINALITY AS v (ready, place) USING (place)
      WHERE x.passes ORDER BY v.ready::numeric);
    ring := ARRAY (SELECT ring[1 + j % cardinality(ring)]
      FROM generate_series(0, 255) AS j WHERE ring <> '{}' ORDER BY j);
  ELSE
    SELECT array_fill(x.id, ARRAY[256]) INTO ring FROM fairlead._members(p_rule, p_definition) x
      WHERE x.passes ORDER BY x.place LIMIT 1;
  END IF;
  RETURN coalesce(nullif(ring, '{}'), array_fill(0::bigint, ARRAY[256]));
END $$;

-- The state after these choices, which were made ahead.
CREATE OR REPLACE FUNCTION fairlead._forward(
  p_rule text, p_definition jsonb, p_state jsonb, p_choices bigint[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r jsonb := p_state #> '{rules,0,1}';
  made bigint := cardinality(p_choices);
  sent jsonb;
  tick numeric := (r #>> '{tick,0}')::numeric;
  counts text := CASE p_rule WHEN 'circular' THEN 'held' ELSE 'count' END;
BEGIN
  IF p_choices[1] <> 0 THEN  -- else nobody can be chosen, which only a change changes
    IF p_rule = 'first-by-name' THEN
      r := jsonb_set(r, '{choices,0}', to_jsonb((r #>> '{choices,0}')::numeric + made));
    ELSE
      SELECT r || jsonb_build_object(counts,
            jsonb_agg(v.count::numeric + coalesce(t.times, 0) ORDER BY v.place))
          || CASE p_rule WHEN 'circular' THEN jsonb_build_object(
            'ready', jsonb_agg(coalesce(tick + t.latest, v.ready::numeric) ORDER BY v.place),
            'tick', jsonb_build_array(tick + made)) ELSE '{}' END
        INTO r
        FROM ROWS FROM (jsonb_array_elements_text(r -> counts),
            jsonb_array_elements_text(p_definition -> 'ids'),
            jsonb_array_elements_text(coalesce(r -> 'ready', '[]'))
          ) WITH ORDINALITY AS v (count, id, ready, place)
          LEFT JOIN (SELECT u.id, count(*) AS times, max(u.at) AS latest
            FROM unnest(p_choices) WITH ORDINALITY AS u (id, at) GROUP BY u.id) t
          ON t.id = v.id::bigint;
    END IF;
    p_state := jsonb_set(p_state, '{rules,0,1}', r);
    SELECT jsonb_agg(jsonb_build_array(s.id, s.sent) ORDER BY s.id) INTO sent
      FROM fairlead._sent(p_state, p_choices) s;
    p_state := jsonb_set(p_state, '{sent}', sent);
  END IF;
  RETURN jsonb_set(p_state, '{sequences,0,1}',
    to_jsonb((p_state #>> '{sequences,0,1}')::numeric + made));
END $$;

-- What destinations were sent since the last reset: as the state says, and by these choices since.
CREATE OR REPLACE FUNCTION fairlead._sent(p_state jsonb, p_choices bigint[])
RETURNS TABLE (id bigint, sent numeric)
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT x.id, sum(x.n) FROM (
    SELECT (e.each ->> 0)::bigint AS id, (e.each ->> 1)::numeric AS n
      FROM jsonb_array_elements(p_state -> 'sent') AS e (each)
    UNION ALL SELECT u.id, 1 FROM unnest(p_choices) AS u (id) WHERE u.id <> 0) x
  GROUP BY x.id
$$;

-- The destination of a turn beyond a run; the runs up to it are written. Where tickets are
-- drawn, whoever finds the row locked, or that another has gone on, writes nothing.
CREATE OR REPLACE FUNCTION fairlead._go_on(
  p_id bigint, p_rule text, p_first bigint, p_version bigint, p_turn bigint, p_exact boolean,
  p_now bigint)
RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  definition jsonb;
  now_state jsonb;
  made bigint[];
  begins bigint := p_first;
  writes boolean := p_exact;
BEGIN
  IF NOT p_exact THEN
    PERFORM 1 FROM fairlead.clusters WHERE id = p_id AND version = p_version AND first = p_first
      FOR NO KEY UPDATE SKIP LOCKED;
    writes := FOUND;
  END IF;
  SELECT s.state::jsonb, s.choices, v.definition::jsonb INTO now_state, made, definition
    FROM fairlead.choice_runs s JOIN fairlead.versions v ON v.cluster = s.cluster
      AND v.version = s.version
    WHERE s.cluster = p_id AND s.first = p_first AND s.version = p_version;
  WHILE p_turn - begins >= cardinality(made) LOOP
    now_state := fairlead._forward(p_rule, definition, now_state, made);
    begins := begins + cardinality(made);
    made := fairlead._ahead(p_rule, definition, now_state);
    IF writes THEN
      INSERT INTO fairlead.choice_runs (cluster, first, version, at, number, state, choices)
        VALUES (p_id, begins, p_version, p_now, 0, now_state::text, made);
    END IF;
  END LOOP;
  IF writes THEN
    UPDATE fairlead.clusters
      SET first = begins, taken = CASE WHEN p_exact THEN p_turn - begins + 1 ELSE 0 END
      WHERE id = p_id;
  END IF;
  RETURN made[p_turn - begins + 1];
END $$;

-- A new version of a cluster begins, with an event that says why; its definition.
CREATE OR REPLACE FUNCTION fairlead._begin(
  p_id bigint, p_definition jsonb, p_state jsonb, p_turn bigint, p_at bigint, p_time bigint,
  p_actor text, p_target text, p_detail jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c fairlead.clusters;
  event bigint;
  mark text := replace(gen_random_uuid()::text, '-', '');
  now_version bigint := (p_definition #>> '{shared,version}')::bigint + 1;
BEGIN
  SELECT * INTO c FROM fairlead.clusters WHERE id = p_id;
  p_definition := jsonb_set(p_definition, '{shared,version}', to_jsonb(now_version));
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor, detail, cluster,
      version, destination)
    VALUES (p_time, 'changed', '', '', '', '', p_actor, p_detail::text, c.name, now_version, p_target)
    RETURNING id INTO event;
  IF p_target IS NOT NULL THEN  -- else it is due of itself: whoever chooses next may do no more
    INSERT INTO fairlead.destinations AS d (cluster, id, name, address, queue)
      SELECT p_id, x.id, x.name, nullif(o.each #>> '{1,address}', ''),
        nullif(o.each #>> '{1,queue}', '')
      FROM fairlead._members(c.rule, p_definition) x
        JOIN jsonb_array_elements(p_definition #> '{shared,objects}') AS o (each)
        ON o.each #>> '{1,name}' = x.name
      ON CONFLICT (cluster, id) DO UPDATE SET address = excluded.address, queue = excluded.queue
        WHERE (d.address, d.queue) IS DISTINCT FROM (excluded.address, excluded.queue);
  END IF;
  INSERT INTO fairlead.versions (cluster, version, stamp, at, definition)
    VALUES (p_id, now_version, mark, p_at, p_definition::text);
  INSERT INTO fairlead.choice_runs (cluster, first, version, at, number, state, choices)
    VALUES (p_id, p_turn, now_version, p_at, event, p_state::text,
      fairlead._ahead(c.rule, p_definition, p_state));
  UPDATE fairlead.clusters SET version = now_version, stamp = mark, first = p_turn, taken = 0,
    due = reset_due WHERE id = p_id;
  RETURN p_definition;
END $$;

-- The state after a reset: nobody counts as served.
CREATE OR REPLACE FUNCTION fairlead._reset(p_rule text, p_definition jsonb, p_state jsonb)
RETURNS jsonb LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r jsonb := p_state #> '{rules,0,1}';
BEGIN
  IF p_rule = 'least-served' THEN
    r := jsonb_set(r, '{count}', (SELECT jsonb_agg(0) FROM jsonb_array_elements(r -> 'count')));
  ELSIF p_rule = 'circular' THEN
    SELECT r || jsonb_build_object('held', jsonb_agg(0), 'tick', jsonb_build_array(max(x.ready)),
        'ready', jsonb_agg(CASE WHEN x.passes THEN x.ready ELSE 0 END ORDER BY x.place))
      INTO r
      FROM (SELECT m.place, m.passes, count(*) FILTER (WHERE m.passes) OVER (ORDER BY m.place)
        AS ready FROM fairlead._members(p_rule, p_definition) m) x;
  ELSE
    r := '{"choices": [0]}';
  END IF;
  RETURN jsonb_set(jsonb_set(p_state, '{rules,0,1}', r), '{sent}', '[]');
END $$;

-- How many tickets of a cluster were drawn.
CREATE OR REPLACE FUNCTION fairlead._tickets(p_id bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(max(q.last_value) + 1, 0) FROM pg_catalog.pg_sequences q
  WHERE q.schemaname = 'fairlead' AND q.sequencename = 'tickets_' || p_id
$$;

-- A cluster that nobody else chooses in or changes until the transaction ends, up to date: what was
-- due until then is done. `p_over`: choices that are counted in its row and were not made.
CREATE OR REPLACE FUNCTION fairlead._lock_cluster(
  p_cluster text, p_until bigint, p_actor text, p_over bigint,
  OUT o_id bigint, OUT o_rule text, OUT o_turn bigint, OUT o_definition jsonb, OUT o_state jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c fairlead.clusters;
  made bigint[];
  left_over bigint;
  reset bigint;
BEGIN
  PERFORM fairlead._await_run(p_cluster, true);
  SELECT * INTO c FROM fairlead.clusters WHERE name = p_cluster FOR NO KEY UPDATE;
  IF c.id IS NULL OR c.rule = '' THEN
    PERFORM fairlead._refuse_cluster(p_cluster);
  END IF;
  o_id := c.id;
  o_rule := c.rule;
  o_turn := c.first + c.taken - p_over;
  IF c.allocation = 'ticket' THEN  -- tickets that are drawn later are of what follows
    o_turn := greatest(fairlead._tickets(c.id), c.first);
  END IF;
  SELECT s.state::jsonb, s.choices, v.definition::jsonb INTO o_state, made, o_definition
    FROM fairlead.choice_runs s JOIN fairlead.versions v ON v.cluster = s.cluster
      AND v.version = s.version
    WHERE s.cluster = c.id AND s.first = c.first AND s.version = c.version;
  left_over := o_turn - c.first;
  WHILE left_over > 0 LOOP
    made := made[:left_over];
    o_state := fairlead._forward(c.rule, o_definition, o_state, made);
    left_over := left_over - cardinality(made);
    made := fairlead._ahead(c.rule, o_definition, o_state);
  END LOOP;
  o_state := jsonb_set(o_state, '{sequences,0,1}', to_jsonb(o_turn));
  IF c.due <= p_until THEN
    reset := c.reset_due + (p_until - c.reset_due) / c.reset_every * c.reset_every;
    UPDATE fairlead.clusters SET reset_due = reset + c.reset_every WHERE id = c.id;
    o_state := fairlead._reset(c.rule, o_definition, o_state);
    o_definition := fairlead._begin(c.id, o_definition, o_state, o_turn, p_until, reset, p_actor,
      NULL, '{"attribute": "reset", "value": null}');
  END IF;
END $$;
