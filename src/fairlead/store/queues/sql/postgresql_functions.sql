-- What plain SQL calls, from psql and from any language; the store itself calls it for single
-- messages, because one statement is one way to the server and back. It decides as order/key.py and
-- the modules sending, taking and settling do, and is held to the same tests.
--
-- Names that begin with an underscore are the store's own. Times are microseconds since 1970.
-- SQLSTATE FL001: what was asked is not allowed; FL002: the queue is full; FL003: the work is
-- somebody else's by now; FL007: the transaction's isolation level is not for this.

CREATE OR REPLACE FUNCTION fairlead._refuse(line text, state text DEFAULT 'FL001') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = state, MESSAGE = line;
END $$;

-- The time: of the server's clock; or of the setting fairlead.clock, which is for tests, and for the
-- schema's owner. It never jumps to the start of the transaction, as now() would.
CREATE OR REPLACE FUNCTION fairlead._now() RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  said text := nullif(current_setting('fairlead.clock', true), '');
BEGIN
  IF said IS NULL THEN
    RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  ELSIF NOT pg_has_role(session_user,
      (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'fairlead'), 'USAGE') THEN
    PERFORM fairlead._refuse(format('fairlead.clock: found a clock of the session''s own for user %L, '
      'allowed: the server''s; only the owner of the schema may set one, for tests', session_user));
  END IF;
  RETURN said::bigint;
END $$;

-- Who calls. As it stands, session_user is compared in another way than texts are, and so would be all
-- else that is given to a function beside it: then no index finds a name.
CREATE OR REPLACE FUNCTION fairlead._actor() RETURNS text
LANGUAGE sql STABLE
RETURN session_user;

-- Settling looks twice at what others do meanwhile, and a transaction that sees only what was there
-- when it began would overlook a message, for ever.
CREATE OR REPLACE FUNCTION fairlead._check_isolation() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    PERFORM fairlead._refuse(format('transaction: found the isolation level %s, allowed: read '
      'committed, to take, to settle and to draw tickets; nothing of this was done',
      current_setting('transaction_isolation')), 'FL007');
  END IF;
END $$;

-- A length of time in microseconds; NULL: none is given. `p_least` NULL: the caller looks at that.
CREATE OR REPLACE FUNCTION fairlead._micros(p_what text, p_value interval, p_least interval DEFAULT '0')
RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT isfinite(p_value) OR p_value < p_least OR extract(epoch FROM p_value) > 1000000000000 THEN
    PERFORM fairlead._refuse(format('%s: found %s, allowed: an interval of 0 to 1000000000000 seconds',
      p_what, p_value));
  END IF;
  RETURN (extract(epoch FROM p_value) * 1000000)::bigint;
END $$;

