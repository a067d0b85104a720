-- Take, with the maintenance before it, for plain SQL: see postgresql_functions.sql.

-- Bring a queue without tenants up to date, before a take.
CREATE OR REPLACE FUNCTION fairlead._maintain(q fairlead.queues, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  v_number bigint;
  v_priority bigint;
  v_entered bigint;
  raised bigint := -9223372036854775808;
  g fairlead.groups;
  n record;
  d fairlead.delayed;
BEGIN
  FOR g IN SELECT * FROM fairlead.groups WHERE queue = q.id AND state = 2 AND deadline <= now
      ORDER BY deadline LIMIT 300 FOR NO KEY UPDATE SKIP LOCKED LOOP
    PERFORM fairlead._end(q, g, 'released', '{}', 'its lease was over', NULL,
      fairlead._counts(q, 'lease') AND NOT fairlead._restarted_since(g.taken, now), p_actor, false);
  END LOOP;
  FOR d IN WITH due_now AS (DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (
        SELECT id FROM fairlead.delayed WHERE queue = q.id AND due <= now ORDER BY due, id
        LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM due_now ORDER BY due, id LOOP
    v_number := nextval('fairlead.numbers');
    IF EXISTS (SELECT 1 FROM fairlead.groups x WHERE x.queue = q.id AND x.name = d.group_name
        AND x.tenant <> d.tenant) THEN
      INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority,
          key, cost, type, conversation, format, body)
        VALUES (v_number, q.id, now, 'its group is another tenant''s now', 0, d.group_name,
          d.tenant, d.priority, d.key, d.cost, d.type, d.conversation, d.format, d.body);
      INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
          type, actor, detail)
        VALUES (v_number, moment, 'rejected', q.name, d.group_name, d.key, d.tenant, d.priority,
          d.cost, d.type, p_actor, 'its group is another tenant''s now');
      PERFORM fairlead._complete_delayed(q.id, d.key, 'its group is another tenant''s now', now);
      CONTINUE;
    END IF;
    PERFORM fairlead._arrive(q, v_number, moment, d.group_name, d.priority, d.key, d.type, d.tenant,
      d.cost, d.expires, d.format, d.body, d.conversation);
    INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
        type, actor)
      VALUES (v_number, moment, 'arrived', q.name, coalesce(d.group_name, ''), d.key, d.tenant,
        d.priority, d.cost, d.type, p_actor);
  END LOOP;
  IF EXISTS (SELECT 1 FROM fairlead.pending_updates WHERE queue = q.id AND kind <> 'raised') THEN
    DELETE FROM fairlead.pending_updates WHERE id = ANY (ARRAY (  -- of tenants, which it has no more
      SELECT x.id FROM fairlead.pending_updates x WHERE x.queue = q.id AND x.kind <> 'raised'
      ORDER BY x.id LIMIT 1000 FOR UPDATE SKIP LOCKED));
  END IF;
  FOR i IN 1 .. 1000 LOOP  -- from one group that was raised to the next, however often each was
    SELECT min(x.group_id) INTO raised FROM fairlead.pending_updates x
      WHERE x.queue = q.id AND x.kind = 'raised' AND x.group_id > raised;
    EXIT WHEN raised IS NULL;
    SELECT * INTO g FROM fairlead.groups y WHERE y.id = raised;
    CONTINUE WHEN g.state = 2;  -- its reader acts on this
    IF g.id IS NOT NULL THEN
      PERFORM 1 FROM fairlead.groups y WHERE y.id = raised AND y.state <> 2
        FOR NO KEY UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
    END IF;
    v_priority := NULL; v_entered := NULL; v_number := NULL;
    FOR n IN DELETE FROM fairlead.pending_updates x WHERE x.id = ANY (ARRAY (
          SELECT z.id FROM fairlead.pending_updates z WHERE z.group_id = raised AND z.kind = 'raised'
          FOR UPDATE SKIP LOCKED)) RETURNING x.number, x.priority, x.at LOOP
      IF n.priority IS NOT NULL AND (v_number IS NULL OR n.number > v_number) THEN
        v_priority := n.priority; v_entered := n.at; v_number := n.number;
      END IF;
    END LOOP;
    CONTINUE WHEN g.id IS NULL;  -- it has ended
    UPDATE fairlead.groups z SET priority = coalesce(v_priority, z.priority),
      entered = coalesce(v_entered, z.entered), number = coalesce(v_number, z.number)
      WHERE z.id = raised;
    UPDATE fairlead.groups z SET head = coalesce(f.id, 0), arrived = coalesce(f.arrived, 0),
      k1 = fairlead._k1(q.discipline, q.step, z.priority, z.entered, z.number, coalesce(f.id, 0),
        coalesce(f.arrived, 0)),
      k2 = fairlead._k2(q.discipline, q.step, z.number, coalesce(f.id, 0))
      FROM (SELECT 1) AS one LEFT JOIN LATERAL fairlead._head(raised) f ON true
      WHERE z.id = raised RETURNING z.* INTO g;
    IF g.head = 0 AND g.number = 0 THEN  -- an end of a dialog has ended
      PERFORM fairlead._put_back(q, raised, false, 0, NULL, false);
    END IF;
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
        FROM fairlead._head(g.id) f WHERE z.id = g.id;
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

