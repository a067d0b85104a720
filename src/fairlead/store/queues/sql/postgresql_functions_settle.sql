-- Settle, for plain SQL: see postgresql_functions.sql.

-- The first message of a group, by when it came: an Error has a number below 0, as it is read first.
CREATE OR REPLACE FUNCTION fairlead._head(p_group bigint) RETURNS TABLE (id bigint, arrived bigint)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT abs(m.id), m.arrived FROM (
    (SELECT x.id, x.arrived FROM fairlead.messages x WHERE x.group_id = p_group AND x.id > 0
      ORDER BY x.id LIMIT 1)
    UNION ALL
    (SELECT x.id, x.arrived FROM fairlead.messages x WHERE x.group_id = p_group AND x.id < 0
      ORDER BY x.id DESC LIMIT 1)) m
  ORDER BY abs(m.id) LIMIT 1;
END;

-- Put back or end a group that is held, or was picked; the caller has locked its row. `p_released`: with
-- what it was taken; `p_keep`: with that, too, if anything is left of it; `p_releases`: so often it was
-- given back.
CREATE OR REPLACE FUNCTION fairlead._put_back(
  q fairlead.queues, p_id bigint, p_released boolean, p_releases bigint, p_failures bigint,
  p_not_before bigint, p_keep boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
  FOR n IN DELETE FROM fairlead.pending_updates x WHERE x.group_id = p_id AND x.kind = 'raised'
      RETURNING x.number, x.priority, x.at LOOP
    IF n.priority IS NOT NULL AND n.number > raised THEN
      v_priority := n.priority; v_entered := n.at; raised := n.number;
    END IF;
  END LOOP;
  IF p_released AND raised = 0 THEN
    v_priority := g.was_priority; v_entered := g.was_entered; raised := g.was_number;
  END IF;
  LOOP
    SELECT h.id, h.arrived INTO first FROM fairlead._head(p_id) h;
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
  IF p_keep AND raised = 0 THEN
    v_priority := g.was_priority; v_entered := g.was_entered; raised := g.was_number;
  END IF;
  UPDATE fairlead.groups x SET
    state = CASE WHEN p_not_before IS NULL THEN 1 ELSE 3 END, not_before = p_not_before,
    priority = v_priority, entered = v_entered, number = raised,
    k1 = fairlead._k1(q.discipline, q.step, v_priority, v_entered, raised,
      coalesce(first.id, 0), coalesce(first.arrived, 0)),
    k2 = fairlead._k2(q.discipline, q.step, raised, coalesce(first.id, 0)),
    head = coalesce(first.id, 0), arrived = coalesce(first.arrived, 0),
    releases = p_releases, failures = p_failures,
    token = NULL, holder = NULL, deadline = NULL, client = NULL
    WHERE x.id = p_id;
END $$;

-- Messages are about to be done: the clusters that wait for them are told.
CREATE OR REPLACE FUNCTION fairlead._complete(p_numbers bigint[], p_now bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.completions (cluster, destination, part, version)
    SELECT p.cluster, p.destination, p.part, p.version
    FROM fairlead.messages m JOIN fairlead.published p ON p.queue = m.queue AND p.key = m.key
    WHERE m.id = ANY (p_numbers) ORDER BY m.id;
  INSERT INTO fairlead.acknowledgements (guaranteed, outcome, reason)
    SELECT g.id, CASE WHEN d.id IS NULL THEN 'acknowledged' ELSE 'nack' END, d.reason
    FROM fairlead.messages m JOIN fairlead.published p ON p.queue = m.queue AND p.key = m.key
      JOIN fairlead.guaranteed g ON g.id = p.guaranteed
      LEFT JOIN fairlead.dead d ON d.id = abs(m.id)
    WHERE m.id = ANY (p_numbers) AND coalesce(g.due, p_now + 1) > p_now ORDER BY m.id;
  DELETE FROM fairlead.published WHERE (queue, key) IN (
    SELECT m.queue, m.key FROM fairlead.messages m WHERE m.id = ANY (p_numbers));
END $$;

-- The same of a delayed message that could not arrive.
CREATE OR REPLACE FUNCTION fairlead._complete_delayed(
  p_queue bigint, p_key text, p_reason text, p_now bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.completions (cluster, destination, part, version)
    SELECT p.cluster, p.destination, p.part, p.version FROM fairlead.published p
    WHERE p.queue = p_queue AND p.key = p_key;
  INSERT INTO fairlead.acknowledgements (guaranteed, outcome, reason)
    SELECT g.id, 'nack', p_reason
    FROM fairlead.published p JOIN fairlead.guaranteed g ON g.id = p.guaranteed
    WHERE p.queue = p_queue AND p.key = p_key AND coalesce(g.due, p_now + 1) > p_now;
  DELETE FROM fairlead.published WHERE queue = p_queue AND key = p_key;
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
      cost, type, conversation, format, body)
    SELECT abs(m.id), m.queue, now, p_reason, p_attempt, g.name, g.tenant,
      CASE WHEN g.was_priority >= 0 AND p_attempt > 0 THEN g.was_priority END, m.key, m.cost,
      m.type, m.conversation, m.format, m.body
    FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, attempt, token,
      actor, detail)
    SELECT fairlead._moment(now), p_kind, q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost,
      nullif(p_attempt, 0), p_token, p_actor, nullif(p_reason, '')
    FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id ORDER BY m.id;
  IF q.completing > 0 THEN
    PERFORM fairlead._complete(ARRAY (SELECT m.id FROM fairlead.messages m
      WHERE m.id = ANY (p_numbers) AND m.group_id = g.id), now);
  END IF;
  DELETE FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id;
END $$;

-- Whether a failure of this cause counts: error | lease | process.
CREATE OR REPLACE FUNCTION fairlead._counts(q fairlead.queues, p_cause text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT q.count_as_failure::jsonb ? p_cause
$$;

-- Microseconds after which a group that failed so often in a row is tried again: `backoff.py`.
CREATE OR REPLACE FUNCTION fairlead._backoff(p_retry jsonb, p_failures bigint, p_key text)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_factor numeric := (p_retry->>'factor')::numeric;
  v_limit numeric := (p_retry->>'limit')::numeric;
  v_found numeric := least((p_retry->>'base')::numeric, v_limit);
  hash bytea := sha256(convert_to(coalesce(p_key, '') || ':' || p_failures, 'UTF8'));
  drawn numeric := get_byte(hash, 0) * 16777216::numeric + get_byte(hash, 1) * 65536::numeric
    + get_byte(hash, 2) * 256 + get_byte(hash, 3);
  k bigint := 1;
BEGIN
  WHILE v_factor > 100 AND k < p_failures AND v_found < v_limit LOOP
    v_found := least(div(v_found * v_factor, 100), v_limit);
    k := k + 1;
  END LOOP;
  RETURN v_found - div(v_found * (p_retry->>'jitter')::numeric * drawn, 429496729600);
END $$;

-- A group of a tenant is held no more: the next reader counts what is left of it, or was given back.
CREATE OR REPLACE FUNCTION fairlead._leave_settled(
  q fairlead.queues, g fairlead.groups, p_kind text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant, cost, turn, placed)
    VALUES (q.id, g.id, p_kind, nextval('fairlead.numbers'), g.tenant,
      (SELECT coalesce(sum(m.cost), 0) FROM fairlead.messages m WHERE m.group_id = g.id), g.was_turn,
      (SELECT count(*) FROM fairlead.groups x WHERE x.id = g.id AND x.state = 1));
END $$;

-- Settle a group whose row the caller has locked, as `settlement.py` says what each column means.
CREATE OR REPLACE FUNCTION fairlead._end(
  q fairlead.queues, g fairlead.groups, e fairlead.settlement, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  moment bigint := fairlead._moment(fairlead._now());
  fails boolean := coalesce(e.failed, '') <> '' AND fairlead._counts(q, e.failed);
  v_failures bigint := CASE WHEN e.done > 0 OR e.moved THEN 0 ELSE g.failures END + fails::integer;
  dies boolean := fails AND coalesce(v_failures >= q.max_failures, false);
  released boolean;
  given bigint[] := coalesce(e.given, '{}');
  v_done bigint := coalesce(e.done, 0);
  ended bigint[];
  accepted bigint[];
  v_delay bigint;
  n record;
BEGIN
  IF dies AND q.poison = 'off' THEN  -- it gives nothing any more until somebody has looked
    UPDATE fairlead.queues SET enabled = 0 WHERE id = q.id AND enabled <> 0;
    IF FOUND THEN
      INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor, detail)
        VALUES (moment, 'switched-off', q.name, coalesce(g.name, ''), '', '', p_actor,
          format('group %L failed %s times in a row: %s', coalesce(g.name, ''), q.max_failures, e.reason));
    END IF;
    dies := false;
    v_failures := 0;
  END IF;
  released := e.kind = 'released' AND NOT dies;
  IF dies AND given = '{}' THEN  -- nobody knows which message it was: the first, then
    given := ARRAY (SELECT m.id FROM fairlead.messages m WHERE m.group_id = g.id ORDER BY m.id LIMIT 1);
  END IF;
  ended := CASE WHEN released THEN given[:v_done] ELSE given END;
  accepted := CASE WHEN e.kind = 'accepted' THEN ended ELSE ended[:v_done] END;
  IF e.dead IS NOT NULL THEN
    accepted := ARRAY (SELECT x FROM unnest(accepted) x WHERE NOT e.dead ? x::text);
  END IF;
  IF accepted <> '{}' THEN
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, token, actor, detail)
      SELECT moment, 'accepted', q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost, g.token, p_actor,
        CASE WHEN e.keep THEN 'its group stays with its reader' END
      FROM fairlead.messages m WHERE m.id = ANY (accepted) AND m.group_id = g.id ORDER BY m.id;
    IF q.completing > 0 THEN
      PERFORM fairlead._complete(ARRAY (SELECT m.id FROM fairlead.messages m
        WHERE m.id = ANY (accepted) AND m.group_id = g.id), fairlead._now());
    END IF;
    DELETE FROM fairlead.messages m WHERE m.id = ANY (accepted) AND m.group_id = g.id;
  END IF;
  IF cardinality(accepted) < cardinality(ended) THEN
    FOR n IN SELECT coalesce(e.dead ->> x.id::text, e.reason, '') AS reason, array_agg(x.id) AS ids
        FROM unnest(ended) WITH ORDINALITY AS x (id, place) WHERE x.id <> ALL (accepted)
        GROUP BY 1 ORDER BY min(x.place) LOOP
      PERFORM fairlead._bury(q, g, n.ids, n.reason, g.releases + 1, g.token, 'rejected', p_actor);
    END LOOP;
  END IF;
  IF given = '{}' AND NOT released THEN
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, token, actor, detail)
      VALUES (moment, e.kind, q.name, coalesce(g.name, ''), '', g.tenant, g.token, p_actor,
        CASE WHEN e.kind = 'rejected' THEN nullif(e.reason, '') END);
  END IF;
  IF e.keep THEN
    RETURN;
  END IF;
  IF released THEN
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, attempt, token,
        actor, detail)
      SELECT moment, 'released', q.name, coalesce(g.name, ''),
        CASE WHEN g.name IS NULL THEN coalesce(min(m.key), '') ELSE '' END, g.tenant,
        coalesce(sum(m.cost), 0), g.releases + 1, g.token, p_actor, nullif(e.reason, '')
      FROM fairlead.messages m WHERE m.group_id = g.id;
    v_delay := e.delay;
    IF fails AND e.delay IS NULL AND q.retry IS NOT NULL THEN
      v_delay := fairlead._backoff(q.retry::jsonb, v_failures,
        (SELECT m.key FROM fairlead.messages m WHERE m.group_id = g.id ORDER BY m.id LIMIT 1));
    END IF;
    PERFORM fairlead._put_back(q, g.id, true, CASE WHEN v_done > 0 THEN 1 ELSE g.releases + 1 END,
      v_failures, CASE WHEN v_delay > 0 THEN fairlead._now() + v_delay END, false);
  ELSIF g.name IS NULL AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id) THEN
    DELETE FROM fairlead.groups WHERE id = g.id;  -- nobody can send to it, or raise it
  ELSE
    IF q.by_library > 0 THEN  -- plain SQL may have ended a conversation of which more was there
      PERFORM fairlead._drop_over(q, g, NULL, 1000, p_actor);
    END IF;
    PERFORM fairlead._put_back(q, g.id, false, CASE WHEN e.redelivers THEN g.releases ELSE 0 END, 0,
      NULL, e.partly);
  END IF;
  IF q.fair > 0 THEN
    PERFORM fairlead._leave_settled(
      q, g, CASE WHEN released AND v_done = 0 THEN 'released' ELSE 'settled' END);
  END IF;
