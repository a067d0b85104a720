-- Begin a dialog, speak in it, end it: see postgresql_functions.sql.

-- Begin a dialog; the initiator's end. Nobody hears of it before something is sent.
CREATE OR REPLACE FUNCTION fairlead._begin_dialog(
  p_service text, p_far text, p_contract text, p_related text, p_group text, p_lifetime bigint,
  p_actor text) RETURNS fairlead.endpoints
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  e fairlead.endpoints;
  near jsonb;
  far jsonb;
  related fairlead.endpoints;
  q fairlead.queues;
  now bigint := fairlead._now();
BEGIN
  IF p_related IS NOT NULL AND p_group IS NOT NULL THEN
    PERFORM fairlead._refuse('begin_dialog: found related and group, allowed: one of them');
  ELSIF p_related IS NOT NULL THEN
    related := fairlead._endpoint(p_related);
  END IF;
  near := fairlead._declared('service', p_service, 'from service');
  far := fairlead._declared('service', p_far, 'to service');
  IF p_contract IS NOT NULL THEN
    PERFORM fairlead._declared('contract', p_contract, 'contract');
  ELSIF jsonb_array_length(far -> 'contracts') <> 1 THEN
    PERFORM fairlead._refuse(format('contract: found none, allowed: one of those that service %L '
      'accepts: %s', p_far, coalesce((SELECT string_agg(c.value, ', ')
        FROM jsonb_array_elements_text(far -> 'contracts') c), 'none')));
  END IF;
  q := fairlead._queue(near ->> 'queue', false);
  IF p_lifetime < 1000 THEN
    PERFORM fairlead._refuse('lifetime: found less than a millisecond, allowed: 0.001 seconds or more');
  ELSIF related.queue <> q.name THEN
    PERFORM fairlead._refuse(format('related: found a conversation of queue %L, allowed: one of %L, '
      'the queue of service %L', related.queue, q.name, p_service));
  ELSIF p_group ~ '^d-\d+/[it]$' THEN
    PERFORM fairlead._refuse(format('group: found %L, which is a dialog''s own, allowed: another name, '
      'or related and the conversation', p_group));
  ELSIF fairlead._is_name(p_group) IS FALSE THEN
    PERFORM fairlead._refuse('group: found more than 500 characters, or some that are not printable, '
      'allowed: a name');
  END IF;
  e.id := nextval('fairlead.numbers');
  INSERT INTO fairlead.endpoints (id, handle, dialog, side, service, far_service, contract, queue,
      group_name, began, lifetime)
    VALUES (e.id, replace(gen_random_uuid()::text, '-', ''), e.id, 0, p_service, p_far,
      coalesce(p_contract, far -> 'contracts' ->> 0), q.name,
      coalesce(related.group_name, nullif(p_group, ''), fairlead._end_name(e.id, 0)), now,
      now + p_lifetime)
    RETURNING * INTO e;
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, actor, detail)
    VALUES (e.id, fairlead._moment(now), 'begun', q.name, e.group_name, fairlead._end_name(e.id, 0), '',
      p_actor, format('%s to %s, contract %s', e.service, e.far_service, e.contract));
  PERFORM fairlead._limit_life(e, p_actor);
  RETURN e;
END $$;

-- An end has sent what it may not: it gets an Error, and can only be ended.
CREATE OR REPLACE FUNCTION fairlead._break_off(
  e fairlead.endpoints, p_key text, p_code bigint, p_why text, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.endpoints SET state = 2 WHERE id = e.id AND state = 1;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor, detail)
    VALUES (fairlead._moment(fairlead._now()), 'refused', e.queue, e.group_name, p_key, '', p_actor,
      format('error %s: %s', p_code, p_why));
  PERFORM fairlead._error_comes(e, fairlead._end_name(e.dialog, e.side) || '/error', p_code, p_why,
    p_actor);
END $$;

