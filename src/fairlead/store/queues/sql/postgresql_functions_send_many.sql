-- Send many messages at once, for the library: see postgresql_functions.sql. It does what `_send` does of
-- one, with a statement for all where that has one for each.

-- What is wrong with one of many messages; as `_send` says it. (Of a message as a row of `delayed`, which
-- has all that it is sent with: what stands in `conversation` is its place among the many.)
CREATE OR REPLACE FUNCTION fairlead._check_many(q fairlead.queues, p_every fairlead.delayed[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  unit numeric := 1;
  weight numeric;
  wrong record;
BEGIN
  FOR weight IN SELECT value::numeric FROM jsonb_each_text(q.weights::jsonb) LOOP
    unit := lcm(unit, weight);
  END LOOP;
  SELECT e.* INTO wrong FROM unnest(p_every) e
    WHERE e.priority NOT BETWEEN 0 AND 255 OR e.cost IS NULL OR e.cost < 1
      OR e.cost > div(4611686018427387904, unit) OR NOT fairlead._is_format(e.format, e.body)
      OR e.expires < 0 OR greatest(e.due, e.expires) > 4000000000000000000
      OR e.body IS NULL OR octet_length(e.body) > fairlead._max_body(e.format)
      OR NOT fairlead._is_readable(e.format, e.body) OR e.format & 4 > 0 AND NOT fairlead._may_envelop(q.name)
      OR fairlead._is_name(e.group_name) IS FALSE OR fairlead._is_name(e.key) IS FALSE
      OR fairlead._is_name(e.type) IS FALSE OR fairlead._is_name(e.tenant) IS FALSE
    ORDER BY e.conversation LIMIT 1;
  IF FOUND THEN
    PERFORM fairlead._refuse(CASE WHEN wrong.cost BETWEEN 1 AND div(4611686018427387904, unit)
      THEN 'message: found a priority, a format, a body, a name or a time that is not allowed, allowed: what '
        'fairlead.send takes'
      ELSE format('cost: found %s, allowed: an integer from 1 to %s with these weights of tenants',
        coalesce(wrong.cost::text, 'NULL'), div(4611686018427387904, unit)) END);
  END IF;
END $$;

-- Those of many messages that are not known by their ids; and their ids are remembered.
CREATE OR REPLACE FUNCTION fairlead._remember_many(
  q fairlead.queues, p_every fairlead.delayed[], p_now bigint) RETURNS fairlead.delayed[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  keys text[];
  contents text[];
  fresh text[];
  other text;
BEGIN
  SELECT array_agg(k.key ORDER BY k.key), array_agg(k.content ORDER BY k.key) INTO keys, contents
    FROM (SELECT DISTINCT e.key, fairlead._digest(e.format, e.body)
      FROM unnest(p_every) e WHERE e.key <> '') AS k (key, content);
  IF keys IS NULL THEN
    RETURN p_every;
  END IF;
  SELECT k.key INTO other FROM unnest(keys) AS k (key) GROUP BY k.key HAVING count(*) > 1 LIMIT 1;
  IF other IS NULL THEN
    WITH added AS (
      INSERT INTO fairlead.message_ids AS i (queue, key, at, digest)
      SELECT q.id, k.key, p_now, k.content FROM unnest(keys, contents) AS k (key, content)
      ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
        WHERE i.at < p_now - q.remembered
      RETURNING i.key)
    SELECT coalesce(array_agg(a.key), '{}') INTO fresh FROM added a;
    SELECT k.key INTO other FROM unnest(keys, contents) AS k (key, content) JOIN fairlead.message_ids i
      ON i.queue = q.id AND i.key = k.key COLLATE "default" AND i.digest <> k.content LIMIT 1;
  END IF;
  IF other IS NOT NULL THEN
    PERFORM fairlead._refuse(format('id: found %L, which another message had before, allowed: an id of '
      'its own for each message', other));
  END IF;
  RETURN ARRAY (SELECT e FROM unnest(p_every) e LEFT JOIN (
      SELECT f.key, min(f.conversation) AS place FROM unnest(p_every) f JOIN unnest(fresh) AS n (key) USING (key)
      GROUP BY f.key) first ON first.key = e.key
    WHERE coalesce(e.key, '') = '' OR e.conversation = first.place
    ORDER BY e.conversation);
END $$;

-- Groups begin with these messages; whether all do. `p_must`: else it is refused.
CREATE OR REPLACE FUNCTION fairlead._begin_many(
  q fairlead.queues, p_firsts fairlead.delayed[], p_fair bigint, p_moment bigint, p_must boolean)
RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  begun bigint;
BEGIN
  INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered, number,
      head, arrived, lane)
    SELECT e.id, q.id, e.group_name, e.tenant, p_fair, 1,
      fairlead._k1(q.discipline, q.step, e.priority, p_moment, r.raised, e.id, p_moment),
      fairlead._k2(q.discipline, q.step, r.raised, e.id), CASE WHEN r.raised = 0 THEN -1 ELSE e.priority END,
      CASE WHEN r.raised = 0 THEN 0 ELSE p_moment END, r.raised, e.id, p_moment,
      fairlead._lane(q.limits, e.group_name)
    FROM unnest(p_firsts) e, LATERAL (SELECT CASE WHEN e.priority IS NULL OR q.discipline = 'fifo' THEN 0
      ELSE e.id END AS raised) r
    ORDER BY e.id
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS begun = ROW_COUNT;
  IF p_must AND begun < cardinality(p_firsts) THEN
    PERFORM fairlead._refuse('number: found one that a group has, as where a backup was restored without '
      'its sequences, allowed: a new one; `fairlead store recover` leads there');
  END IF;
  RETURN begun = cardinality(p_firsts);
END $$;

-- Many messages join their groups; those that are not there begin.
CREATE OR REPLACE FUNCTION fairlead._arrive_many(
  q fairlead.queues, p_new fairlead.delayed[], p_moment bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  is_fair bigint := CASE WHEN q.fair > 0 OR EXISTS (SELECT 1 FROM unnest(p_new) e WHERE e.tenant <> '')
    THEN 1 ELSE 0 END;
  ordered boolean := q.discipline <> 'fifo';
  names text[] := ARRAY (SELECT DISTINCT e.group_name FROM unnest(p_new) e WHERE e.group_name IS NOT NULL);
  firsts fairlead.delayed[];
  missing text[];
  f_name text[];
  f_id bigint[];
  f_tenant text[];
  f_state bigint[];
  f_head bigint[];
  other record;
BEGIN
  IF q.fair = 0 AND is_fair = 1 THEN
    UPDATE fairlead.queues SET fair = 1 WHERE id = q.id AND fair = 0;
  END IF;
  firsts := ARRAY (SELECT y.x FROM (SELECT x, row_number() OVER (PARTITION BY x.group_name ORDER BY x.id) AS place
      FROM unnest(p_new) x WHERE x.group_name IS NOT NULL) y WHERE y.place = 1);
  PERFORM fairlead._begin_many(q, ARRAY (SELECT e FROM unnest(p_new) e WHERE e.group_name IS NULL), is_fair,
    p_moment, true);
  FOR turn IN 0 .. 100 LOOP
    SELECT coalesce(array_agg(g.name), '{}'), array_agg(g.id), array_agg(g.tenant), array_agg(g.state),
        array_agg(g.head) INTO f_name, f_id, f_tenant, f_state, f_head
      FROM (SELECT x.name, x.id, x.tenant, x.state, x.head FROM fairlead.groups x
        WHERE x.queue = q.id AND x.name = ANY (names COLLATE "C") ORDER BY x.name FOR KEY SHARE) g;
    missing := ARRAY (SELECT n.name FROM unnest(names) AS n (name)
      EXCEPT SELECT f.name FROM unnest(f_name) AS f (name));
    EXIT WHEN fairlead._begin_many(q, ARRAY (SELECT e FROM unnest(firsts) e
      JOIN unnest(missing) AS m (name) ON m.name = e.group_name), is_fair, p_moment, turn = 100);
  END LOOP;
  INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, expires, cost, type, format, body)
    SELECT e.id, q.id, coalesce(f.id, first.id, e.id), e.key, p_moment, e.expires, e.cost, e.type, e.format,
      e.body
    FROM unnest(p_new) e LEFT JOIN unnest(f_name, f_id) AS f (name, id) ON f.name = e.group_name
      LEFT JOIN unnest(firsts) first ON first.group_name = e.group_name
    ORDER BY e.id;
  IF names = '{}' AND is_fair = 0 THEN
    RETURN;
  END IF;
  SELECT e.group_name, e.tenant, coalesce(f.tenant, first.tenant) AS owner INTO other
    FROM unnest(p_new) e LEFT JOIN unnest(f_name, f_tenant) AS f (name, tenant) ON f.name = e.group_name
      LEFT JOIN unnest(firsts) first ON first.group_name = e.group_name
    WHERE e.tenant <> coalesce(f.tenant, first.tenant) ORDER BY e.id LIMIT 1;
  IF FOUND THEN
    PERFORM fairlead._refuse(format('tenant of group %L: found %L, allowed: %L', other.group_name,
      other.tenant, other.owner));
  END IF;
  INSERT INTO fairlead.pending_updates (queue, group_id, kind, number, tenant, priority, at, cost)
    SELECT q.id, u.home, u.kind, u.id, u.tenant, u.raised, CASE WHEN u.raised IS NOT NULL THEN p_moment END,
      CASE WHEN u.kind = 'charged' THEN u.cost END
    FROM (SELECT e.id, e.tenant, e.cost, coalesce(f.id, first.id, e.id) AS home, k.kind,
        CASE WHEN k.kind = 'raised' AND ordered THEN e.priority END AS raised
      FROM unnest(p_new) e
        LEFT JOIN unnest(f_name, f_id, f_state, f_head) AS f (name, id, state, head) ON f.name = e.group_name
        LEFT JOIN unnest(firsts) first ON first.group_name = e.group_name
        CROSS JOIN LATERAL (
          SELECT 'joined' AS kind WHERE is_fair = 1 AND coalesce(f.id, first.id, e.id) = e.id
          UNION ALL SELECT 'charged' WHERE is_fair = 1 AND f.state = 2
          UNION ALL SELECT 'raised' WHERE coalesce(f.id, first.id, e.id) <> e.id
            AND (e.priority IS NOT NULL AND ordered OR f.head = 0 AND f.state <> 2)) k) u
    ORDER BY u.id, u.kind;
END $$;

-- Send many messages to a queue; their ids, in their order. Of each of `p_every` is wanted what it is sent
-- with; `due` is 0 where it is not delayed, and `key` is empty where it has no id.
CREATE OR REPLACE FUNCTION fairlead._send_every(
  q fairlead.queues, p_every fairlead.delayed[], p_now bigint, p_moment bigint, p_actor text) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  new fairlead.delayed[];
  numbers bigint[];
BEGIN
  PERFORM fairlead._check_many(q, p_every);
  new := fairlead._remember_many(q, p_every, p_now);
  IF q.max_waiting IS NOT NULL AND cardinality(new) > 0
      AND fairlead._queue_length(q.id) + cardinality(new) > q.max_waiting THEN
    PERFORM fairlead._refuse(format('queue %L: found more than %s messages, with the %s to be sent; '
      'allowed: as many as max_waiting says; send again later', q.name, q.max_waiting, cardinality(new)),
      'FL002');
  END IF;
  numbers := ARRAY (SELECT nextval('fairlead.numbers') FROM generate_series(1, cardinality(new)));
  new := ARRAY (SELECT ROW(numbers[r.place], q.id, r.due, r.group_name, r.tenant, r.priority,
      coalesce(nullif(r.key, ''), 'm-' || numbers[r.place]), r.expires, r.cost, r.type, r.conversation,
      r.format, r.body)::fairlead.delayed
    FROM (SELECT e.*, row_number() OVER (ORDER BY e.conversation) AS place FROM unnest(new) e) r
    ORDER BY r.place);
  PERFORM fairlead._arrive_many(q, ARRAY (SELECT e FROM unnest(new) e WHERE e.due = 0), p_moment);
  INSERT INTO fairlead.delayed (id, queue, due, group_name, tenant, priority, key, expires, cost, type,
      format, body)
    SELECT e.id, q.id, e.due, e.group_name, e.tenant, e.priority, e.key, e.expires, e.cost, e.type, e.format,
      e.body
    FROM unnest(new) e WHERE e.due > 0;
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, type,
      actor, detail)
    SELECT e.id, p_moment, 'sent', q.name, coalesce(e.group_name, ''), e.key, e.tenant,
      CASE WHEN q.discipline = 'fifo' THEN NULL ELSE e.priority END, e.cost, e.type, p_actor,
      CASE WHEN e.due > 0 THEN 'due ' || e.due END
    FROM unnest(new) e ORDER BY e.id;
  PERFORM fairlead._wake(q.id);
  RETURN ARRAY (SELECT coalesce(n.key, e.key) FROM unnest(p_every) e
    LEFT JOIN unnest(new) n ON n.conversation = e.conversation ORDER BY e.conversation);
END $$;

-- The same, for the library. The bodies stand in one row of bytes, with where each begins and how long it is.
CREATE OR REPLACE FUNCTION fairlead._send_many(
  p_queue text, p_group text[], p_priority bigint[], p_key text[], p_type text[], p_tenant text[],
  p_cost bigint[], p_due bigint[], p_expires bigint[], p_format bigint[], p_body bytea, p_begin integer[],
  p_length integer[], p_actor text) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue(p_queue, true);
  now bigint := fairlead._now();
BEGIN
  RETURN fairlead._send_every(q, ARRAY (
      SELECT ROW(0, q.id, CASE WHEN r.due > now THEN r.due ELSE 0 END, nullif(r.name, ''),
        coalesce(r.tenant, ''), r.priority, coalesce(r.key, ''), r.expires, r.cost, r.type, r.place, r.format,
        substr(p_body, r.start, r.size))::fairlead.delayed
      FROM unnest(p_group, p_priority, p_key, p_type, p_tenant, p_cost, p_due, p_expires, p_format, p_begin,
        p_length) WITH ORDINALITY AS r (name, priority, key, type, tenant, cost, due, expires, format, start,
        size, place) ORDER BY r.place),
    now, fairlead._moment(now), p_actor);
END $$;

-- The same in a transaction that goes on after a refusal: what was refused, and why.
CREATE OR REPLACE FUNCTION fairlead._try_send_many(
  p_queue text, p_group text[], p_priority bigint[], p_key text[], p_type text[], p_tenant text[],
  p_cost bigint[], p_due bigint[], p_expires bigint[], p_format bigint[], p_body bytea, p_begin integer[],
  p_length integer[], p_actor text, OUT o_keys text[], OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  o_keys := fairlead._send_many(p_queue, p_group, p_priority, p_key, p_type, p_tenant, p_cost, p_due,
    p_expires, p_format, p_body, p_begin, p_length, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL002' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;
