-- What of the journal is done with the rights of the schema's owner.

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

-- Forget the oldest guaranteed messages, if their time is over; in the same way. Those of which a copy
-- waits are looked at again later.
CREATE OR REPLACE FUNCTION fairlead._forget_guaranteed(p_now bigint, p_most bigint) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  oldest bigint[] := ARRAY (SELECT id FROM fairlead.guaranteed WHERE at < now - 604800000000
    ORDER BY at LIMIT p_most FOR UPDATE SKIP LOCKED);
  open bigint[] := ARRAY (SELECT DISTINCT p.guaranteed FROM fairlead.published p
    WHERE p.guaranteed = ANY (oldest));
BEGIN
  UPDATE fairlead.guaranteed SET at = now WHERE id = ANY (open);
  DELETE FROM fairlead.acknowledgements WHERE guaranteed = ANY (oldest) AND guaranteed <> ALL (open);
  RETURN QUERY DELETE FROM fairlead.guaranteed x WHERE x.id = ANY (oldest) AND x.id <> ALL (open)
    RETURNING x.id;
END $$;

-- Delete dead letters that are older than their queues keep them; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_dead(p_now bigint, p_most bigint)
RETURNS TABLE (o_queue text, o_key text, o_group text, o_tenant text, o_cost bigint, o_type text,
  o_attempt bigint, o_keep bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM fairlead.dead x USING fairlead.queues q
  WHERE q.id = x.queue AND x.id = ANY (ARRAY (
    SELECT d.id FROM fairlead.queues o CROSS JOIN LATERAL (
      SELECT y.id FROM fairlead.dead y WHERE y.queue = o.id AND y.died
        <= least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) - o.keep_dead
      ORDER BY y.died LIMIT p_most FOR UPDATE SKIP LOCKED) d
    WHERE o.keep_dead IS NOT NULL LIMIT p_most))
  RETURNING q.name, x.key, x.group_name, x.tenant, x.cost, x.type, x.attempt, q.keep_dead
$$;

-- The first runs of each cluster, at most so many, if the next one began before a time, too.
CREATE OR REPLACE FUNCTION fairlead._over(p_before bigint, p_most bigint)
RETURNS SETOF fairlead.choice_runs
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT s.* FROM fairlead.clusters c CROSS JOIN LATERAL (
      SELECT w.* FROM fairlead.choice_runs w WHERE w.cluster = c.id
      ORDER BY w.first, w.version LIMIT p_most) s
    WHERE s.at < p_before AND p_before > (SELECT l.at FROM fairlead.choice_runs l
      WHERE l.cluster = s.cluster AND (l.first, l.version) > (s.first, s.version)
      ORDER BY l.first, l.version LIMIT 1)
    LIMIT p_most;
END;

-- Forget what clusters were, as far back as no event is kept; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_choice_runs(p_now bigint, p_most bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  before bigint;
BEGIN
  SELECT least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) - journal_keep
    INTO before FROM fairlead.schema;
  RETURN QUERY DELETE FROM fairlead.choice_runs x WHERE (x.cluster, x.first, x.version) IN (
      SELECT s.cluster, s.first, s.version FROM fairlead._over(before, p_most) s)
    RETURNING x.first;
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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM 1 FROM fairlead.groups WHERE token = p_token AND state = 2 FOR SHARE;
  RETURN FOUND;
EXCEPTION WHEN lock_not_available THEN
  RETURN true;
END $$;

-- Whether who is logged in may write events of these kinds, at this time, under these numbers. One ahead of
-- the clock, but for where time stands still because the clock was put back, would hold up the time of all
-- that follow, and one with a number that nobody has drawn would be
-- in the way of the event that draws it.
CREATE OR REPLACE FUNCTION fairlead._check_events(p_kinds text[], p_time bigint, p_ids bigint[])
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_kinds && '{loaded,discarded,deleted,recovered,schedule-paused,schedule-resumed,schedule-dropped}' AND NOT has_function_privilege(session_user,
      'fairlead._run_add_epoch(bigint, bigint)', 'EXECUTE') THEN
    PERFORM fairlead._refuse(format('permission denied for events of operators (%s): it takes the role fairlead_operator',
      array_to_string(p_kinds, ', ')), '42501');
  ELSIF EXISTS (SELECT 1 FROM unnest(p_ids) AS i (id)
      WHERE i.id > (SELECT n.last_value FROM fairlead.numbers n)) THEN
    PERFORM fairlead._refuse('number: found one that was not drawn, allowed: NULL, or one that was');
  ELSIF p_time > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 1000000
      AND NOT EXISTS (SELECT 1 FROM (SELECT j.time FROM fairlead.journal j ORDER BY j.id DESC LIMIT 100) l
        WHERE l.time BETWEEN p_time AND (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 3600000000)
      AND NOT pg_has_role(session_user,
        (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'fairlead'), 'USAGE') THEN
    PERFORM fairlead._refuse('time: found one that is ahead of the clock and of the latest events, allowed: now');
  END IF;
END $$;
