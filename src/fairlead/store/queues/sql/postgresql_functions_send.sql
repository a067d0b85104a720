-- Send and raise, for plain SQL: see postgresql_functions.sql.

-- A message joins its group; what a reader has to know stands in pending updates. What has gone wrong in
-- a conversation is read first: its place is below 0.
CREATE OR REPLACE FUNCTION fairlead._arrive(
  q fairlead.queues, p_number bigint, p_moment bigint, p_group text, p_priority bigint, p_key text,
  p_type text, p_tenant text, p_cost bigint, p_expires bigint, p_format bigint, p_body bytea,
  p_conversation bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  g record;
  raised bigint := CASE WHEN p_priority IS NULL OR q.discipline = 'fifo' THEN 0 ELSE p_number END;
  is_fair bigint := CASE WHEN q.fair > 0 OR p_tenant <> '' THEN 1 ELSE 0 END;
  home bigint := p_number;
BEGIN
  IF q.fair = 0 AND p_tenant <> '' THEN
    UPDATE fairlead.queues SET fair = 1 WHERE id = q.id AND fair = 0;
  END IF;
  LOOP
    IF p_group IS NOT NULL THEN
      SELECT id, tenant, state, head INTO g FROM fairlead.groups
        WHERE queue = q.id AND name = p_group COLLATE "C" FOR KEY SHARE;
      IF FOUND THEN
        home := g.id;
        IF g.tenant <> p_tenant THEN
          PERFORM fairlead._refuse(format('tenant of group %L: found %L, allowed: %L',
            p_group, p_tenant, g.tenant));
        END IF;
        EXIT;
      END IF;
    END IF;
    INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered,
        number, head, arrived, lane)
      VALUES (p_number, q.id, p_group, p_tenant, is_fair, 1,
        fairlead._k1(q.discipline, q.step, p_priority, p_moment, raised, p_number, p_moment),
        fairlead._k2(q.discipline, q.step, raised, p_number),
        CASE WHEN raised = 0 THEN -1 ELSE p_priority END,
        CASE WHEN raised = 0 THEN 0 ELSE p_moment END, raised, p_number, p_moment, fairlead._lane(q.limits, p_group))
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    IF EXISTS (SELECT 1 FROM fairlead.groups WHERE id = p_number) THEN
      PERFORM fairlead._refuse(format('number: found %s, which a group has, as where a backup was '
        'restored without its sequences, allowed: a new one; `fairlead store recover` leads there',
        p_number));
    END IF;
  END LOOP;
  INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, expires, cost, type, conversation,
      format, body)
    VALUES (CASE WHEN p_conversation IS NOT NULL AND p_type = 'Error' THEN -p_number ELSE p_number END,
      q.id, home, p_key, p_moment, p_expires, p_cost, p_type, p_conversation, p_format, p_body);
  IF home = p_number THEN
    IF is_fair = 1 THEN
      INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant)
        VALUES (q.id, home, 'joined', p_number, p_tenant);
    END IF;
    RETURN;
  END IF;
  IF is_fair = 1 AND g.state = 2 THEN
    INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant, cost)
      VALUES (q.id, home, 'charged', p_number, p_tenant, p_cost);
  END IF;
  IF raised <> 0 THEN
    INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant, priority, at)
      VALUES (q.id, home, 'raised', p_number, p_tenant, p_priority, p_moment);
  ELSIF g.head = 0 AND g.state <> 2 THEN
    INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant)
      VALUES (q.id, home, 'raised', p_number, p_tenant);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION fairlead._send(
  p_queue text, p_format bigint, p_body bytea, p_group text, p_priority bigint, p_id text,
  p_type text, p_tenant text, p_cost bigint, p_due bigint, p_expires bigint, p_actor text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue(p_queue, true);
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  v_number bigint;
  v_key text;
  unit numeric := 1;
  weight numeric;
  content text;
  known text;
BEGIN
  IF p_priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format(
      'priority: found %s, allowed: an integer from 0 to 255, or NULL', p_priority));
  ELSIF octet_length(p_body) > fairlead._max_body(p_format) THEN
    PERFORM fairlead._refuse(format('body: found %s bytes, allowed: at most %s',
      octet_length(p_body), fairlead._max_body(p_format)));
  ELSIF NOT fairlead._is_format(p_format, p_body) THEN
    PERFORM fairlead._refuse('body: found a format that there is not, allowed: bytes, a text, or JSON');
  ELSIF p_format & 4 > 0 AND NOT fairlead._may_envelop(q.name) THEN
    PERFORM fairlead._refuse('body: found an envelope, as only servers give, allowed: bytes, a text, or JSON');
  ELSIF p_body IS NULL THEN
    PERFORM fairlead._refuse('body: found NULL, allowed: bytes, a text, or JSON');
  ELSIF NOT fairlead._is_readable(p_format, p_body) THEN
    PERFORM fairlead._refuse('body: found bytes that are not what its format says, allowed: bytes, a text in '
      'UTF-8, or JSON');
  ELSIF p_expires < 0 OR greatest(p_due, p_expires) > 4000000000000000000 THEN
    PERFORM fairlead._refuse('due and expires: found a time that is not of this calendar, allowed: microseconds '
      'since 1970, to 4000000000000000000');
  ELSIF NOT (fairlead._is_name(p_group) IS NOT FALSE AND fairlead._is_name(p_id) IS NOT FALSE
      AND fairlead._is_name(p_type) IS NOT FALSE AND fairlead._is_name(p_tenant) IS NOT FALSE) THEN
    PERFORM fairlead._refuse('group, id, type and tenant: found more than 500 characters, or some that are not '
      'printable, allowed: at most 500, and printable');
  END IF;
  FOR weight IN SELECT value::numeric FROM jsonb_each_text(q.weights::jsonb) LOOP
    unit := lcm(unit, weight);
  END LOOP;
  IF p_cost IS NULL OR p_cost < 1 OR p_cost > div(4611686018427387904, unit) THEN
    PERFORM fairlead._refuse(format('cost: found %s, allowed: an integer from 1 to %s '
      'with these weights of tenants', coalesce(p_cost::text, 'NULL'), div(4611686018427387904, unit)));
  END IF;
  IF p_id <> '' THEN
    content := fairlead._digest(p_format, p_body);
    INSERT INTO fairlead.message_ids AS i (queue, key, at, digest)
      VALUES (q.id, p_id, now, content)
      ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
        WHERE i.at < now - q.remembered;
    IF NOT FOUND THEN
      SELECT digest INTO known FROM fairlead.message_ids i WHERE i.queue = q.id AND i.key = p_id COLLATE "default";
      IF known <> content THEN
        PERFORM fairlead._refuse(format('id: found %L, which another message had before, allowed: '
          'an id of its own for each message', p_id));
      END IF;
      RETURN p_id;
    END IF;
  END IF;
  IF q.max_waiting IS NOT NULL AND fairlead._queue_length(q.id) >= q.max_waiting THEN
    PERFORM fairlead._refuse(format('queue %L: found more than %s messages, with the one to be '
      'sent; allowed: as many as max_waiting says; send again later', p_queue, q.max_waiting),
      'FL002');
  END IF;
  v_number := nextval('fairlead.numbers');
  v_key := coalesce(nullif(p_id, ''), 'm-' || v_number);
  IF p_due > now THEN
    INSERT INTO fairlead.delayed (id, queue, due, group_name, tenant, priority, key, expires, cost,
        type, format, body)
      VALUES (v_number, q.id, p_due, nullif(p_group, ''), coalesce(p_tenant, ''), p_priority, v_key,
        p_expires, p_cost, p_type, p_format, p_body);
  ELSE
    PERFORM fairlead._arrive(q, v_number, moment, nullif(p_group, ''), p_priority, v_key, p_type,
      coalesce(p_tenant, ''), p_cost, p_expires, p_format, p_body, NULL);
  END IF;
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, type,
      actor, detail)
    VALUES (v_number, moment, 'sent', p_queue, coalesce(p_group, ''), v_key, coalesce(p_tenant, ''),
      CASE WHEN q.discipline = 'fifo' THEN NULL ELSE p_priority END, p_cost, p_type, p_actor,
      CASE WHEN p_due > now THEN 'due ' || p_due END);
  -- Who holds the group finds the message, or parks the group and wakes somebody when it is settled.
  IF p_group IS NULL OR NOT EXISTS (SELECT 1 FROM fairlead.groups x WHERE x.queue = q.id
      AND x.name = p_group COLLATE "C" AND x.state = 2) THEN
    PERFORM fairlead._wake(q.id);
  END IF;
  RETURN v_key;
