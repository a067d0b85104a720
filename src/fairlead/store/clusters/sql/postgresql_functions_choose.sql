-- Clusters in plain SQL: choose and publish. See postgresql_functions.sql.

-- Whether a decision's message is one that can be read again: names of a length that names have, and what
-- it said as an object in JSON.
CREATE OR REPLACE FUNCTION fairlead._check_asked(
  p_group text, p_key text, p_type text, p_actor text, p_said text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF greatest(length(p_group), length(p_key), length(p_type), length(p_actor)) > 2000 THEN
    PERFORM fairlead._refuse('group, id, type and actor: found more than 2000 characters, allowed: at most 2000');
  ELSIF length(p_said) > 1048576 THEN
    PERFORM fairlead._refuse(format('message: found %s characters of attributes, allowed: at most 1048576',
      length(p_said)));
  ELSIF json_typeof(p_said::json) <> 'object' THEN
    PERFORM fairlead._refuse('message: found attributes that are no JSON object, allowed: one, or NULL');
  ELSIF EXISTS (SELECT 1 FROM json_each(p_said::json) e
      WHERE json_typeof(e.value) IN ('object', 'array') AND length(e.value::text) > 500) THEN
    PERFORM fairlead._refuse('message: found an attribute that is a long list or object, allowed: a text, a number, '
      'true or false');
  END IF;
EXCEPTION WHEN data_exception OR statement_too_complex THEN
  PERFORM fairlead._refuse('message: found attributes that are no JSON, allowed: a JSON object, or NULL');
END $$;

-- Whether the part of a cluster, in which something was chosen or completed, is one: texts, as a JSON array.
CREATE OR REPLACE FUNCTION fairlead._check_part(p_part text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_part IS NULL OR length(p_part) > 1048576 OR json_typeof(p_part::json) <> 'array'
      OR EXISTS (SELECT 1 FROM json_array_elements(p_part::json) e WHERE json_typeof(e.value) <> 'string') THEN
    PERFORM fairlead._refuse('part: found what is no JSON array of texts, allowed: one');
  END IF;
EXCEPTION WHEN data_exception OR statement_too_complex THEN
  PERFORM fairlead._refuse('part: found what is no JSON, allowed: a JSON array of texts');
END $$;

-- Choose for one message, count it and write it to the journal. No row, and nothing done: there is
-- no such cluster, or plain SQL does not know its policy.
CREATE OR REPLACE FUNCTION fairlead._choose(
  p_cluster text, p_group text, p_key text, p_type text, p_said text, p_actor text)
RETURNS TABLE (o_destination text, o_address text, o_turn bigint, o_outcome text, o_version bigint,
  o_number bigint, o_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c record;
  s record;
  now bigint := fairlead._now();
  exact boolean;
BEGIN
  PERFORM fairlead._check_asked(p_group, p_key, p_type, p_actor, p_said);
  IF p_type = 'SetPriority' THEN  -- it is no work: nothing is chosen or counted
    SELECT x.version INTO o_version FROM fairlead.clusters x WHERE x.name = p_cluster AND x.rule <> '';
    IF NOT FOUND THEN
      RETURN;
    END IF;
    o_outcome := 'control';
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, type, actor, cluster,
        version, stream, outcome, said)
      VALUES (now, 'decided', '', coalesce(p_group, ''), coalesce(p_key, ''), '', p_type, p_actor,
        p_cluster, o_version, p_cluster, o_outcome, p_said)
      RETURNING id INTO o_number;
    RETURN NEXT;
    RETURN;
  END IF;
  PERFORM fairlead._await_run(p_cluster, false);
  LOOP
    UPDATE fairlead.clusters SET taken = taken + 1
      WHERE name = p_cluster AND allocation = 'exact' AND rule <> ''
      RETURNING id, rule, due, version, first, taken INTO c;
    exact := FOUND;
    IF NOT exact THEN
      SELECT id, rule, due, version, first, allocation INTO c FROM fairlead.clusters
        WHERE name = p_cluster;
      IF NOT FOUND OR c.rule = '' THEN
        RETURN;
      END IF;
      CONTINUE WHEN c.allocation = 'exact';  -- it was loaded anew meanwhile
    END IF;
    IF c.due <= now THEN
      PERFORM 1 FROM fairlead.clusters WHERE name = p_cluster AND due <= now AND rule <> ''
        FOR NO KEY UPDATE;
      IF FOUND THEN  -- nobody else has done it meanwhile
        PERFORM fairlead._lock_cluster(p_cluster, now, p_actor, exact::integer);
      END IF;
      CONTINUE;
    END IF;
    -- a statement of its own: it sees what those have committed for whose row this one has waited
    IF exact THEN
      o_turn := c.first + c.taken - 1;
      SELECT x.first, x.version, x.choices[o_turn - x.first + 1] AS id INTO s
        FROM fairlead.choice_runs x
        WHERE x.cluster = c.id AND x.first = c.first AND x.version = c.version;
    ELSE
      PERFORM fairlead._check_isolation();
      o_turn := nextval(format('fairlead.tickets_%s', c.id)::regclass);
      SELECT x.first, x.version, x.choices[o_turn - x.first + 1] AS id INTO s
        FROM fairlead.choice_runs x WHERE x.cluster = c.id AND x.first <= o_turn
        ORDER BY x.first DESC, x.version DESC LIMIT 1;
    END IF;
    o_id := s.id;
    EXIT WHEN o_id IS NOT NULL;
    IF s.version = c.version THEN
      o_id := fairlead._go_on(c.id, c.rule, s.first, s.version, o_turn, exact, now);
      EXIT;
    ELSIF exact OR NOT EXISTS (SELECT 1 FROM fairlead.clusters x JOIN fairlead.choice_runs y
        ON (y.cluster, y.version) = (x.id, x.version) WHERE x.id = c.id) THEN
      PERFORM fairlead._refuse(format('cluster %L: found version %s, of which nothing says where it begins: it '
        'was not written by the library; allowed: a whole one; load the cluster anew', p_cluster, c.version));
    END IF;  -- a ticket of before a change, beyond what was made ahead then: another is drawn
  END LOOP;
  o_version := s.version;
  o_outcome := 'no-destination';
  IF o_id <> 0 THEN
    o_outcome := 'routed';
    SELECT d.name, d.address INTO o_destination, o_address FROM fairlead.destinations d
      WHERE d.cluster = c.id AND d.id = o_id;
  END IF;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, type, actor, cluster,
      version, stream, destination, address, outcome, sequence, said)
    VALUES (now, 'decided', '', coalesce(p_group, ''), coalesce(p_key, ''), '', nullif(p_type, ''),
      p_actor, p_cluster, o_version, p_cluster, o_destination, o_address, o_outcome, o_turn, p_said)
    RETURNING id INTO o_number;
  RETURN NEXT;
END $$;

-- What a message said, for the journal.
CREATE OR REPLACE FUNCTION fairlead._said(p_group text, p_type text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT nullif(jsonb_strip_nulls(jsonb_build_object(
    'group', nullif(p_group, ''), 'type', nullif(p_type, ''))), '{}')::text
$$;

-- Choose where the next message of a cluster goes, and count it, in the transaction that runs. Where
-- nobody can be chosen, `destination` is null.
CREATE OR REPLACE FUNCTION fairlead.next_destination(
  cluster text, "group" text DEFAULT NULL, type text DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT outcome text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT c.o_destination, c.o_address, c.o_turn, c.o_outcome
    INTO destination, address, sequence, outcome
    FROM fairlead._choose($1, $2, '', $3,
      CASE WHEN $2 <> '' OR $3 <> '' THEN fairlead._said($2, $3) END, fairlead._actor()) c;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse_cluster($1);
  END IF;
END $$;

-- Choose a destination and send a message to its queue. No row, and nothing done, where _choose has
-- none, unless that is to be refused. One that was published before has its first decision.
CREATE OR REPLACE FUNCTION fairlead._publish(
  p_cluster text, p_format bigint, p_body bytea, p_group text, p_priority bigint, p_id text,
  p_type text, p_tenant text, p_cost bigint, p_due bigint, p_expires bigint, p_said text,
  p_actor text, p_refuse boolean)
RETURNS TABLE (o_destination text, o_address text, o_turn bigint, o_outcome text, o_version bigint,
  o_number bigint, o_id bigint, o_key text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint;
  now bigint := fairlead._now();
  content text;
  known text;
  to_queue text;
BEGIN
  SELECT c.id INTO own FROM fairlead.clusters c WHERE c.name = p_cluster AND c.rule <> '';
  IF p_body IS NULL THEN
    PERFORM fairlead._refuse('body: found NULL, allowed: bytes, a text, or JSON');
  ELSIF own IS NULL THEN
    IF p_refuse THEN
      PERFORM fairlead._refuse_cluster(p_cluster);
    END IF;
    RETURN;
  END IF;
  IF p_id <> '' THEN
    content := encode(sha256(set_byte('\x00', 0, p_format::integer) || p_body), 'hex');
    INSERT INTO fairlead.message_ids AS i (queue, key, at, digest) VALUES (-own, p_id, now, content)
      ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
        WHERE i.at < now - 604800000000;
    IF NOT FOUND THEN
      SELECT digest INTO known FROM fairlead.message_ids i WHERE i.queue = -own AND i.key = p_id COLLATE "default";
      IF known <> content THEN
        PERFORM fairlead._refuse(format('id: found %L, which another message had before, allowed: '
          'an id of its own for each message', p_id));
      END IF;
      RETURN QUERY SELECT j.destination, j.address, j.sequence, j.outcome, j.version, j.id,
          NULL::bigint, p_id
        FROM fairlead.journal j
        WHERE j.cluster = p_cluster COLLATE "default" AND j.kind = 'decided' AND j.key <> ''
          AND j.key = p_id COLLATE "default"
        ORDER BY j.id DESC LIMIT 1;
      IF NOT FOUND THEN
        PERFORM fairlead._refuse(format('id: found %L, which was published before; the journal does '
          'not say any more where to; allowed: a new id', p_id));
      END IF;
      RETURN;
    END IF;
  END IF;
  SELECT * INTO o_destination, o_address, o_turn, o_outcome, o_version, o_number, o_id
    FROM fairlead._choose(p_cluster, p_group, p_id, p_type, p_said, p_actor);
  IF NOT FOUND THEN  -- it was loaded anew meanwhile
    PERFORM fairlead._refuse_cluster(p_cluster);
  ELSIF o_outcome = 'control' THEN
    RETURN NEXT;
    RETURN;
  ELSIF o_destination IS NULL THEN
    PERFORM fairlead._refuse(format('cluster %L: found no destination (%s), allowed: to publish '
      'again when there is one; nothing was sent or counted', p_cluster, o_outcome), 'FL006');
  END IF;
  SELECT coalesce(d.queue, d.name) INTO to_queue FROM fairlead.destinations d
    WHERE d.cluster = own AND d.id = o_id;
  o_key := fairlead._send(to_queue, p_format, p_body, p_group,
    p_priority, p_id, p_type, p_tenant, p_cost, p_due, p_expires, p_actor);
  RETURN NEXT;
END $$;

-- Choose a destination and send a message to its queue, in the transaction that runs: the queue that
-- its file names, else the one of its name. What comes after the body is as fairlead.send has it.
CREATE OR REPLACE FUNCTION fairlead.publish(
  cluster text, body text, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT message text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT o_destination, o_address, o_turn, o_key
  FROM fairlead._publish(cluster, 1, convert_to(body, 'UTF8'), "group", priority, id, type, tenant,
    cost, fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._expiry(delay, expires),
    fairlead._said("group", type), fairlead._actor(), true)
$$;

CREATE OR REPLACE FUNCTION fairlead.publish(
  cluster text, body jsonb, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT message text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT o_destination, o_address, o_turn, o_key
  FROM fairlead._publish(cluster, 2, convert_to(body::text, 'UTF8'), "group", priority, id, type, tenant,
    cost, fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._expiry(delay, expires),
    fairlead._said("group", type), fairlead._actor(), true)
$$;

CREATE OR REPLACE FUNCTION fairlead.publish(
  cluster text, body bytea, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT message text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT o_destination, o_address, o_turn, o_key
  FROM fairlead._publish(cluster, 0, body, "group", priority, id, type, tenant,
    cost, fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._expiry(delay, expires),
    fairlead._said("group", type), fairlead._actor(), true)
$$;
