-- Take, with the maintenance before it, for plain SQL: see postgresql_functions.sql.

-- Take one group of a queue that tenants share, or that has limits, unless there is none, or others have it
-- locked. `p_group`: only this one. `p_held`, `p_used`: how its limits stand.
CREATE OR REPLACE FUNCTION fairlead._pick_shared(
  INOUT q fairlead.queues, p_group text, p_holder bigint, p_moment bigint, p_deadline bigint, p_now bigint,
  p_held jsonb, p_used jsonb, OUT g fairlead.groups)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  x record;
  t fairlead.tenants;
  besides text[] := '{}';
  closed text[] := '{}';
  ready bigint;
BEGIN
  IF p_group IS NOT NULL THEN
    SELECT y.id, y.lane, y.tenant INTO x FROM fairlead.groups y
      WHERE y.queue = q.id AND y.name = p_group COLLATE "C" AND y.state = 1;
    IF NOT FOUND OR q.limits IS NOT NULL AND NOT fairlead._is_open(
          q.limits, p_held, p_used, p_now, coalesce(x.lane, ''), x.tenant)
        OR q.fair > 0 AND coalesce(q.off_tenants::jsonb ? x.tenant, false) THEN
      RETURN;
    END IF;
    g := fairlead._hold(
      (SELECT y.id FROM fairlead.groups y WHERE y.id = x.id AND y.state = 1 FOR NO KEY UPDATE SKIP LOCKED),
      coalesce((SELECT z.turn FROM fairlead.tenants z WHERE z.queue = q.id AND z.name = x.tenant), 0),
      p_holder, p_moment, p_deadline);
    RETURN;
  ELSIF q.fair = 0 THEN  -- the first of some lane
    FOR x IN SELECT l.lane FROM fairlead._lanes(q.id) AS l (lane)
        CROSS JOIN LATERAL (SELECT y.k1, y.k2 FROM fairlead.groups y
          WHERE y.queue = q.id AND y.lane = l.lane AND y.state = 1 ORDER BY y.k1, y.k2 LIMIT 1) first
        WHERE fairlead._is_open(q.limits, p_held, p_used, p_now, l.lane, '')
        ORDER BY first.k1, first.k2 LOOP
      g := fairlead._hold((SELECT y.id FROM fairlead.groups y
        WHERE y.queue = q.id AND y.lane = x.lane AND y.state = 1
        ORDER BY y.k1, y.k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED), 0, p_holder, p_moment, p_deadline);
      EXIT WHEN g.id IS NOT NULL;  -- else somebody else has them locked
    END LOOP;
    RETURN;
  END IF;
  LOOP
    t := fairlead._next_tenant(q, besides);
    IF t.name IS NULL THEN
      ready := q.backlogged;
      q := fairlead._join_late(q);
      EXIT WHEN q.backlogged = ready;
      besides := '{}';
      CONTINUE;
    END IF;
    IF q.limits IS NULL THEN
      g := fairlead._hold((SELECT y.id FROM fairlead.groups y
        WHERE y.queue = q.id AND y.tenant = t.name AND y.state = 1 AND y.fair = 1
        ORDER BY y.k1, y.k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED), t.turn, p_holder, p_moment, p_deadline);
    ELSE
      closed := ARRAY (SELECT l.lane FROM fairlead._lanes(q.id) AS l (lane)
        WHERE NOT fairlead._is_open(q.limits, p_held, p_used, p_now, l.lane, t.name));
      g := fairlead._hold((SELECT y.id FROM fairlead.groups y
        WHERE y.queue = q.id AND y.tenant = t.name AND y.state = 1 AND y.fair = 1 AND y.lane <> ALL (closed)
        ORDER BY y.k1, y.k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED), t.turn, p_holder, p_moment, p_deadline);
    END IF;
    EXIT WHEN g.id IS NOT NULL;
    q := fairlead._leave_line(q, t.name);
    besides := besides || t.name;  -- else others are about to settle its groups, or a limit holds
  END LOOP;
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

-- Hold a group that is locked, under a new token; nothing is held where there is none.
CREATE OR REPLACE FUNCTION fairlead._hold(
  p_id bigint, p_turn bigint, p_holder bigint, p_moment bigint, p_deadline bigint)
