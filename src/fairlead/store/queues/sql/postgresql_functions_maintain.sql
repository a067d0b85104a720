-- What is done before a take, by whoever takes first: what is due arrives, is woken, or is taken back.

-- A queue; with its row locked where tenants share it, or it has limits: then one takes at a time.
CREATE OR REPLACE FUNCTION fairlead._queue_to_take(p_queue text) RETURNS fairlead.queues
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues;
BEGIN
  SELECT * INTO q FROM fairlead.queues WHERE name = p_queue;
  IF q.fair > 0 OR q.limits IS NOT NULL THEN
    SELECT * INTO q FROM fairlead.queues WHERE id = q.id FOR NO KEY UPDATE;
  END IF;
  RETURN q;
END $$;

-- Bring a queue up to date, before a take. Where tenants share it, or it has limits, its row is locked.
CREATE OR REPLACE FUNCTION fairlead._maintain(q fairlead.queues, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  v_number bigint;
  v_priority bigint;
  v_entered bigint;
  raised bigint := -9223372036854775808;
  g fairlead.groups;
  n record;
  d fairlead.delayed;
BEGIN
  IF q.fair = 1 THEN
    q := fairlead._begin_line(q);
  END IF;
  FOR g IN SELECT * FROM fairlead.groups WHERE queue = q.id AND state = 2 AND deadline <= now
      ORDER BY deadline LIMIT 300 FOR NO KEY UPDATE SKIP LOCKED LOOP
    PERFORM fairlead._end(q, g, fairlead._release('its lease was over',
      CASE WHEN NOT fairlead._restarted_since(g.taken, now) THEN 'lease' END), p_actor);
  END LOOP;
  FOR d IN WITH due_now AS (DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (
        SELECT id FROM fairlead.delayed WHERE queue = q.id AND due <= now ORDER BY due, id
        LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM due_now ORDER BY due, id LOOP
    v_number := nextval('fairlead.numbers');
    IF EXISTS (SELECT 1 FROM fairlead.groups x WHERE x.queue = q.id AND x.name = d.group_name
        AND x.tenant <> d.tenant) THEN
      INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority,
          key, cost, type, conversation, format, body)
        VALUES (v_number, q.id, now, 'its group is another tenant''s now', 0, d.group_name,
          d.tenant, d.priority, d.key, d.cost, d.type, d.conversation, d.format, d.body);
      INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
          type, actor, detail)
        VALUES (v_number, moment, 'rejected', q.name, d.group_name, d.key, d.tenant, d.priority,
          d.cost, d.type, p_actor, 'its group is another tenant''s now');
      PERFORM fairlead._complete_delayed(q.id, d.key, 'its group is another tenant''s now', now);
      CONTINUE;
    END IF;
    PERFORM fairlead._arrive(q, v_number, moment, d.group_name, d.priority, d.key, d.type, d.tenant,
      d.cost, d.expires, d.format, d.body, d.conversation);
    INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
        type, actor)
      VALUES (v_number, moment, 'arrived', q.name, coalesce(d.group_name, ''), d.key, d.tenant,
        d.priority, d.cost, d.type, p_actor);
  END LOOP;
  FOR i IN 1 .. 1000 LOOP  -- from one group that was raised to the next, however often each was
    SELECT min(x.group_id) INTO raised FROM fairlead.pending_updates x
      WHERE x.queue = q.id AND x.kind = 'raised' AND x.group_id > raised;
    EXIT WHEN raised IS NULL;
    SELECT * INTO g FROM fairlead.groups y WHERE y.id = raised;
    CONTINUE WHEN g.state = 2;  -- its reader acts on this
    IF g.id IS NOT NULL THEN
      PERFORM 1 FROM fairlead.groups y WHERE y.id = raised AND y.state <> 2
        FOR NO KEY UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
    END IF;
    v_priority := NULL; v_entered := NULL; v_number := NULL;
    FOR n IN DELETE FROM fairlead.pending_updates x WHERE x.id = ANY (ARRAY (
          SELECT z.id FROM fairlead.pending_updates z WHERE z.group_id = raised AND z.kind = 'raised'
          FOR UPDATE SKIP LOCKED)) RETURNING x.number, x.priority, x.at LOOP
      IF n.priority IS NOT NULL AND (v_number IS NULL OR n.number > v_number) THEN
        v_priority := n.priority; v_entered := n.at; v_number := n.number;
      END IF;
    END LOOP;
    CONTINUE WHEN g.id IS NULL;  -- it has ended
    UPDATE fairlead.groups z SET priority = coalesce(v_priority, z.priority),
      entered = coalesce(v_entered, z.entered), number = coalesce(v_number, z.number)
      WHERE z.id = raised;
    UPDATE fairlead.groups z SET head = coalesce(f.id, 0), arrived = coalesce(f.arrived, 0),
      k1 = fairlead._k1(q.discipline, q.step, z.priority, z.entered, z.number, coalesce(f.id, 0),
        coalesce(f.arrived, 0)),
      k2 = fairlead._k2(q.discipline, q.step, z.number, coalesce(f.id, 0))
      FROM (SELECT 1) AS one LEFT JOIN LATERAL fairlead._head(raised) f ON true
      WHERE z.id = raised RETURNING z.* INTO g;
    IF g.head = 0 AND g.number = 0 AND q.fair = 0 THEN  -- an end of a dialog has ended
      PERFORM fairlead._put_back(q, raised, false, 0, 0, NULL, false);
    END IF;
  END LOOP;
  IF q.fair > 0 THEN
    q := fairlead._count_tenants(q);
  ELSE  -- of tenants, which it has no more
    DELETE FROM fairlead.pending_updates WHERE id = ANY (ARRAY (
      SELECT x.id FROM fairlead.pending_updates x WHERE x.queue = q.id AND x.kind <> 'raised'
      ORDER BY x.id LIMIT 1000 FOR UPDATE SKIP LOCKED));
  END IF;
  FOR g IN WITH woken AS (UPDATE fairlead.groups SET state = 1, not_before = NULL
        WHERE id = ANY (ARRAY (
          SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 3 AND not_before <= now
          ORDER BY not_before LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM woken ORDER BY id LOOP
    IF g.head = 0 THEN  -- somebody was sending to it: it stands where that message does
      UPDATE fairlead.groups z SET head = f.id, arrived = f.arrived,
        k1 = fairlead._k1(q.discipline, q.step, z.priority, z.entered, z.number, f.id, f.arrived),
        k2 = fairlead._k2(q.discipline, q.step, z.number, f.id)
        FROM fairlead._head(g.id) f WHERE z.id = g.id;
    END IF;
    IF g.head <> 0 OR q.fair > 0 THEN
      v_number := nextval('fairlead.numbers');
      INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, actor)
        VALUES (v_number, moment, 'woken', q.name, coalesce(g.name, ''), '', g.tenant, p_actor);
    END IF;
    IF q.fair > 0 THEN
      q := fairlead._join_line(q, g.tenant, v_number);
    END IF;
  END LOOP;
  -- what is left, somebody is still sending to: it is looked at again, the later the longer it takes
  UPDATE fairlead.groups
    SET not_before = now + least(greatest((now - coalesce(taken, 0)) / 4, 50000), 1000000)
    WHERE id = ANY (ARRAY (
      SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 3 AND not_before <= now
      ORDER BY not_before LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)) AND head = 0;
  IF q.fair > 0 THEN
    PERFORM fairlead._write_line(q);
  END IF;
END $$;

-- The same, and the queue as it is then. What has arrived may be of tenants: they line up.
CREATE OR REPLACE FUNCTION fairlead._maintained(q fairlead.queues, p_actor text) RETURNS fairlead.queues
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._maintain(q, p_actor);
  SELECT * INTO q FROM fairlead.queues WHERE id = q.id;
  IF q.fair = 1 THEN
    SELECT * INTO q FROM fairlead.queues WHERE id = q.id FOR NO KEY UPDATE;
    q := fairlead._begin_line(q);
  END IF;
  RETURN q;
END $$;

-- Bring a queue up to date, so that who looks at it sees it as a reader would.
CREATE OR REPLACE FUNCTION fairlead._bring_up_to_date(p_queue text, p_actor text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue_to_take(p_queue);
BEGIN
  IF q.id IS NOT NULL THEN
    q := fairlead._maintained(q, p_actor);
    IF q.fair > 0 THEN
      PERFORM fairlead._write_line(q);
    END IF;
  END IF;
END $$;