-- A group's place: the lowest (k1, k2) is next. `raised`: its entry's number, 0: it was not raised.
-- (Functions with such a body are parsed once, here, so that no search path matters to them; and they
-- become parts of the statements of others, which with a search path of their own they would not.)
CREATE OR REPLACE FUNCTION fairlead._k1(
  discipline text, step bigint, priority bigint, entered bigint, raised bigint, head bigint,
  arrived bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN discipline = 'fifo' OR raised = 0
       THEN CASE WHEN step > 0 THEN arrived + step ELSE 1 END
       WHEN step > 0 THEN CASE WHEN head = 0 THEN entered ELSE arrived END - priority * step
       ELSE -priority END;

CREATE OR REPLACE FUNCTION fairlead._k2(
  discipline text, step bigint, raised bigint, head bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN discipline <> 'fifo' AND raised <> 0 AND (step = 0 OR head = 0) THEN raised
       ELSE head END;

-- A queue as it is set; it is created with the defaults if it is not there.
CREATE OR REPLACE FUNCTION fairlead._queue(p_name text, p_create boolean)
RETURNS fairlead.queues LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
BEGIN
  SELECT * INTO q FROM fairlead.queues WHERE name = p_name;
  IF NOT FOUND AND p_create THEN
    IF coalesce(p_name, '') = '' OR length(p_name) > 500 THEN
      PERFORM fairlead._refuse('queue: found no name, or one of more than 500 characters, '
        'allowed: a name');
    END IF;
    INSERT INTO fairlead.queues (name, remembered, max_failures)
      VALUES (p_name, 604800000000, 5) ON CONFLICT (name) DO NOTHING;
    SELECT * INTO q FROM fairlead.queues WHERE name = p_name;
  ELSIF NOT FOUND THEN
    PERFORM fairlead._refuse(format('queue: found %L, allowed: one that there is', p_name));
  END IF;
  RETURN q;
END $$;

-- Time never goes back in the order of work; unless the latest event is more than an hour ahead of
-- the clock: then a clock was wrong when it was written.
CREATE OR REPLACE FUNCTION fairlead._moment(p_now bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT greatest(p_now, l.time)
    FROM (SELECT j.time FROM fairlead.journal j ORDER BY j.id DESC LIMIT 1) l
    WHERE l.time <= p_now + 3600000000), p_now)
$$;

-- The epoch of an event: how many backups had been restored before it was written.
CREATE OR REPLACE FUNCTION fairlead._epoch(p_number bigint) RETURNS bigint
LANGUAGE sql STABLE
RETURN (SELECT count(*) FROM fairlead.epochs e WHERE e.first <= p_number);

-- Wake one of the processes that wait for work of a queue, at the commit; rather one that holds none.
-- All hear of it; those that are not meant look a moment later whether work is still there.
CREATE OR REPLACE FUNCTION fairlead._wake(p_queue bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  meant integer;
BEGIN
  SELECT s.holder INTO meant FROM fairlead.sleepers s WHERE s.queue = p_queue
    ORDER BY EXISTS (SELECT 1 FROM fairlead.groups g
      WHERE g.queue = p_queue AND g.state = 2 AND g.holder = s.holder), random() LIMIT 1;
  IF FOUND THEN
    PERFORM pg_notify('fairlead_' || p_queue, meant::text);
  END IF;
END $$;

-- What a statement adds to a limited queue or takes from it is counted, whoever does it.
CREATE OR REPLACE FUNCTION fairlead._count() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.room (queue, change)
    SELECT s.queue, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
    FROM changed s JOIN fairlead.queues q ON q.id = s.queue AND q.max_waiting IS NOT NULL
    GROUP BY s.queue;
  RETURN NULL;
END $$;

-- How many messages a limited queue holds. Of many rows one is made: of those that nobody else has
-- locked, so that nobody waits; others see the many until this commits, and their sum is the same.
CREATE OR REPLACE FUNCTION fairlead._held_by_queue(p_queue bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  total bigint;
  parts bigint;
BEGIN
  SELECT coalesce(sum(r.change), 0), count(*) INTO total, parts FROM fairlead.room r
    WHERE r.queue = p_queue;
  IF parts > 100 AND current_setting('transaction_isolation') = 'read committed' THEN
    WITH gone AS (
      DELETE FROM fairlead.room WHERE id = ANY (ARRAY (
        SELECT r.id FROM fairlead.room r WHERE r.queue = p_queue FOR UPDATE SKIP LOCKED))
      RETURNING change)
    INSERT INTO fairlead.room (queue, change) SELECT p_queue, sum(change) FROM gone HAVING count(*) > 0;
  END IF;
  RETURN total;
END $$;

-- A message joins its group; what a reader has to know is told in notices.
CREATE OR REPLACE FUNCTION fairlead._arrive(
  q fairlead.queues, p_number bigint, p_moment bigint, p_group text, p_priority bigint, p_key text,
  p_type text, p_tenant text, p_cost bigint, p_expires bigint, p_format bigint, p_body bytea)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
        WHERE queue = q.id AND name = p_group COLLATE "default" FOR KEY SHARE;
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
        number, head, arrived)
      VALUES (p_number, q.id, p_group, p_tenant, is_fair, 1,
        fairlead._k1(q.discipline, q.step, p_priority, p_moment, raised, p_number, p_moment),
        fairlead._k2(q.discipline, q.step, raised, p_number),
        CASE WHEN raised = 0 THEN -1 ELSE p_priority END,
        CASE WHEN raised = 0 THEN 0 ELSE p_moment END, raised, p_number, p_moment)
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    IF EXISTS (SELECT 1 FROM fairlead.groups WHERE id = p_number) THEN
      PERFORM fairlead._refuse(format('number: found %s, which a group has, as where a backup was '
        'restored without its sequences, allowed: a new one; `fairlead store recover` leads there',
        p_number));
    END IF;
  END LOOP;
  INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, expires, cost, type, format, body)
    VALUES (p_number, q.id, home, p_key, p_moment, p_expires, p_cost, p_type, p_format, p_body);
  IF home = p_number THEN
    IF is_fair = 1 THEN
      INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant)
        VALUES (q.id, home, 'joined', p_number, p_tenant);
    END IF;
    RETURN;
  END IF;
  IF is_fair = 1 AND g.state = 2 THEN
    INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant, cost)
      VALUES (q.id, home, 'charged', p_number, p_tenant, p_cost);
  END IF;
  IF raised <> 0 THEN
    INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant, priority, at)
      VALUES (q.id, home, 'raised', p_number, p_tenant, p_priority, p_moment);
  ELSIF g.head = 0 AND g.state <> 2 THEN
    INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant)
      VALUES (q.id, home, 'raised', p_number, p_tenant);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION fairlead._send(
  p_queue text, p_format bigint, p_body bytea, p_group text, p_priority bigint, p_id text,
  p_type text, p_tenant text, p_cost bigint, p_due bigint, p_expires bigint, p_actor text)
RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
  ELSIF octet_length(p_body) > 16777216 THEN
    PERFORM fairlead._refuse(format(
      'body: found %s bytes, allowed: at most 16777216', octet_length(p_body)));
  ELSIF p_body IS NULL THEN
    PERFORM fairlead._refuse('body: found NULL, allowed: bytes, a text, or JSON');
  ELSIF greatest(length(p_group), length(p_id), length(p_type), length(p_tenant)) > 500 THEN
    PERFORM fairlead._refuse('group, id, type and tenant: found more than 500 characters, '
      'allowed: at most 500');
  END IF;
  FOR weight IN SELECT value::numeric FROM jsonb_each_text(q.weights::jsonb) LOOP
    unit := lcm(unit, weight);
  END LOOP;
  IF p_cost IS NULL OR p_cost < 1 OR p_cost > div(4611686018427387904, unit) THEN
    PERFORM fairlead._refuse(format('cost: found %s, allowed: an integer from 1 to %s '
      'with these weights of tenants', coalesce(p_cost::text, 'NULL'), div(4611686018427387904, unit)));
  END IF;
  IF p_id <> '' THEN
    content := encode(sha256(set_byte('\x00', 0, p_format::integer) || p_body), 'hex');
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
  IF q.max_waiting IS NOT NULL AND fairlead._held_by_queue(q.id) >= q.max_waiting THEN
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
      coalesce(p_tenant, ''), p_cost, p_expires, p_format, p_body);
  END IF;
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, type,
      actor, detail)
    VALUES (v_number, moment, 'sent', p_queue, coalesce(p_group, ''), v_key, coalesce(p_tenant, ''),
      CASE WHEN q.discipline = 'fifo' THEN NULL ELSE p_priority END, p_cost, p_type, p_actor,
      CASE WHEN p_due > now THEN 'due ' || p_due END);
  PERFORM fairlead._wake(q.id);
  RETURN v_key;
END $$;

-- The same in a transaction that goes on after a refusal: what was refused, and why.
CREATE OR REPLACE FUNCTION fairlead._try_send(
  p_queue text, p_format bigint, p_body bytea, p_group text, p_priority bigint, p_id text,
  p_type text, p_tenant text, p_cost bigint, p_due bigint, p_expires bigint, p_actor text,
  OUT o_key text, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._send(queue, 1, convert_to(body, 'UTF8'), "group", priority, id, type, tenant,
    cost, fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._micros('expires', expires), fairlead._actor())
$$;

CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body jsonb, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._send(queue, 2, convert_to(body::text, 'UTF8'), "group", priority, id, type,
    tenant, cost, fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._micros('expires', expires), fairlead._actor())
$$;

CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body bytea, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._send(queue, 0, body, "group", priority, id, type, tenant, cost,
    fairlead._now() + fairlead._micros('delay', delay),
    fairlead._now() + fairlead._micros('expires', expires), fairlead._actor())
$$;

-- Raise a group; whether it was raised. It waits for no reader.
CREATE OR REPLACE FUNCTION fairlead.prioritise(
  queue text, "group" text, priority integer DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue(queue, false);
  g record;
  v_number bigint;
  moment bigint := fairlead._moment(fairlead._now());
  raised bigint := coalesce(priority, q.default_priority);
BEGIN
  IF priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format(
      'priority: found %s, allowed: an integer from 0 to 255, or NULL', priority));
  END IF;
  SELECT x.id, x.tenant INTO g FROM fairlead.groups x
    WHERE x.queue = q.id AND x.name = "group" COLLATE "default";
  IF NOT FOUND OR q.discipline = 'fifo' THEN
    RETURN false;
  END IF;
  v_number := nextval('fairlead.numbers');
  INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant, priority, at)
    VALUES (q.id, g.id, 'raised', v_number, g.tenant, raised, moment);
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, actor)
    VALUES (v_number, moment, 'raised', q.name, "group", '', g.tenant, raised, fairlead._actor());
  RETURN true;
END $$;

-- Put back or end a group that is held, or was picked; the caller has locked its row.
CREATE OR REPLACE FUNCTION fairlead._put_back(
  q fairlead.queues, p_id bigint, p_released boolean, p_failed boolean, p_not_before bigint)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  g fairlead.groups;
  n record;
  first record;
  v_priority bigint := -1;
  v_entered bigint := 0;
  raised bigint := 0;
  again boolean := false;
BEGIN
  SELECT * INTO g FROM fairlead.groups WHERE id = p_id;
  FOR n IN DELETE FROM fairlead.notices x WHERE x.group_id = p_id AND x.kind = 'raised'
      RETURNING x.number, x.priority, x.at LOOP
    IF n.priority IS NOT NULL AND n.number > raised THEN
      v_priority := n.priority; v_entered := n.at; raised := n.number;
    END IF;
  END LOOP;
  IF p_released AND raised = 0 THEN
    v_priority := g.was_priority; v_entered := g.was_entered; raised := g.was_number;
  END IF;
  LOOP
    SELECT m.id, m.arrived INTO first FROM fairlead.messages m WHERE m.group_id = p_id
      ORDER BY m.id LIMIT 1;
    EXIT WHEN FOUND OR raised <> 0;
    IF again THEN  -- nobody is sending to it, and nothing has come
      DELETE FROM fairlead.groups WHERE id = p_id;
      RETURN;
    END IF;
    PERFORM 1 FROM fairlead.groups WHERE id = p_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN  -- somebody is sending to it: it is looked at again in a moment
      p_not_before := fairlead._now() + 50000;
      EXIT;
    END IF;
    again := true;
  END LOOP;
  UPDATE fairlead.groups x SET
    state = CASE WHEN p_not_before IS NULL THEN 1 ELSE 3 END, not_before = p_not_before,
    priority = v_priority, entered = v_entered, number = raised,
    k1 = fairlead._k1(q.discipline, q.step, v_priority, v_entered, raised,
      coalesce(first.id, 0), coalesce(first.arrived, 0)),
    k2 = fairlead._k2(q.discipline, q.step, raised, coalesce(first.id, 0)),
    head = coalesce(first.id, 0), arrived = coalesce(first.arrived, 0),
    releases = CASE WHEN p_released THEN g.releases + 1 ELSE 0 END,
    failures = CASE WHEN p_released THEN g.failures + p_failed::integer ELSE 0 END,
    token = NULL, holder = NULL, deadline = NULL
    WHERE x.id = p_id;