RETURNS fairlead.groups LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  g fairlead.groups;
BEGIN
  IF p_id IS NOT NULL THEN
    UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
        was_number = number, was_turn = p_turn, priority = -1, entered = 0, number = 0,
        token = nextval('fairlead.numbers'), holder = p_holder, taken = p_moment, deadline = p_deadline
      WHERE id = p_id RETURNING * INTO g;
  END IF;
  RETURN g;
END $$;

-- Take the best groups of a queue without tenants and limits, all at once, as `_take` gives them.
CREATE OR REPLACE FUNCTION fairlead._take_at_once(
  q fairlead.queues, p_lease bigint, p_holder bigint, p_most bigint, p_actor text, p_groups bigint)
RETURNS TABLE (
  o_group_id bigint, o_group text, o_tenant text, o_priority bigint, o_releases bigint,
  o_token bigint, o_taken bigint, o_deadline bigint, o_k1 bigint, o_k2 bigint, o_of_all bigint,
  o_number bigint, o_key text, o_arrived bigint, o_expires bigint, o_cost bigint, o_type text,
  o_format bigint, o_body bytea, o_end text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  g fairlead.groups;
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  picked fairlead.groups[];
  full_ids bigint[];
  n record;
  wanted bigint;
  taken bigint := 0;
  put_away bigint := 0;
BEGIN
  WHILE taken < p_groups AND put_away < 300 LOOP
    wanted := least(p_groups - taken, 300);
    WITH held AS (UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
        was_number = number, was_turn = 0, priority = -1, entered = 0, number = 0,
        token = nextval('fairlead.numbers'), holder = p_holder, taken = moment, deadline = now + p_lease
      WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 1
        ORDER BY k1, k2 LIMIT wanted FOR NO KEY UPDATE SKIP LOCKED))
      RETURNING *)
    SELECT array_agg(h ORDER BY h.k1, h.k2) INTO picked FROM held h;
    EXIT WHEN picked IS NULL;
    FOR n IN SELECT p AS held, array_agg(m.id) FILTER (WHERE m.expires <= now) AS gone
        FROM unnest(picked) p CROSS JOIN LATERAL (
          SELECT x.id, x.expires, x.conversation FROM fairlead.messages x WHERE x.group_id = p.id
          ORDER BY x.id LIMIT p_most) m
        WHERE m.expires <= now OR m.conversation IS NOT NULL GROUP BY p LOOP
      g := n.held;
      IF n.gone IS NOT NULL THEN
        PERFORM fairlead._bury(q, g, n.gone, 'it has expired', 0, NULL, 'expired', p_actor);
        put_away := put_away + cardinality(n.gone);
      END IF;
      PERFORM fairlead._drop_over(q, g, NULL, p_most, p_actor);
    END LOOP;
    SELECT array_agg(p.id) INTO full_ids FROM unnest(picked) p
      WHERE EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = p.id AND coalesce(m.expires > now, true));
    IF coalesce(cardinality(full_ids), 0) < cardinality(picked) THEN
      FOR g IN SELECT * FROM unnest(picked) p WHERE p.id <> ALL (coalesce(full_ids, '{}')) LOOP
        PERFORM fairlead._put_back(q, g.id, false, 0, 0, NULL, false);
        put_away := put_away + 1;
      END LOOP;
    END IF;
    INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, attempt,
        token, actor, lease)
      SELECT p.token, moment, 'taken', q.name, coalesce(p.name, ''),
        CASE WHEN p.name IS NULL THEN m.key ELSE '' END, p.tenant, nullif(p.was_priority, -1), m.cost,
        p.releases + 1, p.token, p_actor, p.deadline
      FROM unnest(picked) p CROSS JOIN LATERAL (SELECT min(y.key) AS key, sum(y.cost) AS cost FROM (
          SELECT x.key, x.cost FROM fairlead.messages x
          WHERE x.group_id = p.id AND coalesce(x.expires > now, true) ORDER BY x.id LIMIT p_most) y) m
      WHERE p.id = ANY (full_ids);
    RETURN QUERY SELECT p.id, coalesce(p.name, ''), p.tenant, p.was_priority, p.releases, p.token, p.taken,
        p.deadline, p.k1, p.k2, (sum(m.cost) OVER (PARTITION BY p.id))::bigint, m.id, m.key, m.arrived,
        m.expires, m.cost, m.type, m.format, m.body, m.far
      FROM unnest(picked) WITH ORDINALITY AS p CROSS JOIN LATERAL (
        SELECT x.*, CASE WHEN e.id IS NOT NULL THEN fairlead._row_of(e) END AS far
        FROM fairlead.messages x LEFT JOIN fairlead.endpoints e ON e.id = x.conversation
        WHERE x.group_id = p.id AND coalesce(x.expires > now, true) ORDER BY x.id LIMIT p_most) m
      ORDER BY p.ordinality, m.id;
    taken := taken + coalesce(cardinality(full_ids), 0);
    EXIT WHEN cardinality(picked) < wanted;
  END LOOP;
  IF taken = 0 AND put_away >= 300 THEN
    o_token := NULL;
    RETURN NEXT;
  END IF;
