-- Limits of a queue: how many groups are in work at one time, and how many messages in a time. Whoever takes
-- has the queue's row locked. How it stands is counted once, into two objects of JSON by the limit's place and
-- the tenant for whom it counts: `held`, groups in the hands of readers, and `used`, until when its rate is.

-- The limits for a group of a lane and a tenant: `o_at` is where it stands in these objects.
CREATE OR REPLACE FUNCTION fairlead._limits_for(p_limits text, p_lane text, p_tenant text)
RETURNS TABLE (o_at text, o_key text, o_name text, o_in_work bigint, o_interval bigint, o_burst bigint)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT x.n - 1 || ' ' || y.name, (x.v ->> 0) || ' ' || (x.v ->> 1), y.name, (x.v ->> 2)::bigint,
    (x.v ->> 3)::bigint, (x.v ->> 4)::bigint
  FROM jsonb_array_elements(p_limits::jsonb) WITH ORDINALITY AS x (v, n)
    CROSS JOIN LATERAL (SELECT CASE x.v ->> 0 WHEN 'tenant' THEN p_tenant ELSE '' END) AS y (name)
  WHERE CASE x.v ->> 0
    WHEN 'queue' THEN true
    WHEN 'group' THEN (x.n - 1)::text = ANY (string_to_array(p_lane, ','))
    ELSE p_tenant <> '' AND fairlead._is_meant(x.v ->> 1, p_tenant) END
$$;

-- How many groups readers hold, for each limit.
CREATE OR REPLACE FUNCTION fairlead._held_of_limits(q fairlead.queues) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(o_at, held), '{}') FROM (
    SELECT l.o_at, sum(g.held) AS held
    FROM (SELECT lane, tenant, count(*) AS held FROM fairlead.groups WHERE queue = q.id AND state = 2
        GROUP BY lane, tenant) g
      CROSS JOIN LATERAL fairlead._limits_for(q.limits, coalesce(g.lane, ''), g.tenant) l
    GROUP BY l.o_at) counted
$$;

-- Until when rates are used up; not where a clock was wrong when it was written.
CREATE OR REPLACE FUNCTION fairlead._used_of_limits(q fairlead.queues, p_now bigint) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(x.n - 1 || ' ' || s.name, s.until), '{}')
  FROM jsonb_array_elements(q.limits::jsonb) WITH ORDINALITY AS x (v, n)
    JOIN fairlead.limit_states s ON s.queue = q.id AND s.key = (x.v ->> 0) || ' ' || (x.v ->> 1)
  WHERE s.until <= p_now + ((x.v ->> 4)::bigint + 100) * (x.v ->> 3)::bigint + 3600000000
$$;

-- Whether something of a lane and a tenant can be taken now.
CREATE OR REPLACE FUNCTION fairlead._is_open(
  p_limits text, p_held jsonb, p_used jsonb, p_now bigint, p_lane text, p_tenant text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT NOT EXISTS (SELECT 1 FROM fairlead._limits_for(p_limits, p_lane, p_tenant) l
    WHERE coalesce((p_held ->> l.o_at)::bigint, 0) >= l.o_in_work
      OR l.o_interval > 0
        AND coalesce((p_used ->> l.o_at)::bigint, 0) - (l.o_burst - 1) * l.o_interval > p_now)
$$;

-- The lanes of a queue in which a group can be taken, from one to the next by the index.
CREATE OR REPLACE FUNCTION fairlead._lanes(p_queue bigint) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH RECURSIVE l (lane) AS (
    SELECT (SELECT min(g.lane) FROM fairlead.groups g
      WHERE g.queue = p_queue AND g.state = 1 AND g.lane IS NOT NULL)
    UNION ALL
    SELECT (SELECT min(g.lane) FROM fairlead.groups g
      WHERE g.queue = p_queue AND g.state = 1 AND g.lane > l.lane)
    FROM l WHERE l.lane IS NOT NULL)
  SELECT lane FROM l WHERE lane IS NOT NULL
$$;

-- A group with so many messages was taken: what is used of each rate is kept. How `held` and `used` stand then.
CREATE OR REPLACE FUNCTION fairlead._use_limits(
  q fairlead.queues, p_now bigint, p_lane text, p_tenant text, p_messages bigint,
  INOUT p_held jsonb, INOUT p_used jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  l record;
  v_until bigint;
BEGIN
  DELETE FROM fairlead.limit_states WHERE queue = q.id AND until <= p_now;
  FOR l IN SELECT * FROM fairlead._limits_for(q.limits, p_lane, p_tenant) LOOP
    p_held := p_held || jsonb_build_object(l.o_at, coalesce((p_held ->> l.o_at)::bigint, 0) + 1);
    CONTINUE WHEN l.o_interval = 0;
    v_until := greatest(coalesce((p_used ->> l.o_at)::bigint, 0), p_now) + p_messages * l.o_interval;
    p_used := p_used || jsonb_build_object(l.o_at, v_until);
    INSERT INTO fairlead.limit_states (queue, key, name, until) VALUES (q.id, l.o_key, l.o_name, v_until)
      ON CONFLICT (queue, key, name) DO UPDATE SET until = excluded.until;
  END LOOP;
END $$;