-- Drop the first messages of a group that come to ends which have ended: they were ended while it was
-- sent. Whether there were any.
CREATE OR REPLACE FUNCTION fairlead._drop_over(
  q fairlead.queues, g fairlead.groups, p_conversation bigint, p_most bigint, p_actor text)
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  over bigint[];
  dialogs bigint[];
BEGIN
  SELECT array_agg(m.id), array_agg(DISTINCT e.dialog) INTO over, dialogs
    FROM (SELECT x.id, x.conversation FROM fairlead.messages x WHERE x.group_id = g.id
      AND (p_conversation IS NULL OR x.conversation = p_conversation)
      ORDER BY x.id LIMIT p_most) m LEFT JOIN fairlead.endpoints e ON e.id = m.conversation
    WHERE m.conversation IS NOT NULL AND coalesce(e.state, 3) = 3;
  IF over IS NULL THEN
    RETURN false;
  END IF;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, actor, detail)
    SELECT fairlead._moment(fairlead._now()), 'dropped', q.name, coalesce(g.name, ''), m.key, '', m.cost,
      p_actor, 'its end has ended'
    FROM fairlead.messages m WHERE m.id = ANY (over) ORDER BY m.id;
  DELETE FROM fairlead.messages WHERE id = ANY (over);
  DELETE FROM fairlead.endpoints e WHERE e.state = 3 AND e.dialog = ANY (dialogs) AND NOT EXISTS (
    SELECT 1 FROM fairlead.endpoints o WHERE o.dialog = e.dialog AND o.state <> 3);
  RETURN true;
END $$;

-- Raises what keeps plain SQL from taking from a queue.
CREATE OR REPLACE FUNCTION fairlead._check_takeable(q fairlead.queues) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF q.fair > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue that its tenants share, allowed in '
      'SQL: one without tenants; take from it with the library', q.name), 'FL004');
  ELSIF q.limits IS NOT NULL THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue with limits, allowed in SQL: one '
      'without; take from it with the library', q.name), 'FL004');
  END IF;
END $$;

-- Take the best group that nobody holds, or the one that is named, and its first messages; or those of
-- one conversation in it. `o_end`: the end to which a message comes, as `_row_of` gives it. A row of
-- nothing: so much had expired that the rest is for another transaction; whoever asks again goes on.
CREATE OR REPLACE FUNCTION fairlead._take(
  p_queue text, p_group text, p_lease bigint, p_holder bigint, p_most bigint, p_actor text,
  p_conversation bigint)
