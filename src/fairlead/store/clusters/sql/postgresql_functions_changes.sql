-- Changes of clusters in plain SQL, and the view of their machines: see postgresql_functions.sql.

-- A value for an attribute of a destination, in JSON; refused if it is not allowed.
CREATE OR REPLACE FUNCTION fairlead._value(p_attribute text, p_value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  allowed text;
BEGIN
  IF p_attribute = 'address' AND p_value ~* '^(https?|amqps?)://[^/?#\\]*@' THEN
    PERFORM fairlead._refuse('change: address: found a URL that says who logs in, allowed: an address '
      'without that, and user with password_file, or token_file, under [forward]');
  ELSIF p_attribute IN ('address', 'queue') THEN
    RETURN to_jsonb(coalesce(p_value, ''));
  ELSIF p_attribute = 'weight' THEN
    IF p_value ~ '^[0-9]{1,19}$' AND p_value::numeric <= 9223372036854775807 THEN
      RETURN to_jsonb(p_value::bigint);
    END IF;
    allowed := 'an integer from 0 to 9223372036854775807';
  ELSIF p_attribute = 'state' THEN
    IF p_value IN ('up', 'down') THEN
      RETURN to_jsonb(p_value);
    END IF;
    allowed := 'up, down';
  ELSE
    IF lower(p_value) IN ('true', 'false') THEN
      RETURN lower(p_value)::jsonb;
    END IF;
    allowed := 'true or false';
  END IF;
  PERFORM fairlead._refuse(format('change: %s: found %s, allowed: %s', p_attribute,
    coalesce(nullif(p_value, ''), 'nothing'), allowed));
END $$;

-- A cluster after an attribute of a destination has changed.
CREATE OR REPLACE FUNCTION fairlead._changed(
  p_rule text, INOUT x_definition jsonb, INOUT x_state jsonb, p_target text, p_attribute text,
  p_value jsonb)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r jsonb := x_state #> '{rules,0,1}';
  before jsonb;
  after jsonb;
  at text;
  tick numeric;
BEGIN
  SELECT (o.at - 1)::text, o.each -> 1 INTO at, before
    FROM jsonb_array_elements(x_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    WHERE o.each #>> '{1,name}' = p_target;
  after := jsonb_set(before, ARRAY[p_attribute], p_value);
  IF after = before THEN
    RETURN;
  END IF;
  x_definition := jsonb_set(x_definition, ARRAY['shared', 'objects', at, '1'], after);
  SELECT (m.place - 1)::text INTO at FROM fairlead._members(p_rule, x_definition) m
    WHERE m.name = p_target;
  IF p_rule = 'least-served' THEN
    r := jsonb_set(r, ARRAY['weight', at], after -> 'weight');
    r := jsonb_set(r, ARRAY['tie', at], to_jsonb(-(after ->> 'weight')::numeric));
    IF p_attribute = 'present' AND p_value = 'true' THEN
      r := jsonb_set(r, ARRAY['count', at], '0');
    END IF;
    IF x_definition -> 'level' = 'true' AND fairlead._passes(after)
        AND (NOT fairlead._passes(before) OR p_attribute = 'weight') THEN
      -- the lowest ratio of the others, times its weight, rounded down
      r := jsonb_set(r, ARRAY['count', at], (
        SELECT to_jsonb(coalesce(
          min(div((after ->> 'weight')::numeric * v.count::numeric, v.weight::numeric)), 0))
        FROM fairlead._members(p_rule, x_definition) m JOIN ROWS FROM (
            jsonb_array_elements_text(r -> 'count'), jsonb_array_elements_text(r -> 'weight')
          ) WITH ORDINALITY AS v (count, weight, place) USING (place)
        WHERE m.passes AND m.name <> p_target));
    END IF;
  ELSIF p_rule = 'circular' THEN
    r := jsonb_set(r, ARRAY['connected', at], to_jsonb(fairlead._passes(after)::integer));
    IF NOT fairlead._passes(after) THEN
      r := jsonb_set(r, ARRAY['ready', at], '0');
    ELSIF r #> ARRAY['ready', at] = '0' THEN  -- to the tail of the ring
      tick := (r #>> '{tick,0}')::numeric + 1;
      r := jsonb_set(jsonb_set(r, ARRAY['ready', at], to_jsonb(tick)), '{tick,0}', to_jsonb(tick));
    END IF;
  END IF;
  x_state := jsonb_set(x_state, '{rules,0,1}', r);
END $$;

-- Refuses what is no destination of a cluster.
CREATE OR REPLACE FUNCTION fairlead._check_target(p_definition jsonb, p_target text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  names text[] := ARRAY (SELECT o.each #>> '{1,name}'
    FROM jsonb_array_elements(p_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    ORDER BY o.at);
BEGIN
  IF p_target IS NULL OR p_target <> ALL (names) THEN
    PERFORM fairlead._refuse(format('change: target: found %L, allowed: %s%s', p_target,
      array_to_string(names[:12], ', '), CASE WHEN cardinality(names) > 12
        THEN format(', … (%s more)', cardinality(names) - 12) ELSE '' END));
  END IF;
END $$;

CREATE OR REPLACE FUNCTION fairlead._change(
  p_cluster text, p_target text, p_attribute text, p_value text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  h record;
  value jsonb := 'null';
  keys text[];
  in_sql text[] := '{present,enabled,draining,weight,state,address,queue}';
BEGIN
  SELECT * INTO h FROM fairlead._lock_cluster(p_cluster, now - 1, fairlead._actor(), 0);
  IF p_attribute = 'reset' THEN
    IF h.o_rule <> 'least-served' THEN
      PERFORM fairlead._refuse(format('change: reset: the policy of cluster %L counts nothing that '
        'could be reset', p_cluster));
    ELSIF p_target IS DISTINCT FROM p_cluster THEN
      PERFORM fairlead._refuse(format('change: target of a reset: found %L, allowed: %s', p_target,
        p_cluster));
    ELSIF coalesce(p_value, '') NOT IN ('', 'true') THEN
      PERFORM fairlead._refuse(format('change: value of a reset: found %L, allowed: nothing, or '
        'true', p_value));
    END IF;
    h.o_state := fairlead._reset(h.o_rule, h.o_definition, h.o_state);
  ELSE
    PERFORM fairlead._check_target(h.o_definition, p_target);
    keys := ARRAY (SELECT k FROM jsonb_object_keys(h.o_definition #> '{shared,objects,0,1}') AS k
      WHERE k <> 'name' ORDER BY array_position(in_sql, k), k);
    IF p_attribute IS NULL OR p_attribute <> ALL (keys) THEN
      PERFORM fairlead._refuse(format('change: attribute: found %L, allowed for destination:%s: %s',
        p_attribute, p_target, array_to_string(keys, ', ')));
    ELSIF p_attribute <> ALL (in_sql) OR (p_attribute, p_value) = ('state', 'failed') THEN
      PERFORM fairlead._refuse(format('change: found %s, which plain SQL does not change, allowed: '
        '%s; the library can', concat_ws(' ', p_attribute, p_value),
        (SELECT string_agg(k, ', ') FROM unnest(keys) AS k WHERE k = ANY (in_sql))), 'FL005');
    END IF;
    value := fairlead._value(p_attribute, p_value);
    SELECT x_definition, x_state INTO h.o_definition, h.o_state
      FROM fairlead._changed(h.o_rule, h.o_definition, h.o_state, p_target, p_attribute, value);
  END IF;
  PERFORM fairlead._begin(h.o_id, h.o_definition, h.o_state, h.o_turn, now, now, fairlead._actor(),
    p_target, jsonb_build_object('attribute', p_attribute, 'value', value));
END $$;

-- Add a destination: a [[destination]] of the cluster's file, as JSON.
CREATE OR REPLACE FUNCTION fairlead._add(p_cluster text, p_table jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  h record;
  r jsonb;
  found_name text := p_table ->> 'name';
  template jsonb;
  wrong text;
  each jsonb;
  place text;
BEGIN
  SELECT * INTO h FROM fairlead._lock_cluster(p_cluster, now - 1, fairlead._actor(), 0);
  template := h.o_definition #> '{shared,objects,0,1}';
  SELECT k INTO wrong FROM jsonb_object_keys(p_table) AS k WHERE NOT template ? k
    ORDER BY k LIMIT 1;
  IF coalesce(found_name, '') = '' THEN
    PERFORM fairlead._refuse('destination: name: found nothing, allowed: a text that is not empty');
  ELSIF EXISTS (SELECT 1 FROM jsonb_array_elements(h.o_definition #> '{shared,objects}') AS o
      WHERE o #>> '{1,name}' = found_name) THEN
    PERFORM fairlead._refuse(format('destination: found %L twice in cluster %L, allowed: once',
      found_name, p_cluster));
  ELSIF wrong IS NOT NULL THEN
    PERFORM fairlead._refuse(format('destination %L: %s: found a key that its policy does not read, '
      'allowed: %s', found_name, wrong, (SELECT string_agg(k, ', ' ORDER BY k)
        FROM jsonb_object_keys(template) AS k)));
  ELSIF h.o_definition #> '{file,policy}' = '"msmq"' AND NOT p_table ? 'weight' THEN
    PERFORM fairlead._refuse(format('destination %L: weight: found nothing, allowed: an integer '
      'from 0 to 9223372036854775807', found_name));
  END IF;
  -- what every destination has; the policy's own keys only where the others have them
  SELECT jsonb_object_agg(k, coalesce(
      CASE WHEN k = 'name' THEN p_table -> k
        WHEN p_table ? k THEN fairlead._value(k, p_table ->> k) END,
      '{"readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up",
        "draining": false, "weight": 1, "capacity": 0}'::jsonb -> k))
    INTO each FROM jsonb_object_keys(template) AS k WHERE k <> 'present';
  SELECT (count(*) FILTER (WHERE h.o_rule = 'circular' OR m.name COLLATE "C" < found_name))::text
    INTO place FROM fairlead._members(h.o_rule, h.o_definition) m;
  each := each || '{"present": false}';  -- it joins when it is known
  h.o_definition := jsonb_insert(h.o_definition, '{file,destination,-1}', each, true);
  each := each || '{"speed": "1"}';
  h.o_definition := jsonb_insert(h.o_definition, '{shared,objects,-1}',
    jsonb_build_array(jsonb_build_array('destination', found_name, ''), each), true);
  h.o_definition := jsonb_insert(h.o_definition, ARRAY['ids', place], (
    SELECT to_jsonb(max(d.id) + 1) FROM fairlead.destinations d WHERE d.cluster = h.o_id));
  r := h.o_state #> '{rules,0,1}';
  SELECT r || coalesce(jsonb_object_agg(k.key, jsonb_insert(r -> k.key, ARRAY[place], k.value)),
      '{}') INTO r
    FROM jsonb_each(jsonb_build_object('count', 0, 'weight', each -> 'weight',
      'tie', -(each ->> 'weight')::numeric, 'ring', 1, 'ready', 0, 'held', 0, 'capacity', 0,
      'connected', 0, 'speed', 1000)) AS k WHERE r ? k.key;
  h.o_state := jsonb_set(h.o_state, '{rules,0,1}', r);
  SELECT x_definition, x_state INTO h.o_definition, h.o_state
    FROM fairlead._changed(h.o_rule, h.o_definition, h.o_state, found_name, 'present',
      fairlead._value('present', coalesce(p_table ->> 'present', 'true')));
  PERFORM fairlead._begin(h.o_id, h.o_definition, h.o_state, h.o_turn, now, now, fairlead._actor(),
    found_name, jsonb_build_object('attribute', 'added', 'value', p_table));
END $$;

CREATE OR REPLACE FUNCTION fairlead._remove(p_cluster text, p_target text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  h record;
  r jsonb;
  at text;
  place text;
BEGIN
  SELECT * INTO h FROM fairlead._lock_cluster(p_cluster, now - 1, fairlead._actor(), 0);
  PERFORM fairlead._check_target(h.o_definition, p_target);
  IF jsonb_array_length(h.o_definition #> '{shared,objects}') = 1 THEN
    PERFORM fairlead._refuse('destination: found none, allowed: at least one [[destination]]');
  END IF;
  SELECT x_definition, x_state INTO h.o_definition, h.o_state
    FROM fairlead._changed(h.o_rule, h.o_definition, h.o_state, p_target, 'present', 'false');
  SELECT (o.at - 1)::text INTO at
    FROM jsonb_array_elements(h.o_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    WHERE o.each #>> '{1,name}' = p_target;
  SELECT (m.place - 1)::text INTO place FROM fairlead._members(h.o_rule, h.o_definition) m
    WHERE m.name = p_target;
  h.o_definition := h.o_definition #- ARRAY['shared', 'objects', at]
    #- ARRAY['file', 'destination', at] #- ARRAY['ids', place];
  r := h.o_state #> '{rules,0,1}';
  SELECT r || coalesce(jsonb_object_agg(k, (r -> k) - place::integer), '{}') INTO r
    FROM unnest('{count,weight,tie,ring,ready,held,capacity,connected,speed}'::text[]) AS k
    WHERE r ? k;
  h.o_state := jsonb_set(h.o_state, '{rules,0,1}', r);
  PERFORM fairlead._begin(h.o_id, h.o_definition, h.o_state, h.o_turn, now, now, fairlead._actor(),
    p_target, '{"attribute": "removed", "value": null}');
END $$;

-- Change an attribute of a destination, from the next choice on, for everybody.
CREATE OR REPLACE FUNCTION fairlead.change(
  cluster text, target text, attribute text, value text DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._change(cluster, target, attribute, value)
$$;

-- Count everybody as not served.
CREATE OR REPLACE FUNCTION fairlead.reset(cluster text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._change(cluster, cluster, 'reset', NULL)
$$;

-- -------- machines

-- The destinations of all clusters as they are now. `sent` counts since the last reset. Change
-- weight, enabled, present, draining, state, address or queue; insert and delete: it counts from the
-- next choice on.
CREATE OR REPLACE VIEW fairlead.machines WITH (security_invoker = true) AS
SELECT c.name AS cluster, o.name, nullif(o.each ->> 'address', '') AS address,
  (o.each ->> 'weight')::bigint AS weight, (o.each ->> 'enabled')::boolean AS enabled,
  (o.each ->> 'present')::boolean AS present, (o.each ->> 'draining')::boolean AS draining,
  o.each ->> 'state' AS state, nullif(o.each ->> 'queue', '') AS queue,
  coalesce((n.sent -> o.name)::bigint, 0) AS sent,
  coalesce((n.sent -> o.name)::numeric / n.total, 0)::double precision AS share
FROM fairlead.clusters c
JOIN fairlead.versions v ON v.cluster = c.id AND v.version = c.version
LEFT JOIN fairlead.choice_runs s ON s.cluster = c.id AND s.first = c.first AND s.version = c.version
  AND c.state IS NULL
CROSS JOIN LATERAL (SELECT v.definition::jsonb AS plain, coalesce(c.state, s.state)::jsonb AS state,
  CASE WHEN c.allocation = 'ticket' THEN fairlead._tickets(c.id) - c.first
    ELSE c.taken END AS taken OFFSET 0) p
CROSS JOIN LATERAL (SELECT sum(x.sent) AS total,
  jsonb_object_agg(d.name, x.sent) FILTER (WHERE p.plain -> 'ids' @> to_jsonb(x.id)) AS sent
  FROM fairlead._sent(p.state, CASE WHEN c.state IS NULL THEN s.choices[:p.taken] END) x
    JOIN fairlead.destinations d ON d.cluster = c.id AND d.id = x.id) n
CROSS JOIN LATERAL (SELECT e.each #>> '{1,name}' AS name, e.each -> 1 AS each
  FROM jsonb_array_elements(p.plain #> '{shared,objects}') AS e (each)
  WHERE e.each #>> '{0,0}' = 'destination') o;

CREATE OR REPLACE FUNCTION fairlead._machine() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  was jsonb;
  becomes jsonb;
  fixed text[] := '{cluster,name,sent,share}';
  k text;
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM fairlead._remove(OLD.cluster, OLD.name);
    RETURN OLD;
  END IF;
  becomes := jsonb_strip_nulls(to_jsonb(NEW));
  IF TG_OP = 'INSERT' THEN
    IF becomes ?| '{sent,share}' THEN
      PERFORM fairlead._refuse('machines: found a value for sent or share, allowed: none; they are '
        'counted');
    END IF;
    PERFORM fairlead._add(NEW.cluster, becomes - 'cluster');
    RETURN NEW;
  END IF;
  was := to_jsonb(OLD);
  becomes := to_jsonb(NEW);
  FOREACH k IN ARRAY fixed LOOP
    IF was -> k IS DISTINCT FROM becomes -> k THEN
      PERFORM fairlead._refuse(format('machines: found a change of %s, allowed: of weight, enabled, '
        'present, draining, state, address and queue', k));
    END IF;
  END LOOP;
  FOR k IN SELECT x.key FROM jsonb_each(becomes) AS x
      WHERE x.value IS DISTINCT FROM was -> x.key
      ORDER BY array_position('{weight,enabled,present,draining,state,address,queue}', x.key) LOOP
    PERFORM fairlead._change(NEW.cluster, NEW.name, k, becomes ->> k);
  END LOOP;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER machines INSTEAD OF INSERT OR UPDATE OR DELETE ON fairlead.machines
FOR EACH ROW EXECUTE FUNCTION fairlead._machine();