END $$;

-- Work that is not its reader's any more.
CREATE OR REPLACE FUNCTION fairlead._refuse_token(p_token bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._refuse(format('work with token %s: found that it is not this reader''s any more '
    '(its lease was over, or it was taken back), allowed: to read, extend or settle what one holds',
    p_token), 'FL003');
END $$;

-- What would settle nothing, or what is somebody else's, is refused.
CREATE OR REPLACE FUNCTION fairlead._check_given(
  g fairlead.groups, p_outcome text, p_given bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_other bigint;
BEGIN
  IF p_outcome <> 'released' AND p_given = '{}' THEN
    PERFORM fairlead._refuse(format('work on group %L: found nothing of it given, allowed: the '
      'numbers of the messages that are done, or cannot be done', coalesce(g.name, '')));
  ELSIF array_position(p_given, NULL) IS NOT NULL THEN
    PERFORM fairlead._refuse('given: found NULL, allowed: the numbers of messages');
  END IF;
  SELECT m.id INTO v_other FROM fairlead.messages m
    WHERE m.id = ANY (p_given) AND m.group_id <> g.id LIMIT 1;
  IF FOUND THEN
    PERFORM fairlead._refuse(format('given: found %s, a message of another group, allowed: the '
      'numbers of messages of group %L', v_other, coalesce(g.name, '')));
  END IF;
END $$;

-- Wake who waits for a queue, where something is left of groups that were held, or a limit lets
-- something else through now.
CREATE OR REPLACE FUNCTION fairlead._wake_after(q fairlead.queues, p_ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF q.limits IS NOT NULL OR EXISTS (SELECT 1 FROM fairlead.groups WHERE id = ANY (p_ids) AND state <> 2)
  THEN
    PERFORM fairlead._wake(q.id);
  END IF;
END $$;

-- All that was given of groups is accepted, at once. Groups of which something is left, or to which
-- somebody is sending, are put back one by one; the others end.
CREATE OR REPLACE FUNCTION fairlead._accept_all(
  q fairlead.queues, p_ids bigint[], p_numbers bigint[], p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  moment bigint := fairlead._moment(fairlead._now());
  held bigint[];
  free bigint[];
  v_id bigint;
BEGIN
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, token, actor)
    SELECT moment, 'accepted', q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost, g.token, p_actor
    FROM unnest(p_ids) WITH ORDINALITY AS i (id, place)
      JOIN fairlead.groups g ON g.id = i.id JOIN fairlead.messages m ON m.group_id = g.id
      JOIN unnest(p_numbers) AS n (id) ON n.id = m.id
    ORDER BY i.place, m.id;
  DELETE FROM fairlead.messages m USING unnest(p_numbers) AS n (id), unnest(p_ids) AS i (id)
    WHERE m.id = n.id AND m.group_id = i.id;
  -- nobody can send to a message that is a group of its own, or raise it
  DELETE FROM fairlead.groups g USING unnest(p_ids) AS i (id) WHERE g.id = i.id AND g.name IS NULL
    AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id);
  held := ARRAY (SELECT g.id FROM unnest(p_ids) AS i (id) JOIN fairlead.groups g ON g.id = i.id);
  IF held = '{}' THEN
    RETURN;
  END IF;
  free := ARRAY (SELECT g.id FROM fairlead.groups g WHERE g.id = ANY (held) FOR UPDATE SKIP LOCKED);
  DELETE FROM fairlead.groups g USING unnest(free) AS i (id) WHERE g.id = i.id
    AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
    AND NOT EXISTS (SELECT 1 FROM fairlead.pending_updates u WHERE u.group_id = g.id);
  FOR v_id IN SELECT g.id FROM unnest(held) AS i (id) JOIN fairlead.groups g ON g.id = i.id ORDER BY g.id
  LOOP
    PERFORM fairlead._put_back(q, v_id, false, 0, 0, NULL, false);
  END LOOP;
END $$;

-- Settle one group.
CREATE OR REPLACE FUNCTION fairlead._settle_one(e fairlead.settlement, p_actor text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  g fairlead.groups;
  q fairlead.queues;
BEGIN
  PERFORM fairlead._check_isolation();
  SELECT * INTO g FROM fairlead.groups x WHERE x.id = e.id AND x.token = e.token AND x.state = 2
    FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse_token(e.token);
  END IF;
  SELECT * INTO q FROM fairlead.queues x WHERE x.id = g.queue;
  PERFORM fairlead._end(q, g, e, p_actor);
  PERFORM fairlead._wake_after(q, ARRAY[g.id]);
END $$;

-- Settle groups of one queue: all of them, or none. `p_plain`, `p_tokens`: those of which all that was
-- given (`p_numbers`) is accepted; `p_ends`: the others, an object for each, as fairlead.settlement. What
-- is settled of a group that stays with its reader comes first: the rest of it may be settled here, too.
CREATE OR REPLACE FUNCTION fairlead._settle_all(
  p_plain bigint[], p_tokens bigint[], p_numbers bigint[], p_ends jsonb, p_actor text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  ends fairlead.settlement[] := ARRAY (
    SELECT x FROM jsonb_array_elements(p_ends) WITH ORDINALITY AS j (v, place)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::fairlead.settlement, j.v) x
    ORDER BY coalesce(x.keep, false) DESC, j.place);
  ids bigint[] := p_plain || ARRAY (SELECT x.id FROM unnest(ends) x);
  v_token bigint;
  e fairlead.settlement;
  g fairlead.groups;
  q fairlead.queues;
BEGIN
  PERFORM fairlead._check_isolation();
  PERFORM 1 FROM fairlead.groups x WHERE x.id = ANY (ids) ORDER BY x.id FOR NO KEY UPDATE;
  FOREACH e IN ARRAY ends LOOP
    PERFORM fairlead._settle_one(e, p_actor);
  END LOOP;
  SELECT x.token INTO v_token FROM unnest(p_plain, p_tokens) AS x (id, token)
    LEFT JOIN fairlead.groups y ON y.id = x.id AND y.token = x.token AND y.state = 2
    WHERE y.id IS NULL LIMIT 1;
  IF FOUND THEN
    PERFORM fairlead._refuse_token(v_token);
  END IF;
  SELECT * INTO q FROM fairlead.queues x
    WHERE x.id = (SELECT y.queue FROM fairlead.groups y WHERE y.id = p_plain[1]);
  IF q.fair = 0 AND q.completing = 0 AND q.by_library = 0 THEN
    PERFORM fairlead._accept_all(q, p_plain, p_numbers, p_actor);
  ELSE
    FOR g IN SELECT y.* FROM unnest(p_plain) WITH ORDINALITY AS x (id, place)
        JOIN fairlead.groups y ON y.id = x.id ORDER BY x.place LOOP
      e := NULL;
      e.kind := 'accepted';
      e.given := ARRAY (SELECT m.id FROM fairlead.messages m
        WHERE m.group_id = g.id AND m.id = ANY (p_numbers));
      PERFORM fairlead._end(q, g, e, p_actor);
    END LOOP;
  END IF;
  PERFORM fairlead._wake_after(q, p_plain);
END $$;

-- The same in a transaction that goes on after a refusal: what was refused, and why.
CREATE OR REPLACE FUNCTION fairlead._try_settle_all(
  p_plain bigint[], p_tokens bigint[], p_numbers bigint[], p_ends jsonb, p_actor text,
  OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._settle_all(p_plain, p_tokens, p_numbers, p_ends, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL003' OR SQLSTATE 'FL007' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION fairlead._try_settle_one(
  e fairlead.settlement, p_actor text, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._settle_one(e, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL003' OR SQLSTATE 'FL007' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

-- Release groups of one queue whose readers are gone, those that still have these tokens. `p_failed`:
-- why it is a failure (error, lease, process), but of those that are blameless.
CREATE OR REPLACE FUNCTION fairlead._take_back(
  p_ids bigint[], p_tokens bigint[], p_reason text, p_failed text, p_blameless bigint[], p_actor text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held record;
  g fairlead.groups;
  q fairlead.queues;
BEGIN
  PERFORM fairlead._check_isolation();
  FOR held IN SELECT * FROM unnest(p_ids, p_tokens) AS x (id, token) LOOP
    SELECT * INTO g FROM fairlead.groups x WHERE x.id = held.id AND x.token = held.token AND x.state = 2
      FOR NO KEY UPDATE;
    CONTINUE WHEN NOT FOUND;
    SELECT * INTO q FROM fairlead.queues x WHERE x.id = g.queue;
    PERFORM fairlead._end(q, g, fairlead._release(p_reason,
      CASE WHEN held.id = ANY (p_blameless) THEN '' ELSE p_failed END), p_actor);
  END LOOP;
  PERFORM fairlead._wake_after(q, p_ids);
END $$;

-- A release of all of a group. `p_failed`: why it is a failure: error, lease, process; empty: it is none.
CREATE OR REPLACE FUNCTION fairlead._release(p_reason text, p_failed text)
RETURNS fairlead.settlement LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_populate_record(NULL::fairlead.settlement, jsonb_build_object(
    'kind', 'released', 'reason', p_reason, 'failed', p_failed))
$$;

-- What plain SQL settles, where nobody else has looked at what it says.
CREATE OR REPLACE FUNCTION fairlead._settle(
  p_token bigint, p_outcome text, p_given bigint[], p_reason text, p_delay bigint, p_actor text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
  g fairlead.groups;
  e fairlead.settlement;
BEGIN
  PERFORM fairlead._check_isolation();
  IF p_token IS NULL THEN
    PERFORM fairlead._refuse('token: found NULL, allowed: the token of work');
  ELSIF p_given IS NULL AND p_outcome <> 'released' THEN
    PERFORM fairlead._refuse('given: found NULL, allowed: the numbers of the messages that are done, '
      'or cannot be done');
  ELSIF p_outcome NOT IN ('accepted', 'rejected', 'released') OR p_outcome IS NULL THEN
    PERFORM fairlead._refuse(format(
      'outcome: found %L, allowed: accepted, rejected or released', p_outcome));
  END IF;
  SELECT * INTO g FROM fairlead.groups WHERE token = p_token AND state = 2 FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse_token(p_token);
  END IF;
  PERFORM fairlead._check_given(g, p_outcome, p_given);
  SELECT * INTO q FROM fairlead.queues WHERE id = g.queue;
  e.kind := p_outcome;
  e.given := p_given;
  e.reason := p_reason;
  e.delay := p_delay;
  e.failed := CASE WHEN p_outcome = 'released' AND p_reason <> '' THEN 'error' END;
  PERFORM fairlead._end(q, g, e, p_actor);
  PERFORM fairlead._wake_after(q, ARRAY[g.id]);
END $$;

-- Settle work in the transaction that runs. `given`: the numbers of the messages that are done
-- (accepted) or cannot be done (rejected), which they have to say; a release gives all back.
CREATE OR REPLACE FUNCTION fairlead.settle(
  token bigint, outcome text DEFAULT 'accepted', given bigint[] DEFAULT NULL,
  reason text DEFAULT '', delay interval DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._settle(token, outcome, given, reason,
    fairlead._micros('delay', delay), fairlead._actor())
$$;