RETURNS TABLE (
  o_group_id bigint, o_group text, o_tenant text, o_priority bigint, o_releases bigint,
  o_token bigint, o_taken bigint, o_deadline bigint, o_k1 bigint, o_k2 bigint, o_number bigint,
  o_key text, o_arrived bigint, o_expires bigint, o_cost bigint, o_type text, o_format bigint,
  o_body bytea, o_end text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
  g fairlead.groups;
  now bigint := fairlead._now();
  moment bigint;
  gone bigint[];
  said boolean;
  total bigint;
  put_away bigint := 0;
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
  END IF;
  PERFORM fairlead._check_takeable(q);
  moment := fairlead._moment(now);
  -- the first in the order of an index: a plan without values would look anywhere for one that fits
  IF EXISTS (SELECT 1 FROM fairlead.pending_updates WHERE queue = q.id AND kind = 'raised')
      OR EXISTS (SELECT 1 FROM fairlead.pending_updates WHERE queue = q.id AND kind <> 'raised')
      OR (SELECT min(not_before) FROM fairlead.groups WHERE queue = q.id AND state = 3) <= now
      OR (SELECT min(due) FROM fairlead.delayed WHERE queue = q.id) <= now
      OR (SELECT min(deadline) FROM fairlead.groups WHERE queue = q.id AND state = 2) <= now THEN
    PERFORM fairlead._maintain(q, p_actor);
    SELECT * INTO q FROM fairlead.queues WHERE id = q.id;
    IF q.enabled = 0 THEN
      RETURN;  -- a failure has switched it off
    END IF;
    PERFORM fairlead._check_takeable(q);  -- what has just arrived may be of tenants
  END IF;
  LOOP
    IF p_conversation IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM fairlead.messages m WHERE m.conversation = p_conversation) THEN
      RETURN;
    ELSIF p_group IS NULL THEN
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
    SELECT array_agg(m.id) FILTER (WHERE m.expires <= now), count(m.conversation) > 0, sum(m.cost)
      INTO gone, said, total
      FROM (SELECT x.id, x.expires, x.conversation, x.cost FROM fairlead.messages x
        WHERE x.group_id = g.id AND (p_conversation IS NULL OR x.conversation = p_conversation)
        ORDER BY x.id LIMIT p_most) m;
    IF gone IS NOT NULL THEN
      PERFORM fairlead._bury(q, g, gone, 'it has expired', 0, NULL, 'expired', p_actor);
    END IF;
    IF said AND fairlead._drop_over(q, g, p_conversation, p_most, p_actor) OR gone IS NOT NULL THEN
      SELECT sum(m.cost) INTO total FROM (SELECT x.cost FROM fairlead.messages x
        WHERE x.group_id = g.id AND (p_conversation IS NULL OR x.conversation = p_conversation)
          AND coalesce(x.expires > now, true)
        ORDER BY x.id LIMIT p_most) m;
    END IF;
    EXIT WHEN total IS NOT NULL;
    PERFORM fairlead._put_back(q, g.id, false, 0, NULL, p_conversation IS NOT NULL);
    IF p_conversation IS NOT NULL THEN
      RETURN;
    END IF;
    put_away := put_away + 1 + coalesce(cardinality(gone), 0);
    IF put_away >= 300 THEN
      o_token := NULL;
      RETURN NEXT;
      RETURN;
    END IF;
  END LOOP;
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, attempt,
      token, actor, lease)
    VALUES (g.token, moment, 'taken', q.name, coalesce(g.name, ''),
      CASE WHEN g.name IS NULL
        THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
      g.tenant, nullif(g.was_priority, -1), total, g.releases + 1, g.token, p_actor, g.deadline);
  IF NOT said THEN
    RETURN QUERY SELECT g.id, coalesce(g.name, ''), g.tenant, g.was_priority, g.releases, g.token,
        g.taken, g.deadline, g.k1, g.k2, m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.format,
        m.body, NULL::text
      FROM fairlead.messages m WHERE m.group_id = g.id AND coalesce(m.expires > now, true)
      ORDER BY m.id LIMIT p_most;
  ELSE
    RETURN QUERY SELECT g.id, coalesce(g.name, ''), g.tenant, g.was_priority, g.releases, g.token,
        g.taken, g.deadline, g.k1, g.k2, m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.format,
        m.body, CASE WHEN e.id IS NOT NULL THEN fairlead._row_of(e) END
      FROM fairlead.messages m LEFT JOIN fairlead.endpoints e ON e.id = m.conversation
      WHERE m.group_id = g.id AND (p_conversation IS NULL OR m.conversation = p_conversation)
        AND coalesce(m.expires > now, true)
      ORDER BY m.id LIMIT p_most;
  END IF;
END $$;

