-- Where one group stands, in plain SQL.

-- The place of a group in its queue, among those of its tenant where tenants share it: 1 is next. What it
-- and others were raised to since the last take counts already, though nobody has written it down yet; so
-- this only looks. Before it are counted the entries of one index, and the groups that were raised. No row:
-- there is no such group.
CREATE OR REPLACE FUNCTION fairlead.place_of(queue text, "group" text)
RETURNS TABLE (place bigint, why text, until timestamptz, priority bigint, tenant text, since timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  q fairlead.queues := fairlead._queue(queue, false);
  g fairlead.groups;
  r fairlead.pending_updates;
  counted bigint;
  moved bigint;
BEGIN
  SELECT x.* INTO g FROM fairlead.groups x WHERE x.queue = q.id AND x.name = "group" COLLATE "C";
  IF NOT FOUND THEN
    RETURN;
  END IF;
  priority := CASE g.state WHEN 2 THEN g.was_priority ELSE g.priority END;
  SELECT n.* INTO r FROM fairlead.pending_updates n WHERE n.group_id = g.id AND n.kind = 'raised'
    AND n.priority IS NOT NULL AND q.discipline <> 'fifo' ORDER BY n.id DESC LIMIT 1;
  IF FOUND THEN
    priority := r.priority;
    g.k1 := fairlead._k1(q.discipline, q.step, r.priority, r.at, r.number, g.head, g.arrived);
    g.k2 := fairlead._k2(q.discipline, q.step, r.number, g.head);
  END IF;
  IF g.state = 1 THEN
    IF q.fair = 2 THEN
      SELECT count(*) INTO counted FROM fairlead.groups x WHERE x.queue = q.id AND x.tenant = g.tenant
        AND x.state = 1 AND x.fair = 1 AND (x.k1, x.k2) < (g.k1, g.k2);
    ELSE
      SELECT count(*) INTO counted FROM fairlead.groups x WHERE x.queue = q.id AND x.state = 1
        AND (x.k1, x.k2) < (g.k1, g.k2);
    END IF;
    -- how often each was raised is of no matter: the index leads from one group to the next
    WITH RECURSIVE raised (id) AS (
      SELECT min(n.group_id) FROM fairlead.pending_updates n
      WHERE n.queue = q.id AND n.kind = 'raised' AND q.discipline <> 'fifo'
      UNION ALL
      SELECT (SELECT min(n.group_id) FROM fairlead.pending_updates n
        WHERE n.queue = q.id AND n.kind = 'raised' AND n.group_id > raised.id)
      FROM raised WHERE raised.id IS NOT NULL)
    SELECT coalesce(sum(CASE WHEN m.is_before THEN 1 ELSE 0 END - CASE WHEN m.was_before THEN 1 ELSE 0 END), 0)
      INTO moved
      FROM (SELECT (x.k1, x.k2) < (g.k1, g.k2) AS was_before,
          (fairlead._k1(q.discipline, q.step, l.priority, l.at, l.number, x.head, x.arrived),
            fairlead._k2(q.discipline, q.step, l.number, x.head)) < (g.k1, g.k2) AS is_before
        FROM raised CROSS JOIN LATERAL (SELECT n.group_id, n.priority, n.number, n.at
            FROM fairlead.pending_updates n WHERE n.group_id = raised.id AND n.kind = 'raised'
              AND n.priority IS NOT NULL ORDER BY n.id DESC LIMIT 1) l
          JOIN fairlead.groups x ON x.id = l.group_id AND x.state = 1
            AND (q.fair < 2 OR x.tenant = g.tenant)) m;
    place := counted + moved + 1;
  END IF;
  why := CASE WHEN g.state = 2 THEN 'working'
    WHEN q.enabled = 0 OR jsonb_exists(q.off_tenants::jsonb, g.tenant) THEN 'switched-off'
    WHEN g.state = 3 THEN 'released'
    WHEN q.limits IS NOT NULL AND NOT fairlead._is_open(q.limits, fairlead._held_of_limits(q),
      fairlead._used_of_limits(q, fairlead._now()), fairlead._now(), coalesce(g.lane, ''), g.tenant)
      THEN 'limited'
    ELSE 'ready' END;
  until := timestamptz 'epoch' + interval '1 microsecond'
    * CASE g.state WHEN 2 THEN g.deadline WHEN 3 THEN g.not_before END;
  priority := nullif(priority, -1);
  tenant := g.tenant;
  since := timestamptz 'epoch' + interval '1 microsecond' * nullif(g.arrived, 0);
  RETURN NEXT;
END $$;
