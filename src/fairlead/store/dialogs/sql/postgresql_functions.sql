-- Dialogs, for plain SQL and for the library: one implementation. It does what dialogs/sqlite_engine.py does
-- on SQLite, and is held to the same tests.
--
-- Whoever speaks for an end locks that end's row and nobody else's, as there.
-- SQLSTATE FL008: a conversation has ended, was broken off, or is none; FL009: only the library can
-- look whether a body is what its message type says.

-- What one end is called: for people, it opens nothing.
CREATE OR REPLACE FUNCTION fairlead._end_name(p_dialog bigint, p_side bigint) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN 'd-' || p_dialog || CASE p_side WHEN 0 THEN '/i' ELSE '/t' END;

-- What somebody gave, on one line that is not too long.
CREATE OR REPLACE FUNCTION fairlead._shown(p_found text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN coalesce(regexp_replace(quote_literal(left(p_found, 100)), '[[:cntrl:]]', '?', 'g'), 'NULL');

-- A message type, a contract or a service, as it was declared.
CREATE OR REPLACE FUNCTION fairlead._declared(p_kind text, p_name text, p_what text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  definition_ jsonb;
BEGIN
  SELECT d.definition::jsonb INTO definition_ FROM fairlead.declared d
    WHERE d.kind = p_kind AND d.name = p_name;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse(format('%s: found %s, allowed: %s', p_what, fairlead._shown(p_name),
      coalesce((SELECT string_agg(d.name, ', ') FROM (SELECT x.name FROM fairlead.declared x
        WHERE x.kind = p_kind ORDER BY x.name LIMIT 12) d),
        'none; `fairlead declare FILE` declares some')));
  END IF;
  RETURN definition_;
END $$;

-- The end with an id. An id is a secret, whosever it is: it is not repeated.
CREATE OR REPLACE FUNCTION fairlead._endpoint(p_handle text) RETURNS fairlead.endpoints
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  e fairlead.endpoints;
BEGIN
  SELECT * INTO e FROM fairlead.endpoints WHERE handle = p_handle;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse('conversation: found an id of no end, allowed: the id of an end that is '
      'open; its other end has an id of its own', 'FL008');
  END IF;
  RETURN e;
END $$;

-- The same as its row, for the library; NULL: there is none.
CREATE OR REPLACE FUNCTION fairlead._find(p_handle text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._row_of(e) FROM fairlead.endpoints e WHERE e.handle = p_handle
$$;

CREATE OR REPLACE FUNCTION fairlead._refuse_to_speak(e fairlead.endpoints, p_why text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._refuse(format('conversation %s: %s; allowed: to speak in one that is open',
    fairlead._end_name(e.dialog, e.side), p_why), 'FL008');
END $$;

-- The same of one that is not open.
CREATE OR REPLACE FUNCTION fairlead._refuse_end(p_handle text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  e fairlead.endpoints := fairlead._endpoint(p_handle);
BEGIN
  PERFORM fairlead._refuse_to_speak(e, CASE e.state
    WHEN 2 THEN 'an error has broken it off: end it' ELSE 'it has ended' END);
END $$;

-- A message comes to an end.
CREATE OR REPLACE FUNCTION fairlead._comes(
  e fairlead.endpoints, p_number bigint, p_key text, p_type text, p_format bigint, p_body bytea,
  p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue(e.queue, false);
  moment bigint := fairlead._moment(fairlead._now());
BEGIN
  IF q.max_waiting IS NOT NULL AND p_type NOT IN ('EndDialog', 'Error', 'DialogTimer')
      AND fairlead._queue_length(q.id) >= q.max_waiting THEN
    PERFORM fairlead._refuse(format('queue %L: found more than %s messages, with the 1 to be sent; '
      'allowed: as many as max_waiting says; send again later', q.name, q.max_waiting), 'FL002');
  END IF;
  PERFORM fairlead._arrive(q, p_number, moment, e.group_name, NULL, p_key, p_type, '', 1, NULL,
    p_format, p_body, e.id);
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, cost, type, actor)
    VALUES (p_number, moment, 'sent', q.name, e.group_name, p_key, '', 1, p_type, p_actor);
  PERFORM fairlead._wake(q.id);
END $$;

-- An Error comes to an end.
CREATE OR REPLACE FUNCTION fairlead._error_comes(
  e fairlead.endpoints, p_key text, p_code bigint, p_description text, p_actor text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._comes(e, nextval('fairlead.numbers'), p_key, 'Error', 2,
    convert_to(json_build_object('code', p_code, 'description', p_description)::text, 'UTF8'), p_actor)
$$;

-- A message comes to an end at a time: a timer, or the end of a lifetime.
CREATE OR REPLACE FUNCTION fairlead._comes_later(
  e fairlead.endpoints, p_due bigint, p_key text, p_type text, p_format bigint, p_body bytea,
  p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue(e.queue, false);
  v_number bigint := nextval('fairlead.numbers');
BEGIN
  INSERT INTO fairlead.delayed (id, queue, due, group_name, tenant, key, cost, type, conversation,
      format, body)
    VALUES (v_number, q.id, p_due, e.group_name, '', p_key, 1, p_type, e.id, p_format, p_body);
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, actor, detail)
    VALUES (v_number, fairlead._moment(fairlead._now()), 'timed', q.name, e.group_name, p_key, '',
      p_actor, 'due ' || p_due);
  PERFORM fairlead._wake(q.id);
END $$;

-- What an end gets when its lifetime is over.
CREATE OR REPLACE FUNCTION fairlead._limit_life(e fairlead.endpoints, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF e.lifetime IS NOT NULL THEN
    PERFORM fairlead._comes_later(e, e.lifetime, fairlead._end_name(e.dialog, e.side) || '/lifetime',
      'Error', 2, convert_to(json_build_object('code', -8489, 'description',
        'the dialog''s lifetime is over')::text, 'UTF8'), p_actor);
  END IF;
END $$;

-- Nothing comes of itself after a time. What somebody has locked is about to come or to go.
CREATE OR REPLACE FUNCTION fairlead._forget_timers(p_end bigint, p_types text[], p_after bigint)
RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (SELECT d.id FROM fairlead.delayed d
    WHERE d.conversation = p_end AND d.type = ANY (p_types) AND d.due > p_after
    FOR UPDATE SKIP LOCKED))
$$;