-- What was not given yet of a group that is held, if it was said in conversations. A row without a
-- message says that it is held; no row, that it is not.
CREATE OR REPLACE FUNCTION fairlead._more(
  p_id bigint, p_token bigint, p_given bigint[], p_conversation bigint, p_most bigint)
RETURNS TABLE (
  o_number bigint, o_key text, o_arrived bigint, o_expires bigint, o_cost bigint, o_type text,
  o_format bigint, o_body bytea, o_end text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.format, m.body, m.far
  FROM fairlead.groups g LEFT JOIN LATERAL (
    SELECT x.id, x.key, x.arrived, x.expires, x.cost, x.type, x.format, x.body,
      CASE WHEN e.id IS NOT NULL THEN fairlead._row_of(e) END AS far
    FROM fairlead.messages x LEFT JOIN fairlead.endpoints e ON e.id = x.conversation
    WHERE x.group_id = g.id AND x.id <> ALL (p_given)
      AND (p_conversation IS NULL OR x.conversation = p_conversation)
      AND coalesce(x.expires > fairlead._now(), true)
      AND (x.conversation IS NULL OR e.state <> 3)
    ORDER BY x.id LIMIT p_most) m ON true
  WHERE g.id = p_id AND g.token = p_token AND g.state = 2 ORDER BY m.id
$$;

-- The name of a queue that there is, and that gives no conversations, so that nobody takes what he
-- cannot answer, or waits for what nobody sends.
CREATE OR REPLACE FUNCTION fairlead._plain(p_queue text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._queue(p_queue, false);
  IF EXISTS (SELECT 1 FROM fairlead.declared d
      WHERE d.kind = 'service' AND d.definition::jsonb ->> 'queue' = p_queue) THEN
    PERFORM fairlead._refuse(format('queue %L: found the queue of a service, allowed: another one; '
      'fairlead.receive gives what comes to a service', p_queue), 'FL004');
  END IF;
  RETURN p_queue;
END $$;

-- A lease in microseconds.
CREATE OR REPLACE FUNCTION fairlead._lease(p_lease interval) RETURNS bigint
LANGUAGE sql STABLE
RETURN fairlead._micros('lease', CASE WHEN p_lease < '0' THEN '-1 s' ELSE p_lease END, NULL);

-- Take the best group that nobody holds, or the one that is named: its messages, in their order.
-- No row: there is none, or some hundred that had expired were put away first, and the next call goes
-- on. Settle it with its token and the numbers of these messages.
CREATE OR REPLACE FUNCTION fairlead.take(
  queue text, "group" text DEFAULT NULL, lease interval DEFAULT '60 seconds',
  most integer DEFAULT 1000)
RETURNS TABLE (token bigint, in_group text, priority bigint, attempt bigint, number bigint, id text,
  type text, body_text text, body bytea)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT o_token, o_group, nullif(o_priority, -1), o_releases + 1, o_number, o_key, o_type,
    fairlead._text(o_format, o_body), fairlead._bytes(o_format, o_body)
  FROM fairlead._take(fairlead._plain(queue), "group", fairlead._lease(lease), NULL, most,
    fairlead._actor(), NULL)
  WHERE o_token IS NOT NULL
$$;

-- What has arrived meanwhile for the group that is held with a token: all that was not given yet, with the
-- ids of the ends to which it comes.
CREATE OR REPLACE FUNCTION fairlead.more(
  token bigint, given bigint[], most integer DEFAULT 1000)
RETURNS TABLE (number bigint, id text, type text, body_text text, body bytea, conversation text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
      fairlead._text(m.format, m.body), fairlead._bytes(m.format, m.body), e.handle
    FROM fairlead.groups g JOIN fairlead.messages m ON m.group_id = g.id
      LEFT JOIN fairlead.endpoints e ON e.id = m.conversation
    WHERE g.token = more.token AND g.state = 2 AND m.id <> ALL (given)
      AND coalesce(m.expires > fairlead._now(), true) AND (m.conversation IS NULL OR e.state <> 3)
    ORDER BY m.id LIMIT most;
  IF NOT FOUND AND NOT EXISTS (
      SELECT 1 FROM fairlead.groups g WHERE g.token = more.token AND g.state = 2) THEN
    PERFORM fairlead._refuse_token(more.token);
  END IF;
END $$;