END $$;

-- Take the best group that nobody holds, or the one that is named, and its first messages; or those of
-- one conversation in it; or the best `p_groups` groups. `o_end`: the end to which a message comes, as
-- `_row_of` gives it. A row of nothing: so much had expired that the rest is for another transaction;
-- whoever asks again goes on.
CREATE OR REPLACE FUNCTION fairlead._take(
  p_queue text, p_group text, p_lease bigint, p_holder bigint, p_most bigint, p_actor text,
  p_conversation bigint, p_groups bigint)
RETURNS TABLE (
  o_group_id bigint, o_group text, o_tenant text, o_priority bigint, o_releases bigint,
  o_token bigint, o_taken bigint, o_deadline bigint, o_k1 bigint, o_k2 bigint, o_of_all bigint,
  o_number bigint, o_key text, o_arrived bigint, o_expires bigint, o_cost bigint, o_type text,
  o_format bigint, o_body bytea, o_end text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
  g fairlead.groups;
  picked record;
  now bigint;
  moment bigint;
  gone bigint[];
  said boolean;
  total bigint;
  messages bigint;
  held jsonb;
  used jsonb;
  taken bigint := 0;
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
  q := fairlead._queue_to_take(p_queue);
  IF q.id IS NULL OR q.enabled = 0 THEN
    RETURN;
  END IF;
  now := fairlead._now();
  moment := fairlead._moment(now);
  -- the first in the order of an index: a plan without values would look anywhere for one that fits
  IF q.fair = 1
      OR (SELECT min(group_id) FROM fairlead.pending_updates WHERE queue = q.id AND kind = 'raised') IS NOT NULL
      OR (SELECT min(id) FROM fairlead.pending_updates WHERE queue = q.id AND kind <> 'raised') IS NOT NULL
      OR (SELECT min(not_before) FROM fairlead.groups WHERE queue = q.id AND state = 3) <= now
      OR (SELECT min(due) FROM fairlead.delayed WHERE queue = q.id) <= now
      OR (SELECT min(deadline) FROM fairlead.groups WHERE queue = q.id AND state = 2) <= now THEN
    q := fairlead._maintained(q, p_actor);
  END IF;
  IF q.limits IS NOT NULL THEN
    held := fairlead._held_of_limits(q);
    used := fairlead._used_of_limits(q, now);
  END IF;
  IF p_groups > 1 AND q.enabled = 1 AND q.fair = 0 AND q.limits IS NULL THEN
    RETURN QUERY SELECT * FROM fairlead._take_at_once(q, p_lease, p_holder, p_most, p_actor, p_groups);
    RETURN;
  END IF;
  WHILE q.enabled = 1 AND taken < p_groups LOOP  -- a failure may have switched it off
    EXIT WHEN p_conversation IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM fairlead.messages m WHERE m.conversation = p_conversation);
    IF put_away >= 300 THEN
      IF taken = 0 THEN
        o_token := NULL;
        RETURN NEXT;
      END IF;
      EXIT;
    END IF;
    IF q.fair > 0 OR q.limits IS NOT NULL THEN
      picked := fairlead._pick_shared(q, p_group, p_holder, moment, now + p_lease, now, held, used);
      q := picked.q;
      g := picked.g;
    ELSIF p_group IS NULL THEN
      g := fairlead._hold((SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 1
        ORDER BY k1, k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED), 0, p_holder, moment, now + p_lease);
    ELSE
      g := fairlead._hold((SELECT id FROM fairlead.groups WHERE queue = q.id
        AND name = p_group COLLATE "C" AND state = 1 FOR NO KEY UPDATE SKIP LOCKED),
        0, p_holder, moment, now + p_lease);
    END IF;
    EXIT WHEN g.id IS NULL;
    SELECT array_agg(m.id) FILTER (WHERE m.expires <= now), count(m.conversation) > 0, sum(m.cost), count(*)
      INTO gone, said, total, messages
      FROM (SELECT x.id, x.expires, x.conversation, x.cost FROM fairlead.messages x
        WHERE x.group_id = g.id AND (p_conversation IS NULL OR x.conversation = p_conversation)
        ORDER BY x.id LIMIT p_most) m;
    IF gone IS NOT NULL THEN
      PERFORM fairlead._bury(q, g, gone, 'it has expired', 0, NULL, 'expired', p_actor);
    END IF;
    IF said AND fairlead._drop_over(q, g, p_conversation, p_most, p_actor) OR gone IS NOT NULL THEN
      SELECT sum(m.cost), count(*) INTO total, messages FROM (SELECT x.cost FROM fairlead.messages x
        WHERE x.group_id = g.id AND (p_conversation IS NULL OR x.conversation = p_conversation)
          AND coalesce(x.expires > now, true)
        ORDER BY x.id LIMIT p_most) m;
    END IF;
    IF total IS NULL THEN
      PERFORM fairlead._put_back(q, g.id, false, 0, 0, NULL, p_conversation IS NOT NULL);
      put_away := put_away + 1;
    ELSIF q.fair > 0 THEN  -- its tenant is charged for all of it
      SELECT sum(m.cost) INTO total FROM fairlead.messages m WHERE m.group_id = g.id;
      q := fairlead._serve_tenant(q, g.tenant, total, g.token);
    END IF;
    put_away := put_away + coalesce(cardinality(gone), 0);
    IF q.fair > 0 THEN
      q := fairlead._leave_line(q, g.tenant);
    END IF;
    EXIT WHEN total IS NULL AND p_conversation IS NOT NULL;
    CONTINUE WHEN total IS NULL;
    IF q.limits IS NOT NULL THEN
      SELECT * INTO held, used FROM fairlead._use_limits(
        q, now, coalesce(g.lane, ''), g.tenant, least(messages, 100), held, used);
    END IF;
    INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, attempt,
        token, actor, lease)
      VALUES (g.token, moment, 'taken', q.name, coalesce(g.name, ''),
        CASE WHEN g.name IS NULL
          THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
        g.tenant, nullif(g.was_priority, -1), total, g.releases + 1, g.token, p_actor, g.deadline);
    IF NOT said THEN
      RETURN QUERY SELECT g.id, coalesce(g.name, ''), g.tenant, g.was_priority, g.releases, g.token,
          g.taken, g.deadline, g.k1, g.k2, total, m.id, m.key, m.arrived, m.expires, m.cost, m.type,
          m.format, m.body, NULL::text
        FROM fairlead.messages m WHERE m.group_id = g.id AND coalesce(m.expires > now, true)
        ORDER BY m.id LIMIT p_most;
    ELSE
      RETURN QUERY SELECT g.id, coalesce(g.name, ''), g.tenant, g.was_priority, g.releases, g.token,
          g.taken, g.deadline, g.k1, g.k2, total, m.id, m.key, m.arrived, m.expires, m.cost, m.type,
          m.format, m.body, CASE WHEN e.id IS NOT NULL THEN fairlead._row_of(e) END
        FROM fairlead.messages m LEFT JOIN fairlead.endpoints e ON e.id = m.conversation
        WHERE m.group_id = g.id AND (p_conversation IS NULL OR m.conversation = p_conversation)
          AND coalesce(m.expires > now, true)
        ORDER BY m.id LIMIT p_most;
    END IF;
    taken := taken + 1;
    EXIT WHEN p_group IS NOT NULL;
  END LOOP;
  IF q.fair > 0 THEN
    PERFORM fairlead._write_line(q);
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
      'fairlead.receive gives what comes to a service', p_queue));
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
    fairlead._actor(), NULL, 1)
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