END $$;

-- Messages are about to be done: the clusters that wait for them are told.
CREATE OR REPLACE FUNCTION fairlead._complete(p_numbers bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.completions (cluster, destination, part, version)
    SELECT p.cluster, p.destination, p.part, p.version
    FROM fairlead.messages m JOIN fairlead.published p ON p.queue = m.queue AND p.key = m.key
    WHERE m.id = ANY (p_numbers) ORDER BY m.id;
  DELETE FROM fairlead.published WHERE (queue, key) IN (
    SELECT m.queue, m.key FROM fairlead.messages m WHERE m.id = ANY (p_numbers));
END $$;

-- Messages of a group become dead letters.
CREATE OR REPLACE FUNCTION fairlead._bury(
  q fairlead.queues, g fairlead.groups, p_numbers bigint[], p_reason text, p_attempt bigint,
  p_token bigint, p_kind text, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
BEGIN
  INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority, key,
      cost, type, format, body)
    SELECT m.id, m.queue, now, p_reason, p_attempt, g.name, g.tenant,
      CASE WHEN g.was_priority >= 0 AND p_attempt > 0 THEN g.was_priority END, m.key, m.cost,
      m.type, m.format, m.body
    FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, attempt, token,
      actor, detail)
    SELECT fairlead._moment(now), p_kind, q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost,
      nullif(p_attempt, 0), p_token, p_actor, nullif(p_reason, '')
    FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id ORDER BY m.id;
  IF q.completing > 0 THEN
    PERFORM fairlead._complete(ARRAY (SELECT m.id FROM fairlead.messages m
      WHERE m.id = ANY (p_numbers) AND m.group_id = g.id));
  END IF;
  DELETE FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id;
END $$;

-- Settle a group whose row the caller has locked.
CREATE OR REPLACE FUNCTION fairlead._end(
  q fairlead.queues, g fairlead.groups, p_outcome text, p_given bigint[], p_reason text,
  p_delay bigint, p_failed boolean, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  moment bigint := fairlead._moment(fairlead._now());
  done bigint[] := coalesce(p_given, '{}');
BEGIN
  IF p_outcome = 'released' AND NOT (p_failed AND coalesce(g.failures + 1 >= q.max_failures, false)) THEN
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, attempt, token,
        actor, detail)
      SELECT moment, 'released', q.name, coalesce(g.name, ''),
        CASE WHEN g.name IS NULL THEN coalesce(min(m.key), '') ELSE '' END, g.tenant,
        coalesce(sum(m.cost), 0), g.releases + 1, g.token, p_actor, nullif(p_reason, '')
      FROM fairlead.messages m WHERE m.group_id = g.id;
    PERFORM fairlead._put_back(q, g.id, true, p_failed,
      CASE WHEN p_delay > 0 THEN fairlead._now() + p_delay END);
    RETURN;
  END IF;
  IF p_outcome = 'accepted' THEN
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, token, actor)
      SELECT moment, 'accepted', q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost, g.token,
        p_actor
      FROM fairlead.messages m WHERE m.id = ANY (done) AND m.group_id = g.id ORDER BY m.id;
    IF NOT FOUND THEN
      INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, token, actor)
        VALUES (moment, 'accepted', q.name, coalesce(g.name, ''), '', g.tenant, g.token, p_actor);
    END IF;
    IF q.completing > 0 THEN
      PERFORM fairlead._complete(ARRAY (SELECT m.id FROM fairlead.messages m
        WHERE m.id = ANY (done) AND m.group_id = g.id));
    END IF;
    DELETE FROM fairlead.messages m WHERE m.id = ANY (done) AND m.group_id = g.id;
  ELSE
    IF p_failed AND done = '{}' THEN  -- nobody knows which message it was: the first, then
      done := ARRAY (SELECT m.id FROM fairlead.messages m WHERE m.group_id = g.id
        ORDER BY m.id LIMIT 1);
    END IF;
    PERFORM fairlead._bury(q, g, done, p_reason, g.releases + 1, g.token, 'rejected', p_actor);
    IF done = '{}' THEN
      INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, token, actor, detail)
        VALUES (moment, 'rejected', q.name, coalesce(g.name, ''), '', g.tenant, g.token, p_actor,
          nullif(p_reason, ''));
    END IF;
  END IF;
  IF g.name IS NULL AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id) THEN
    DELETE FROM fairlead.groups WHERE id = g.id;  -- nobody can send to it, or raise it
  ELSE
    PERFORM fairlead._put_back(q, g.id, false, false, NULL);
  END IF;