-- Send a message from the end with an id; the message's id. The library says, as far as it knows what is
-- declared (`p_revision`), why it refuses the body (`p_fault`); where something was declared since, it
-- is told so, and nothing is sent. For plain SQL (`p_revision` NULL) it is looked at here.
CREATE OR REPLACE FUNCTION fairlead._say(
  p_handle text, p_type text, p_format bigint, p_body bytea, p_fault text, p_revision bigint,
  p_actor text, OUT o_key text, OUT o_revision bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  e fairlead.endpoints;
  peer fairlead.endpoints;
  said jsonb;
  allowed jsonb;
  fault text := p_fault;
BEGIN
  SELECT s.declared INTO o_revision FROM fairlead.schema s;
  IF p_revision <> o_revision THEN
    RETURN;
  ELSIF p_format NOT IN (0, 1, 2) THEN
    PERFORM fairlead._refuse('body: found a format that there is not, allowed: bytes, a text, or JSON');
  ELSIF p_body IS NULL THEN
    PERFORM fairlead._refuse('body: found NULL, allowed: bytes, a text, or JSON');
  ELSIF octet_length(p_body) > 16777216 THEN
    PERFORM fairlead._refuse(format('body: found %s bytes, allowed: at most 16777216',
      octet_length(p_body)));
  ELSIF NOT fairlead._is_readable(p_format, p_body) THEN
    PERFORM fairlead._refuse('body: found bytes that are not what its format says, allowed: bytes, a text in '
      'UTF-8, or JSON');
  END IF;
  UPDATE fairlead.endpoints SET sent = sent + 1 WHERE handle = p_handle AND state = 1 RETURNING * INTO e;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse_end(p_handle);
  ELSIF e.lifetime IS NOT NULL AND e.lifetime <= fairlead._now() THEN
    PERFORM fairlead._refuse_to_speak(e, 'its lifetime is over: end it');
  END IF;
  SELECT d.definition::jsonb INTO said FROM fairlead.declared d
    WHERE d.kind = 'contract' AND d.name = e.contract;
  IF NOT FOUND THEN
    PERFORM fairlead._declared('contract', e.contract, 'contract');  -- says which there are
  END IF;
  allowed := (said -> CASE e.side WHEN 0 THEN 'initiator' ELSE 'target' END) || (said -> 'any');
  IF NOT coalesce(allowed ? p_type, false) THEN
    PERFORM fairlead._refuse(format('type: found %s, allowed: %s, which contract %L lets the %s send',
      fairlead._shown(p_type), coalesce((SELECT string_agg(t.value, ', ')
        FROM jsonb_array_elements_text(allowed) t), 'none'), e.contract,
      CASE e.side WHEN 0 THEN 'initiator' ELSE 'target' END));
  END IF;
  SELECT * INTO peer FROM fairlead.endpoints x WHERE x.dialog = e.dialog AND x.side = 1 - e.side;
  IF peer.state = 3 THEN
    PERFORM fairlead._refuse_to_speak(e, 'the other side has ended it');
  END IF;
  o_key := fairlead._end_name(e.dialog, e.side) || '/' || e.sent - 1;
  IF peer.id IS NULL THEN
    said := fairlead._declared('service', e.far_service, 'service');
    IF NOT (said -> 'contracts') ? e.contract THEN
      PERFORM fairlead._break_off(e, o_key, -8408, format('service %L does not accept contract %L',
        e.far_service, e.contract), p_actor);
      RETURN;
    END IF;
  END IF;
  IF p_revision IS NULL THEN
    fault := fairlead._fault(p_type, p_format, p_body);
  END IF;
  IF fault IS NOT NULL THEN
    PERFORM fairlead._break_off(e, o_key, -9615, format('a message of type %L was refused: %s', p_type,
      fault), p_actor);
  ELSIF peer.id IS NOT NULL THEN
    PERFORM fairlead._comes(peer, nextval('fairlead.numbers'), o_key, p_type, p_format, p_body, p_actor);
  ELSE  -- the first message: with it the target's end begins
    peer.id := nextval('fairlead.numbers');
    INSERT INTO fairlead.endpoints (id, handle, dialog, side, service, far_service, contract, queue,
        group_name, began, lifetime)
      VALUES (peer.id, replace(gen_random_uuid()::text, '-', ''), e.dialog, 1, e.far_service, e.service,
        e.contract, said ->> 'queue', fairlead._end_name(e.dialog, 1), fairlead._now(), e.lifetime)
      RETURNING * INTO peer;
    PERFORM fairlead._comes(peer, peer.id, o_key, p_type, p_format, p_body, p_actor);
    PERFORM fairlead._limit_life(peer, p_actor);
  END IF;
END $$;

-- End the end with an id. `p_given`: the numbers of the messages that its reader has, and will settle;
-- NULL: those that a reader has, if one has the group.
CREATE OR REPLACE FUNCTION fairlead._end_dialog(
  p_handle text, p_code bigint, p_description text, p_cleanup boolean, p_given bigint[], p_actor text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  e fairlead.endpoints;
  peer fairlead.endpoints;
  g record;
  q fairlead.queues;
  now bigint := fairlead._now();
  v_number bigint;
BEGIN
  IF p_code NOT BETWEEN 1 AND 2147483647 THEN
    PERFORM fairlead._refuse(format('code: found %s, allowed: an integer from 1 to 2147483647', p_code));
  ELSIF p_code IS NULL AND p_description IS NOT NULL THEN
    PERFORM fairlead._refuse('code: found NULL, allowed beside a description: an integer from 1 on');
  ELSIF p_cleanup IS NULL OR p_code IS NOT NULL AND p_cleanup THEN
    PERFORM fairlead._refuse('cleanup: found NULL, or an error beside it, allowed: true or false, and '
      'without an error');
  END IF;
  UPDATE fairlead.endpoints SET state = 3, sent = sent + 1 WHERE handle = p_handle AND state <> 3
    RETURNING * INTO e;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse_end(p_handle);
  END IF;
  SELECT * INTO peer FROM fairlead.endpoints x WHERE x.dialog = e.dialog AND x.side = 1 - e.side;
  q := fairlead._queue(e.queue, false);
  v_number := nextval('fairlead.numbers');
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, actor, detail)
    VALUES (v_number, fairlead._moment(now), 'ended', q.name, e.group_name,
      fairlead._end_name(e.dialog, e.side), '', p_actor, CASE WHEN p_cleanup THEN 'with cleanup'
        WHEN p_code IS NOT NULL
        THEN format('with error %s: %s', p_code, left(coalesce(p_description, ''), 3000)) END);
  IF peer.state <> 3 AND NOT p_cleanup THEN
    PERFORM fairlead._forget_timers(peer.id, '{Error}', now);
    IF p_code IS NULL THEN
      PERFORM fairlead._comes(peer, nextval('fairlead.numbers'),
        fairlead._end_name(e.dialog, e.side) || '/' || e.sent - 1, 'EndDialog', 0, '', p_actor);
    ELSE
      PERFORM fairlead._error_comes(peer, fairlead._end_name(e.dialog, e.side) || '/' || e.sent - 1,
        p_code, left(coalesce(p_description, ''), 3000), p_actor);
    END IF;
  END IF;
  PERFORM fairlead._forget_timers(e.id, '{Error,DialogTimer}', 0);
  SELECT x.id, x.tenant, x.state INTO g FROM fairlead.groups x
    WHERE x.queue = q.id AND x.name = e.group_name COLLATE "C";
  IF p_given IS NOT NULL OR g.state IS DISTINCT FROM 2 THEN
    DELETE FROM fairlead.messages WHERE id = ANY (ARRAY (SELECT m.id FROM fairlead.messages m
      WHERE m.conversation = e.id AND NOT m.id = ANY (coalesce(p_given, '{}')) FOR UPDATE SKIP LOCKED));
  END IF;
  IF g.id IS NOT NULL AND q.fair = 0 THEN  -- the next reader gives the group its place, or ends it
    INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant)
      VALUES (q.id, g.id, 'raised', v_number, g.tenant);
  END IF;
  IF peer.id IS NULL OR peer.state = 3 THEN
    DELETE FROM fairlead.endpoints x WHERE x.dialog = e.dialog;
  END IF;
