-- What plain SQL calls, from psql and from any language, and the store itself, because one statement is
-- one way to the server and back. It decides as order/key.py does, and as on SQLite the modules sending,
-- taking and settling do, and is held to the same tests.
--
-- Names that begin with an underscore are the store's own. Times are microseconds since 1970.
-- SQLSTATE FL001: what was asked is not allowed; FL002: the queue is full; FL003: the work is
-- somebody else's by now; FL007: the transaction's isolation level is not for this.
-- Functions that somebody may call run as the schema's owner.

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

-- After how long a message is not wanted any more, in microseconds: after it has arrived. NULL: never.
CREATE OR REPLACE FUNCTION fairlead._expiry(p_delay interval, p_expires interval) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_expires >= '0' AND p_expires <= coalesce(p_delay, '0') THEN
    PERFORM fairlead._refuse(format('expires: found %s, allowed: a time after the message arrives', p_expires));
  END IF;
  RETURN fairlead._micros('expires', p_expires);
END $$;

-- Whether a name is meant by a pattern: `*` stands for any characters, `?` for one.
CREATE OR REPLACE FUNCTION fairlead._is_meant(p_pattern text, p_name text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN p_name COLLATE "C" LIKE
  replace(replace(replace(replace(replace(p_pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_');

-- The lane of a group: the places of the limits that are for its name (`limiting.py`). NULL: no limits.
CREATE OR REPLACE FUNCTION fairlead._lane(p_limits text, p_group text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_limits IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN coalesce((SELECT string_agg((x.n - 1)::text, ',' ORDER BY x.n)
    FROM jsonb_array_elements(p_limits::jsonb) WITH ORDINALITY AS x (v, n)
    WHERE x.v->>0 = 'group' AND p_group <> '' AND fairlead._is_meant(x.v->>1, p_group)),
    '');
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

-- The bytes of a body alone: what it may have come in is left out (`bodies.py`).
CREATE OR REPLACE FUNCTION fairlead._bytes(p_format bigint, p_body bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN p_format & 4 = 0 THEN p_body
       ELSE substr(p_body, 1 + (p_format >> 4 & 268435455)::integer,
         (p_format >> 32 & 268435455)::integer) END;

-- The text of a body; NULL: it is bytes, or nothing that a text of this database can be.
CREATE OR REPLACE FUNCTION fairlead._text(p_format bigint, p_body bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE WHEN p_format & 3 > 0 THEN convert_from(fairlead._bytes(p_format, p_body), 'UTF8') END;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;

-- Whether a body can be read as what its format says. (A text of this database cannot have U+0000, which
-- UTF-8 and the library can: it is looked at with blanks in their places.)
CREATE OR REPLACE FUNCTION fairlead._is_readable(p_format bigint, p_body bytea) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  content bytea := fairlead._bytes(p_format, p_body);
BEGIN
  IF p_format & 3 = 2 THEN
    PERFORM convert_from(content, 'UTF8')::json;
  ELSIF p_format & 3 = 1 AND position('\x00'::bytea IN content) > 0 THEN
    PERFORM convert_from(decode(replace(replace(encode(content, 'escape'), '\\', '/'), '\000', ' '),
      'escape'), 'UTF8');
  ELSIF p_format & 3 = 1 THEN
    PERFORM convert_from(content, 'UTF8');
  END IF;
  RETURN true;
EXCEPTION WHEN data_exception OR statement_too_complex THEN
  RETURN false;
END $$;

-- What tells two bodies apart, whatever they came in.
CREATE OR REPLACE FUNCTION fairlead._digest(p_format bigint, p_body bytea) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN encode(sha256(set_byte('\x00', 0, (p_format & 3)::integer) || fairlead._bytes(p_format, p_body)), 'hex');

-- So many bytes a body may have, with what it came in.
CREATE OR REPLACE FUNCTION fairlead._max_body(p_format bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN p_format & 4 = 0 THEN 16777216 ELSE 134217728 END;

-- Whether a body can have this format.
CREATE OR REPLACE FUNCTION fairlead._is_format(p_format bigint, p_body bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN p_format IS NOT NULL AND p_format & 3 < 3 AND p_format >> 61 = 0
         AND (p_format & ~(1::bigint << 60) BETWEEN 0 AND 2
         OR p_format & 4 > 0 AND coalesce(
           (p_format >> 4 & 268435455) + (p_format >> 32 & 268435455) <= octet_length(p_body), true));

-- Whether who is logged in may take work, as servers do.
CREATE OR REPLACE FUNCTION fairlead._takes() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT has_function_privilege(session_user, 'fairlead._run_stopping(bigint, bigint)', 'EXECUTE')
$$;

-- Whether a body may come in an envelope: servers give them, and so does whoever puts a message that waits
-- for its way to another queue manager.
CREATE OR REPLACE FUNCTION fairlead._may_envelop(p_queue text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT starts_with(p_queue, 'channel:') OR fairlead._takes()
$$;

-- Whether a text can be a name: short, and without what a terminal or a log would take for something else, as
-- the library has it. (What Unicode has not assigned yet, only the library knows.)
CREATE OR REPLACE FUNCTION fairlead._is_name(p_found text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT length(p_found) <= 500 AND p_found !~ ('[\x01-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u1680'
    '\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff\ufff0-\uffff\U000e0000-\U0010ffff]')
$$;

-- A queue as it is set; it is created with the defaults if it is not there.
CREATE OR REPLACE FUNCTION fairlead._queue(p_name text, p_create boolean)
RETURNS fairlead.queues LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
BEGIN
  SELECT * INTO q FROM fairlead.queues WHERE name = p_name;
  IF p_create AND starts_with(p_name, 'fairlead:') AND NOT fairlead._takes() THEN
    PERFORM fairlead._refuse(format('permission denied for queue %L, in which servers keep what is their own: '
      'it takes the role fairlead_worker', p_name), '42501');
  ELSIF q.id IS NULL AND p_create THEN
    IF coalesce(p_name, '') = '' OR NOT fairlead._is_name(p_name) THEN
      PERFORM fairlead._refuse('queue: found no name, one of more than 500 characters, or one with some that '
        'are not printable, allowed: a name');
    END IF;
    INSERT INTO fairlead.queues (name, remembered, max_failures)
      VALUES (p_name, 604800000000, CASE WHEN NOT starts_with(p_name, 'fairlead:') THEN 5 END)
      ON CONFLICT (name) DO NOTHING;
    SELECT * INTO q FROM fairlead.queues WHERE name = p_name;
  ELSIF q.id IS NULL THEN
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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  meant integer;
BEGIN
  SELECT s.holder INTO meant FROM fairlead.listeners s WHERE s.queue = p_queue
    ORDER BY EXISTS (SELECT 1 FROM fairlead.groups g
      WHERE g.queue = p_queue AND g.state = 2 AND g.holder = s.holder), random() LIMIT 1;
  IF FOUND THEN
    PERFORM pg_notify('fairlead_' || p_queue, meant::text);
  END IF;
END $$;

-- How many messages a limited queue holds. Of many rows one is made: of those that nobody else has
-- locked, so that nobody waits; others see the many until this commits, and their sum is the same.
CREATE OR REPLACE FUNCTION fairlead._queue_length(p_queue bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  total bigint;
  parts bigint;
BEGIN
  SELECT coalesce(sum(r.change), 0), count(*) INTO total, parts FROM fairlead.length_changes r
    WHERE r.queue = p_queue;
  IF parts > 100 AND current_setting('transaction_isolation') = 'read committed' THEN
    WITH gone AS (
      DELETE FROM fairlead.length_changes WHERE id = ANY (ARRAY (
        SELECT r.id FROM fairlead.length_changes r WHERE r.queue = p_queue FOR UPDATE SKIP LOCKED))
      RETURNING change)
    INSERT INTO fairlead.length_changes (queue, change) SELECT p_queue, sum(change) FROM gone HAVING count(*) > 0;
  END IF;
  RETURN total;
END $$;

-- An end as the library reads it: its row, as JSON.
CREATE OR REPLACE FUNCTION fairlead._row_of(e fairlead.endpoints) RETURNS text
LANGUAGE sql STABLE
RETURN json_build_array(e.id, e.handle, e.dialog, e.side, e.service, e.far_service, e.contract, e.queue,
  e.group_name, e.state, e.sent, e.began, e.lifetime, e.bound)::text;