END $$;

-- Bring a queue without tenants up to date, before a take.
CREATE OR REPLACE FUNCTION fairlead._chores(q fairlead.queues, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  v_number bigint;
  v_priority bigint;
  v_entered bigint;
  told bigint := -9223372036854775808;
  g fairlead.groups;
  n record;
  d fairlead.delayed;
BEGIN
  FOR g IN SELECT * FROM fairlead.groups WHERE queue = q.id AND state = 2 AND deadline <= now
      ORDER BY deadline LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED LOOP
    PERFORM fairlead._end(q, g, 'released', '{}', 'its lease was over', 0, true, p_actor);
  END LOOP;
  FOR d IN WITH due_now AS (DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (
        SELECT id FROM fairlead.delayed WHERE queue = q.id AND due <= now ORDER BY due, id
        LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM due_now ORDER BY due, id LOOP
    v_number := nextval('fairlead.numbers');
    IF EXISTS (SELECT 1 FROM fairlead.groups x WHERE x.queue = q.id AND x.name = d.group_name
        AND x.tenant <> d.tenant) THEN
      INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority,
          key, cost, type, format, body)
        VALUES (v_number, q.id, now, 'its group is another tenant''s now', 0, d.group_name,
          d.tenant, d.priority, d.key, d.cost, d.type, d.format, d.body);
      INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
          type, actor, detail)
        VALUES (v_number, moment, 'rejected', q.name, d.group_name, d.key, d.tenant, d.priority,
          d.cost, d.type, p_actor, 'its group is another tenant''s now');
      CONTINUE;
    END IF;
    PERFORM fairlead._arrive(q, v_number, moment, d.group_name, d.priority, d.key, d.type, d.tenant,
      d.cost, d.expires, d.format, d.body);
    INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
        type, actor)
      VALUES (v_number, moment, 'arrived', q.name, coalesce(d.group_name, ''), d.key, d.tenant,
        d.priority, d.cost, d.type, p_actor);
  END LOOP;
  IF EXISTS (SELECT 1 FROM fairlead.notices WHERE queue = q.id AND kind <> 'raised') THEN
    DELETE FROM fairlead.notices WHERE id = ANY (ARRAY (  -- of tenants, which it has no more
      SELECT x.id FROM fairlead.notices x WHERE x.queue = q.id AND x.kind <> 'raised'
      ORDER BY x.id LIMIT 1000 FOR UPDATE SKIP LOCKED));
  END IF;
  LOOP  -- from one group that was raised to the next, however often each was
    SELECT min(x.group_id) INTO told FROM fairlead.notices x
      WHERE x.queue = q.id AND x.kind = 'raised' AND x.group_id > told;
    EXIT WHEN told IS NULL;
    SELECT * INTO g FROM fairlead.groups y WHERE y.id = told;
    CONTINUE WHEN g.state = 2;  -- its reader acts on this
    IF g.id IS NOT NULL THEN
      PERFORM 1 FROM fairlead.groups y WHERE y.id = told AND y.state <> 2
        FOR NO KEY UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
    END IF;
    v_priority := NULL; v_entered := NULL; v_number := NULL;
    FOR n IN DELETE FROM fairlead.notices x WHERE x.id = ANY (ARRAY (
          SELECT z.id FROM fairlead.notices z WHERE z.group_id = told AND z.kind = 'raised'
          FOR UPDATE SKIP LOCKED)) RETURNING x.number, x.priority, x.at LOOP
      IF n.priority IS NOT NULL AND (v_number IS NULL OR n.number > v_number) THEN
        v_priority := n.priority; v_entered := n.at; v_number := n.number;
      END IF;
    END LOOP;
    CONTINUE WHEN g.id IS NULL;  -- it has ended
    UPDATE fairlead.groups z SET priority = coalesce(v_priority, z.priority),
      entered = coalesce(v_entered, z.entered), number = coalesce(v_number, z.number)
      WHERE z.id = told;
    UPDATE fairlead.groups z SET head = coalesce(f.id, 0), arrived = coalesce(f.arrived, 0),
      k1 = fairlead._k1(q.discipline, q.step, z.priority, z.entered, z.number, coalesce(f.id, 0),
        coalesce(f.arrived, 0)),
      k2 = fairlead._k2(q.discipline, q.step, z.number, coalesce(f.id, 0))
      FROM (SELECT 1) AS one LEFT JOIN LATERAL (SELECT m.id, m.arrived FROM fairlead.messages m
        WHERE m.group_id = told ORDER BY m.id LIMIT 1) f ON true
      WHERE z.id = told;
  END LOOP;
  FOR g IN WITH woken AS (UPDATE fairlead.groups SET state = 1, not_before = NULL
        WHERE id = ANY (ARRAY (
          SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 3 AND not_before <= now
          ORDER BY not_before LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM woken ORDER BY id LOOP
    IF g.head = 0 THEN  -- somebody was sending to it: it stands where that message does
      UPDATE fairlead.groups z SET head = f.id, arrived = f.arrived,
        k1 = fairlead._k1(q.discipline, q.step, z.priority, z.entered, z.number, f.id, f.arrived),
        k2 = fairlead._k2(q.discipline, q.step, z.number, f.id)
        FROM (SELECT m.id, m.arrived FROM fairlead.messages m WHERE m.group_id = g.id
          ORDER BY m.id LIMIT 1) f
        WHERE z.id = g.id;
    ELSE
      INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor)
        VALUES (moment, 'woken', q.name, coalesce(g.name, ''), '', g.tenant, p_actor);
    END IF;
  END LOOP;
  -- what is left, somebody is still sending to: it is looked at again, the later the longer it takes
  UPDATE fairlead.groups
    SET not_before = now + least(greatest((now - coalesce(taken, 0)) / 4, 50000), 1000000)
    WHERE id = ANY (ARRAY (
      SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 3 AND not_before <= now
      ORDER BY not_before LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)) AND head = 0;
END $$;

-- Take the best group that nobody holds, or the one that is named, and its first messages.
CREATE OR REPLACE FUNCTION fairlead._take(
  p_queue text, p_group text, p_lease bigint, p_holder bigint, p_most bigint, p_actor text)
RETURNS TABLE (
  o_group_id bigint, o_group text, o_tenant text, o_priority bigint, o_releases bigint,
  o_token bigint, o_taken bigint, o_deadline bigint, o_k1 bigint, o_k2 bigint, o_number bigint,
  o_key text, o_arrived bigint, o_expires bigint, o_cost bigint, o_type text, o_format bigint,
  o_body bytea)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
  g fairlead.groups;
  now bigint := fairlead._now();
  moment bigint;
  gone bigint[];
  total bigint;
BEGIN
  PERFORM fairlead._check_isolation();
  IF p_lease IS NULL OR p_lease < 1000 THEN
    PERFORM fairlead._refuse(format('lease: found %s, allowed: 0.001 seconds or more',
      CASE WHEN p_lease IS NULL THEN 'NULL' ELSE 'less than a millisecond' END));
  ELSIF p_most IS NULL OR p_most < 1 THEN
    PERFORM fairlead._refuse(format('most: found %s, allowed: an integer from 1 on',
      coalesce(p_most::text, 'NULL')));
  ELSIF coalesce(p_queue, '') = '' THEN
    PERFORM fairlead._refuse('queue: found no name, allowed: a name');
  END IF;
  SELECT * INTO q FROM fairlead.queues WHERE name = p_queue;
  IF NOT FOUND OR q.enabled = 0 THEN
    RETURN;
  ELSIF q.by_library > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue of a service, or one that failures '
      'switch off, allowed in SQL: another one; take from it with the library', p_queue), 'FL004');
  ELSIF q.fair > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue that its tenants share, allowed in '
      'SQL: one without tenants; take from it with the library', p_queue), 'FL004');
  END IF;
  moment := fairlead._moment(now);
  -- the first in the order of an index: a plan without values would look anywhere for one that fits
  IF EXISTS (SELECT 1 FROM fairlead.notices WHERE queue = q.id AND kind = 'raised')
      OR EXISTS (SELECT 1 FROM fairlead.notices WHERE queue = q.id AND kind <> 'raised')
      OR (SELECT min(not_before) FROM fairlead.groups WHERE queue = q.id AND state = 3) <= now
      OR (SELECT min(due) FROM fairlead.delayed WHERE queue = q.id) <= now
      OR (SELECT min(deadline) FROM fairlead.groups WHERE queue = q.id AND state = 2) <= now THEN
    PERFORM fairlead._chores(q, p_actor);
  END IF;
  LOOP
    IF p_group IS NULL THEN
      UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
          was_number = number, was_turn = 0, priority = -1, entered = 0, number = 0,
          token = nextval('fairlead.numbers'), holder = p_holder, taken = moment,
          deadline = now + p_lease
        WHERE id = (SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 1
          ORDER BY k1, k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING * INTO g;
    ELSE
      UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
          was_number = number, was_turn = 0, priority = -1, entered = 0, number = 0,
          token = nextval('fairlead.numbers'), holder = p_holder, taken = moment,
          deadline = now + p_lease
        WHERE id = (SELECT id FROM fairlead.groups WHERE queue = q.id
          AND name = p_group COLLATE "default" AND state = 1 FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING * INTO g;
    END IF;
    IF g.id IS NULL THEN
      RETURN;
    END IF;
    gone := ARRAY (SELECT m.id FROM (SELECT x.id, x.expires FROM fairlead.messages x
      WHERE x.group_id = g.id ORDER BY x.id LIMIT p_most) m WHERE m.expires <= now);
    IF gone <> '{}' THEN
      PERFORM fairlead._bury(q, g, gone, 'it has expired', 0, NULL, 'expired', p_actor);
    END IF;
    SELECT sum(m.cost) INTO total FROM (SELECT x.cost FROM fairlead.messages x
      WHERE x.group_id = g.id ORDER BY x.id LIMIT p_most) m;
    EXIT WHEN total IS NOT NULL;
    PERFORM fairlead._put_back(q, g.id, false, false, NULL);
  END LOOP;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, priority, cost, attempt,
      token, actor, lease)
    VALUES (moment, 'taken', q.name, coalesce(g.name, ''),
      CASE WHEN g.name IS NULL
        THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
      g.tenant, nullif(g.was_priority, -1), total, g.releases + 1, g.token, p_actor, g.deadline);
  RETURN QUERY SELECT g.id, coalesce(g.name, ''), g.tenant, g.was_priority, g.releases, g.token,
      g.taken, g.deadline, g.k1, g.k2, m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.format,
      m.body
    FROM fairlead.messages m WHERE m.group_id = g.id ORDER BY m.id LIMIT p_most;
END $$;

-- Take the best group that nobody holds, or the one that is named: its messages, in their order.
-- No row: there is none. Settle it with its token and the numbers of these messages.
CREATE OR REPLACE FUNCTION fairlead.take(
  queue text, "group" text DEFAULT NULL, lease interval DEFAULT '60 seconds',
  most integer DEFAULT 1000)
RETURNS TABLE (token bigint, in_group text, priority bigint, attempt bigint, number bigint, id text,
  type text, body_text text, body bytea)
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT o_token, o_group, nullif(o_priority, -1), o_releases + 1, o_number, o_key, o_type,
    CASE WHEN o_format > 0 THEN convert_from(o_body, 'UTF8') END, o_body
  FROM fairlead._take(queue, "group", fairlead._micros('lease', CASE WHEN lease < '0' THEN '-1 s' ELSE lease END, NULL), NULL, most,
    fairlead._actor())
$$;

-- What has arrived meanwhile for the group that is held with a token: all that was not given yet.
CREATE OR REPLACE FUNCTION fairlead.more(
  token bigint, given bigint[], most integer DEFAULT 1000)
RETURNS TABLE (number bigint, id text, type text, body_text text, body bytea)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF more.token IS NULL THEN
    PERFORM fairlead._refuse('token: found NULL, allowed: the token of work');
  ELSIF given IS NULL OR array_position(given, NULL) IS NOT NULL THEN
    PERFORM fairlead._refuse('given: found NULL, allowed: the numbers of the messages that were '
      'given');
  ELSIF most IS NULL OR most < 1 THEN
    PERFORM fairlead._refuse(format('most: found %s, allowed: an integer from 1 on',
      coalesce(most::text, 'NULL')));
  END IF;
  RETURN QUERY SELECT m.id, m.key, m.type,
      CASE WHEN m.format > 0 THEN convert_from(m.body, 'UTF8') END, m.body
    FROM fairlead.groups g JOIN fairlead.messages m ON m.group_id = g.id
    WHERE g.token = more.token AND g.state = 2 AND m.id <> ALL (given)
      AND coalesce(m.expires > fairlead._now(), true)
    ORDER BY m.id LIMIT most;
END $$;

CREATE OR REPLACE FUNCTION fairlead._settle(
  p_token bigint, p_outcome text, p_given bigint[], p_reason text, p_delay bigint,
  p_failed boolean, p_actor text, p_id bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
  g fairlead.groups;
BEGIN
  PERFORM fairlead._check_isolation();
  IF p_token IS NULL THEN
    PERFORM fairlead._refuse('token: found NULL, allowed: the token of work');
  ELSIF p_given IS NULL THEN
    PERFORM fairlead._refuse('given: found NULL, allowed: the numbers of messages');
  ELSIF p_outcome NOT IN ('accepted', 'rejected', 'released') OR p_outcome IS NULL THEN
    PERFORM fairlead._refuse(format(
      'outcome: found %L, allowed: accepted, rejected or released', p_outcome));
  END IF;
  IF p_id IS NOT NULL THEN
    SELECT * INTO g FROM fairlead.groups WHERE id = p_id AND token = p_token AND state = 2
      FOR NO KEY UPDATE;
  ELSE
    SELECT * INTO g FROM fairlead.groups WHERE token = p_token AND state = 2 FOR NO KEY UPDATE;
  END IF;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse(format('work with token %s: found that it is not this reader''s any '
      'more (its lease was over, or it was taken back), allowed: to read, extend or settle what '
      'one holds',
      p_token), 'FL003');
  END IF;
  SELECT * INTO q FROM fairlead.queues WHERE id = g.queue;
  IF q.by_library > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue of a service, or one that failures '
      'switch off, allowed in SQL: another one', q.name), 'FL004');
  ELSIF q.fair > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue that its tenants share, allowed in '
      'SQL: one without tenants', q.name), 'FL004');
  END IF;
  PERFORM fairlead._end(q, g, p_outcome, p_given, p_reason, p_delay, p_failed, p_actor);
  IF EXISTS (SELECT 1 FROM fairlead.groups x WHERE x.id = g.id) THEN  -- something is left of it
    PERFORM fairlead._wake(q.id);
  END IF;