END $$;

-- Set the timer of an end, or with NULL take it away.
CREATE OR REPLACE FUNCTION fairlead._set_timer(p_handle text, p_after bigint, p_actor text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  e fairlead.endpoints;
  now bigint := fairlead._now();
BEGIN
  SELECT * INTO e FROM fairlead.endpoints WHERE handle = p_handle AND state = 1 FOR NO KEY UPDATE;
  IF NOT FOUND OR e.lifetime <= now THEN
    PERFORM fairlead._endpoint(p_handle);
    SELECT * INTO e FROM fairlead.endpoints WHERE handle = p_handle;
    PERFORM fairlead._refuse_to_speak(e, 'it has ended or failed');
  END IF;
  PERFORM fairlead._forget_timers(e.id, '{DialogTimer}', 0);
  IF p_after IS NOT NULL THEN
    PERFORM fairlead._comes_later(e, now + p_after, fairlead._end_name(e.dialog, e.side) || '/timer',
      'DialogTimer', 0, '', p_actor);
  END IF;
END $$;

-- Bind two ends, each to the other: in one order, so that nobody waits for each other.
CREATE OR REPLACE FUNCTION fairlead._bind(p_one text, p_other text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one fairlead.endpoints := fairlead._endpoint(p_one);
  other fairlead.endpoints := fairlead._endpoint(p_other);
  e fairlead.endpoints;
BEGIN
  FOR e IN SELECT * FROM fairlead.endpoints x WHERE x.id IN (one.id, other.id) ORDER BY x.id
      FOR NO KEY UPDATE LOOP
    IF e.state = 3 THEN
      PERFORM fairlead._refuse_to_speak(e, 'it has ended');
    END IF;
  END LOOP;
  UPDATE fairlead.endpoints SET bound = one.id + other.id - id WHERE id IN (one.id, other.id);
END $$;

-- The end that an end is bound to; NULL: there is none, or it has ended.
CREATE OR REPLACE FUNCTION fairlead._bound(p_handle text) RETURNS fairlead.endpoints
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT o FROM fairlead.endpoints e JOIN fairlead.endpoints o ON o.id = e.bound AND o.state <> 3
  WHERE e.handle = p_handle
$$;

-- The same as its row, for the library.
CREATE OR REPLACE FUNCTION fairlead._find_bound(p_handle text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._row_of(b) FROM fairlead._bound(p_handle) b WHERE b.id IS NOT NULL
$$;

-- How an end stands; NULL: there is none with this id.
CREATE OR REPLACE FUNCTION fairlead._state(p_handle text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN e.state = 3 THEN 'ended' WHEN e.state = 2 OR e.lifetime <= fairlead._now() THEN 'failed'
    WHEN o.id IS NULL THEN 'started' WHEN o.state = 3 THEN 'ended-by-other' ELSE 'conversing' END
  FROM fairlead.endpoints e
    LEFT JOIN fairlead.endpoints o ON o.dialog = e.dialog AND o.side = 1 - e.side
  WHERE e.handle = p_handle
$$;

-- Raise the group in which what an end says waits; whether there was anything to raise.
CREATE OR REPLACE FUNCTION fairlead._prioritise_dialog(p_handle text, p_priority integer, p_actor text)
RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  e fairlead.endpoints := fairlead._endpoint(p_handle);
  peer fairlead.endpoints;
BEGIN
  IF p_priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format('priority: found %s, allowed: an integer from 0 to 255, or NULL',
      p_priority));
  END IF;
  SELECT * INTO peer FROM fairlead.endpoints x WHERE x.dialog = e.dialog AND x.side = 1 - e.side;
  RETURN FOUND AND fairlead._prioritise(peer.queue, peer.group_name, p_priority, p_actor);
END $$;
