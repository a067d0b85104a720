-- Queues that tenants share: which tenant is next, as `order/key.py` decides it. Whoever takes has the
-- queue's row locked, and hands it on as `q`, whose columns `virtual_time`, `backlogged` and `in_service`
-- change on the way, until `_write_line`.

-- A tag as the number that it is, and as a text that sorts like it.
CREATE OR REPLACE FUNCTION fairlead._tag(p_text text) RETURNS numeric
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN p_text = '' THEN 0 ELSE p_text::numeric - 1e39 END;

CREATE OR REPLACE FUNCTION fairlead._tag_text(p_tag numeric) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN lpad(trunc(p_tag + 1e39)::text, 40, '0');

-- By how much one unit of cost moves a tenant's tag: the least common multiple of all weights, divided by
-- its own.
CREATE OR REPLACE FUNCTION fairlead._share(q fairlead.queues, p_tenant text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  unit numeric := 1;
  weight numeric;
BEGIN
  IF q.weights = '{}' THEN
    RETURN 1;
  END IF;
  FOR weight IN SELECT value::numeric FROM jsonb_each_text(q.weights::jsonb) LOOP
    unit := lcm(unit, weight);
  END LOOP;
  RETURN div(unit, coalesce((q.weights::jsonb ->> p_tenant)::numeric, 1));
END $$;

-- A group of a tenant can be taken, unless the tenant is switched off. What it did not use is not saved up.
CREATE OR REPLACE FUNCTION fairlead._join_line(q fairlead.queues, p_tenant text, p_number bigint)
RETURNS fairlead.queues LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF coalesce(q.off_tenants::jsonb ? p_tenant, false) THEN
    RETURN q;
  END IF;
  INSERT INTO fairlead.tenants AS t (queue, name, tag, turn, in_service, backlogged)
    VALUES (q.id, p_tenant, fairlead._tag_text(fairlead._tag(q.virtual_time)), p_number, 0, 1)
    ON CONFLICT (queue, name) DO UPDATE
      SET tag = greatest(t.tag, excluded.tag), turn = excluded.turn, backlogged = 1
      WHERE t.backlogged = 0;
  IF FOUND THEN
    q.backlogged := q.backlogged + 1;
  END IF;
  RETURN q;
END $$;

-- A tenant is charged, or given back, so much; so many more groups of it are held.
CREATE OR REPLACE FUNCTION fairlead._charge(
  q fairlead.queues, p_tenant text, p_cost numeric, p_held bigint, p_turn bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  charged numeric := p_cost * fairlead._share(q, p_tenant);
BEGIN
  INSERT INTO fairlead.tenants AS t (queue, name, tag, turn, in_service, backlogged)
    VALUES (q.id, p_tenant, fairlead._tag_text(fairlead._tag(q.virtual_time) + charged), 0, p_held, 0)
    ON CONFLICT (queue, name) DO UPDATE SET in_service = t.in_service + p_held,
      tag = CASE WHEN charged = 0 THEN t.tag
        ELSE fairlead._tag_text(fairlead._tag(t.tag) + charged) END,
      turn = least(t.turn, coalesce(p_turn, t.turn));
END $$;

-- Where nothing waits and nobody works, nobody has been charged anything.
CREATE OR REPLACE FUNCTION fairlead._forget_if_idle(q fairlead.queues) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF q.backlogged = 0 AND q.in_service = 0 THEN
    DELETE FROM fairlead.tenants WHERE queue = q.id;
  END IF;
END $$;

-- What senders and settlers have left to be counted, in its order.
CREATE OR REPLACE FUNCTION fairlead._count_tenants(q fairlead.queues) RETURNS fairlead.queues
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  n record;
BEGIN
  FOR n IN WITH counted AS (DELETE FROM fairlead.pending_updates WHERE id = ANY (ARRAY (
        SELECT x.id FROM fairlead.pending_updates x WHERE x.queue = q.id AND x.kind <> 'raised'
        ORDER BY x.id LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM counted ORDER BY id LOOP
    CASE n.kind
      WHEN 'joined' THEN
        q := fairlead._join_line(q, n.tenant, n.number);
      WHEN 'charged' THEN
        PERFORM fairlead._charge(q, n.tenant, n.cost, 0, NULL);
      WHEN 'settled' THEN
        PERFORM fairlead._charge(q, n.tenant, -n.cost, -1, NULL);
        q.in_service := q.in_service - 1;
        IF n.placed = 1 THEN
          q := fairlead._join_line(q, n.tenant, n.number);
        END IF;
        PERFORM fairlead._forget_if_idle(q);
      WHEN 'released' THEN  -- its place comes before the charge is given back: it joins with what it was charged
        q.in_service := q.in_service - 1;
        PERFORM fairlead._charge(q, n.tenant, 0, -1, NULL);
        IF n.placed = 1 THEN
          q := fairlead._join_line(q, n.tenant, n.number);
        END IF;
        PERFORM fairlead._charge(q, n.tenant, -n.cost, 0, n.turn);
    END CASE;
  END LOOP;
  RETURN q;
END $$;

-- Who is next, of those that have a group that can be taken.
CREATE OR REPLACE FUNCTION fairlead._next_tenant(q fairlead.queues, p_besides text[])
RETURNS fairlead.tenants LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM fairlead.tenants WHERE queue = q.id AND backlogged = 1 AND name <> ALL (p_besides)
  ORDER BY tag, turn LIMIT 1
$$;

-- A group of a tenant was taken, under this number: the clock is the highest tag that was next so far.
CREATE OR REPLACE FUNCTION fairlead._serve_tenant(
  q fairlead.queues, p_tenant text, p_cost numeric, p_number bigint)
RETURNS fairlead.queues LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  clock numeric := fairlead._tag(q.virtual_time);
  tag numeric;
BEGIN
  SELECT fairlead._tag(t.tag) INTO tag FROM fairlead.tenants t WHERE t.queue = q.id AND t.name = p_tenant;
  tag := coalesce(tag, clock);
  INSERT INTO fairlead.tenants AS t (queue, name, tag, turn, in_service, backlogged)
    VALUES (q.id, p_tenant, fairlead._tag_text(tag + p_cost * fairlead._share(q, p_tenant)), p_number, 1, 0)
    ON CONFLICT (queue, name) DO UPDATE
      SET tag = excluded.tag, turn = excluded.turn, in_service = t.in_service + 1;
  q.virtual_time := fairlead._tag_text(greatest(tag, clock));
  q.in_service := q.in_service + 1;
  RETURN q;
END $$;

-- Whether a tenant has a group that can be taken.
CREATE OR REPLACE FUNCTION fairlead._has_ready(p_queue bigint, p_tenant text) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (SELECT 1 FROM fairlead.groups g
  WHERE g.queue = p_queue AND g.tenant = p_tenant AND g.state = 1 AND g.fair = 1);

-- A tenant may have nothing more that can be taken, or is switched off.
CREATE OR REPLACE FUNCTION fairlead._leave_line(q fairlead.queues, p_tenant text)
RETURNS fairlead.queues LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF coalesce(q.off_tenants::jsonb ? p_tenant, false) OR NOT fairlead._has_ready(q.id, p_tenant) THEN
    UPDATE fairlead.tenants SET backlogged = 0
      WHERE queue = q.id AND name = p_tenant AND backlogged = 1;
    IF FOUND THEN
      q.backlogged := q.backlogged - 1;
    END IF;
  END IF;
  RETURN q;
END $$;

-- Line up groups whose senders began before there were tenants. None has come: `q` is as it was.
CREATE OR REPLACE FUNCTION fairlead._join_late(q fairlead.queues) RETURNS fairlead.queues
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  n record;
BEGIN
  FOR n IN WITH late AS (UPDATE fairlead.groups SET fair = 1
        WHERE queue = q.id AND state = 1 AND fair = 0 RETURNING tenant, k2)
      SELECT * FROM late ORDER BY k2 LOOP
    q := fairlead._join_line(q, n.tenant, n.k2);
  END LOOP;
  RETURN q;
END $$;

-- Line up all tenants, because a second one has come. What each was charged beyond the clock, takes and
-- releases tell.
CREATE OR REPLACE FUNCTION fairlead._begin_line(q fairlead.queues) RETURNS fairlead.queues
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  n record;
  tags jsonb := '{}';
  clock numeric := 0;
  tag numeric;
BEGIN
  UPDATE fairlead.groups SET fair = 1 WHERE queue = q.id AND fair = 0;
  DELETE FROM fairlead.pending_updates WHERE queue = q.id AND kind <> 'raised';
  FOR n IN SELECT kind, tenant, coalesce(cost, 0) AS cost FROM (
        SELECT id, kind, tenant, cost FROM fairlead.journal
        WHERE queue = q.name AND kind IN ('taken', 'released')
          AND id > (SELECT max(id) FROM fairlead.journal) - 100000
        ORDER BY id DESC LIMIT 1000) latest ORDER BY id LOOP
    tag := coalesce((tags ->> n.tenant)::numeric, clock);
    IF n.kind = 'taken' THEN
      clock := greatest(clock, tag);
      tag := tag + n.cost * fairlead._share(q, n.tenant);
    ELSE
      tag := tag - n.cost * fairlead._share(q, n.tenant);
    END IF;
    tags := tags || jsonb_build_object(n.tenant, tag);
  END LOOP;
  FOR n IN SELECT coalesce(r.tenant, h.tenant) AS tenant, coalesce(r.first, 0) AS turn,
        coalesce(h.count, 0) AS held,
        (r.tenant IS NOT NULL AND NOT coalesce(q.off_tenants::jsonb ? r.tenant, false))::integer AS ready
      FROM (SELECT g.tenant, min(g.k2) AS first FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 1
          GROUP BY g.tenant) r
        FULL JOIN (SELECT g.tenant, count(*) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 2
          GROUP BY g.tenant) h ON h.tenant = r.tenant LOOP
    INSERT INTO fairlead.tenants (queue, name, tag, turn, in_service, backlogged)
      VALUES (q.id, n.tenant, fairlead._tag_text(fairlead._tag(q.virtual_time)
          + greatest(coalesce((tags ->> n.tenant)::numeric, clock) - clock, 0)), n.turn, n.held, n.ready)
      ON CONFLICT (queue, name) DO UPDATE SET tag = excluded.tag, turn = excluded.turn,
        in_service = excluded.in_service, backlogged = excluded.backlogged;
    q.in_service := q.in_service + n.held;
    q.backlogged := q.backlogged + n.ready;
  END LOOP;
  q.fair := 2;
  RETURN q;
END $$;

-- Write what has changed. A tenant that has nothing which a new one would not have goes.
CREATE OR REPLACE FUNCTION fairlead._write_line(q fairlead.queues) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._forget_if_idle(q);
  DELETE FROM fairlead.tenants WHERE queue = q.id AND backlogged = 0 AND in_service = 0
    AND tag <= fairlead._tag_text(fairlead._tag(q.virtual_time));
  UPDATE fairlead.queues SET virtual_time = q.virtual_time, backlogged = q.backlogged,
      in_service = q.in_service, fair = 2
    WHERE id = q.id AND (virtual_time, backlogged, in_service, fair)
      IS DISTINCT FROM (q.virtual_time, q.backlogged, q.in_service, 2);
END $$;

-- Switch a tenant of a queue off or on; whether that is a change. What is due is done before, so that the
-- tenant leaves the others, and joins them, as they are.
CREATE OR REPLACE FUNCTION fairlead._switch_tenant(
  p_queue text, p_tenant text, p_on boolean, p_reason text, p_actor text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue_to_take(p_queue);
  v_number bigint;
BEGIN
  IF fairlead._is_name(p_tenant) IS NOT TRUE THEN
    PERFORM fairlead._refuse('tenant: found NULL, more than 500 characters, or some that are not printable, '
      'allowed: at most 500, and printable');
  END IF;
  SELECT * INTO q FROM fairlead.queues WHERE id = q.id FOR NO KEY UPDATE;
  IF q.id IS NULL OR p_on IS NULL
      OR p_on <> coalesce(q.off_tenants::jsonb ? p_tenant, false) THEN
    RETURN false;
  END IF;
  q := fairlead._maintained(q, p_actor);
  v_number := nextval('fairlead.numbers');
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, actor, detail)
    VALUES (v_number, fairlead._moment(fairlead._now()),
      CASE WHEN p_on THEN 'switched-on' ELSE 'switched-off' END, q.name, '', '', p_tenant, p_actor,
      nullif(p_reason, ''));
  q.off_tenants := CASE WHEN p_on THEN q.off_tenants::jsonb - p_tenant
    ELSE coalesce(q.off_tenants::jsonb, '[]') || to_jsonb(p_tenant) END;
  q.off_tenants := nullif(q.off_tenants, '[]');
  UPDATE fairlead.queues SET off_tenants = q.off_tenants WHERE id = q.id;
  IF q.fair > 0 THEN
    IF p_on AND fairlead._has_ready(q.id, p_tenant) THEN
      q := fairlead._join_line(q, p_tenant, v_number);
    ELSE
      q := fairlead._leave_line(q, p_tenant);
    END IF;
    PERFORM fairlead._write_line(q);
  END IF;
  PERFORM fairlead._wake(q.id);
  RETURN true;
END $$;