END $$;

-- The same in a transaction that goes on after a refusal: what was refused, and why.
CREATE OR REPLACE FUNCTION fairlead._try_settle(
  p_token bigint, p_outcome text, p_given bigint[], p_reason text, p_delay bigint,
  p_failed boolean, p_actor text, p_id bigint, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._settle(p_token, p_outcome, p_given, p_reason, p_delay, p_failed, p_actor, p_id);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL003' OR SQLSTATE 'FL004' OR SQLSTATE 'FL007' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

-- Settle work in the transaction that runs. `given`: the numbers of the messages that are done
-- (accepted) or cannot be done (rejected); a release gives all back.
CREATE OR REPLACE FUNCTION fairlead.settle(
  token bigint, outcome text DEFAULT 'accepted', given bigint[] DEFAULT '{}',
  reason text DEFAULT '', delay interval DEFAULT '0') RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._settle(token, outcome, given, reason,
    coalesce(fairlead._micros('delay', delay), 0), outcome = 'released' AND coalesce(reason, '') <> '',
    fairlead._actor())
$$;

-- Whoever reads the journal is told what is missing, however it was deleted. An epoch's events are
-- before those of the next one, whatever their transactions.
CREATE OR REPLACE FUNCTION fairlead._pruned() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  last record;
BEGIN
  SELECT g.transaction, g.id INTO last FROM gone g
    ORDER BY fairlead._epoch(g.id) DESC, g.transaction DESC, g.id DESC LIMIT 1;
  UPDATE fairlead.schema SET pruned_transaction = last.transaction, pruned_id = last.id
    WHERE (fairlead._epoch(pruned_id), pruned_transaction, pruned_id)
      < (fairlead._epoch(last.id), last.transaction, last.id);
  RETURN NULL;
END $$;

-- Forget the first events, if they are older than events are kept, but for the latest event. Whoever
-- may call it does so with the rights of the schema's owner: so a reader can forget what is old, and
-- nothing else. A clock of the caller's own can only make it forget less.
CREATE OR REPLACE FUNCTION fairlead._forget_events(p_now bigint, p_most bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  before bigint;
BEGIN
  SELECT least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) - journal_keep
    INTO before FROM fairlead.schema FOR NO KEY UPDATE SKIP LOCKED;
  IF before IS NOT NULL THEN  -- else they are kept for ever, or somebody else is at it
    RETURN QUERY DELETE FROM fairlead.journal x WHERE x.id = ANY (ARRAY (
        SELECT j.id FROM (SELECT id, time FROM fairlead.journal ORDER BY id LIMIT p_most) j
        WHERE j.time < before AND j.id < (SELECT max(id) FROM fairlead.journal)))
      RETURNING x.id;
  END IF;
END $$;

-- Forget the oldest ids of messages, if their time is over; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_ids(p_now bigint, p_most bigint) RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM fairlead.message_ids x WHERE (x.queue, x.key) IN (
    SELECT i.queue, i.key
    FROM (SELECT queue, key, at FROM fairlead.message_ids ORDER BY at LIMIT p_most
          FOR UPDATE SKIP LOCKED) i
      LEFT JOIN fairlead.queues q ON q.id = i.queue  -- a cluster's ids have none
    WHERE i.at < least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
      - coalesce(q.remembered, 604800000000))
  RETURNING x.key
$$;

-- The first stretches of each cluster, at most so many, if the next one began before a time, too.
CREATE OR REPLACE FUNCTION fairlead._over(p_before bigint, p_most bigint)
RETURNS SETOF fairlead.stretches
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT s.* FROM fairlead.clusters c CROSS JOIN LATERAL (
      SELECT w.* FROM fairlead.stretches w WHERE w.cluster = c.id
      ORDER BY w.first, w.version LIMIT p_most) s
    WHERE s.at < p_before AND p_before > (SELECT l.at FROM fairlead.stretches l
      WHERE l.cluster = s.cluster AND (l.first, l.version) > (s.first, s.version)
      ORDER BY l.first, l.version LIMIT 1)
    LIMIT p_most;
END;

-- Forget what clusters were, as far back as no event is kept; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_stretches(p_now bigint, p_most bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  before bigint;
BEGIN
  SELECT least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) - journal_keep
    INTO before FROM fairlead.schema;
  RETURN QUERY DELETE FROM fairlead.stretches x WHERE (x.cluster, x.first, x.version) IN (
      SELECT s.cluster, s.first, s.version FROM fairlead._over(before, p_most) s)
    RETURNING x.first;
  DELETE FROM fairlead.versions v USING fairlead.clusters c
    WHERE v.cluster = c.id AND v.version < (SELECT s.version FROM fairlead.stretches s
      WHERE s.cluster = c.id ORDER BY s.first, s.version LIMIT 1);
END $$;

-- Forget dialogs of which both ends have ended, each at the same moment; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_ended(p_most bigint) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM fairlead.endpoints x WHERE x.dialog IN (
    SELECT dialog FROM fairlead.endpoints WHERE state = 3
    GROUP BY dialog HAVING count(*) = 2 LIMIT p_most)
  RETURNING x.id
$$;

-- Whether work is held. A transaction that is just settling it is waited for, but not for long: its
-- reader may ask because it has lost the connection while it committed.
CREATE OR REPLACE FUNCTION fairlead._is_held(p_token bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM 1 FROM fairlead.groups WHERE token = p_token AND state = 2 FOR SHARE;
  RETURN FOUND;
EXCEPTION WHEN lock_not_available THEN
  RETURN true;
END $$;

-- The decisions of a store are its own: nobody has a right to it until an administrator grants one.
REVOKE ALL ON SCHEMA fairlead FROM PUBLIC;