END $$;

-- The same in a transaction that goes on after a refusal: what was refused, and why.
CREATE OR REPLACE FUNCTION fairlead._try_send(
  p_queue text, p_format bigint, p_body bytea, p_group text, p_priority bigint, p_id text,
  p_type text, p_tenant text, p_cost bigint, p_due bigint, p_expires bigint, p_actor text,
  OUT o_key text, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  o_key := fairlead._send(p_queue, p_format, p_body, p_group, p_priority, p_id, p_type, p_tenant,
    p_cost, p_due, p_expires, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL002' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

-- Send a message in the transaction that runs; its id. Text, JSON or bytes.
CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body text, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._send(queue, 1, convert_to(body, 'UTF8'), "group", priority, id, type, tenant,
    cost, fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._expiry(delay, expires), fairlead._actor())
$$;

CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body jsonb, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._send(queue, 2, convert_to(body::text, 'UTF8'), "group", priority, id, type,
    tenant, cost, fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._expiry(delay, expires), fairlead._actor())
$$;

CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body bytea, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._send(queue, 0, body, "group", priority, id, type, tenant, cost,
    fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._expiry(delay, expires), fairlead._actor())
$$;

-- Raise a group; whether it was raised. It waits for no reader; a group that is there is kept from ending.
CREATE OR REPLACE FUNCTION fairlead._prioritise(
  p_queue text, p_group text, p_priority integer, p_actor text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue(p_queue, false);
  g record;
  v_number bigint;
  moment bigint := fairlead._moment(fairlead._now());
  raised bigint := coalesce(p_priority, q.default_priority);
BEGIN
  IF p_priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format(
      'priority: found %s, allowed: an integer from 0 to 255, or NULL', p_priority));
  END IF;
  SELECT x.id, x.tenant INTO g FROM fairlead.groups x
    WHERE x.queue = q.id AND x.name = p_group COLLATE "C" FOR KEY SHARE SKIP LOCKED;
  IF NOT FOUND THEN  -- it is ending, or is not there
    SELECT x.id, x.tenant INTO g FROM fairlead.groups x
      WHERE x.queue = q.id AND x.name = p_group COLLATE "C";
  END IF;
  IF g.id IS NULL OR q.discipline = 'fifo' THEN
    RETURN false;
  END IF;
  v_number := nextval('fairlead.numbers');
  INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant, priority, at)
    VALUES (q.id, g.id, 'raised', v_number, g.tenant, raised, moment);
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, actor)
    VALUES (v_number, moment, 'raised', q.name, p_group, '', g.tenant, raised, p_actor);
  RETURN true;
END $$;

-- The same in a transaction that goes on after a refusal: what was refused, and why.
CREATE OR REPLACE FUNCTION fairlead._try_prioritise(
  p_queue text, p_group text, p_priority integer, p_actor text,
  OUT o_raised boolean, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  o_raised := fairlead._prioritise(p_queue, p_group, p_priority, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION fairlead.prioritise(
  queue text, "group" text, priority integer DEFAULT NULL) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._prioritise(queue, "group", priority, fairlead._actor())
$$;
