-- Purge: what waits in a queue is deleted, in portions. What readers hold stays, and so do messages of
-- conversations: the other end counts on them.

-- Those that were to arrive later; how many.
CREATE OR REPLACE FUNCTION fairlead._purge_delayed(
  q fairlead.queues, p_group text, p_tenant text, p_until bigint, p_most bigint, p_reason text,
  p_actor text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  deleted bigint := 0;
  d fairlead.delayed;
BEGIN
  FOR d IN DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (
      SELECT x.id FROM fairlead.delayed x
      WHERE x.queue = q.id AND x.conversation IS NULL AND x.id < p_until
        AND (p_group IS NULL OR x.group_name = p_group) AND (p_tenant IS NULL OR x.tenant = p_tenant)
      LIMIT p_most FOR UPDATE SKIP LOCKED))
    RETURNING * LOOP
    PERFORM fairlead._complete_delayed(q.id, d.key, p_reason, now);
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, type, actor, detail)
      VALUES (fairlead._moment(now), 'discarded', q.name, coalesce(d.group_name, ''), d.key, d.tenant,
        d.cost, d.type, p_actor, p_reason);
    deleted := deleted + 1;
  END LOOP;
  RETURN deleted;
END $$;

-- Messages of a group that nobody holds, and whose row the caller has locked.
CREATE OR REPLACE FUNCTION fairlead._purge_group(
  q fairlead.queues, g fairlead.groups, p_numbers bigint[], p_reason text, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
BEGIN
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, type, actor, detail)
    SELECT fairlead._moment(now), 'discarded', q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost,
      m.type, p_actor, p_reason
    FROM fairlead.messages m WHERE m.id = ANY (p_numbers) ORDER BY m.id;
  IF q.completing > 0 THEN
    -- for a while they are dead letters: whoever waits for them is told that nobody got them
    INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, key, cost, type,
        conversation, format, body)
      SELECT m.id, m.queue, now, p_reason, 0, g.name, g.tenant, m.key, m.cost, m.type, m.conversation,
        m.format, m.body
      FROM fairlead.messages m WHERE m.id = ANY (p_numbers);
    PERFORM fairlead._complete(p_numbers, now);
    DELETE FROM fairlead.dead WHERE id = ANY (p_numbers);
  END IF;
  DELETE FROM fairlead.messages m WHERE m.id = ANY (p_numbers);
  UPDATE fairlead.groups SET was_priority = priority, was_entered = entered, was_number = number
    WHERE id = g.id;
  IF p_numbers = '{}' THEN
    PERFORM fairlead._put_back(q, g.id, false, g.releases, g.failures, g.not_before, true);
  ELSE
    PERFORM fairlead._put_back(q, g.id, false, 0, 0, g.not_before, true);
  END IF;
END $$;

-- The next portion: how many were deleted, and the group after which it goes on; NULL: there are no more.
CREATE OR REPLACE FUNCTION fairlead._purge(
  p_queue text, p_group text, p_tenant text, p_until bigint, p_after bigint, p_most bigint,
  p_reason text, p_actor text, OUT o_deleted bigint, OUT o_after bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  q fairlead.queues := fairlead._queue(p_queue, false);
  g fairlead.groups;
  numbers bigint[];
BEGIN
  PERFORM fairlead._check_isolation();
  o_deleted := fairlead._purge_delayed(q, p_group, p_tenant, p_until, p_most, p_reason, p_actor);
  IF o_deleted > 0 THEN
    o_after := p_after;
    RETURN;
  END IF;
  FOR g IN SELECT * FROM fairlead.groups x
      WHERE x.queue = q.id AND x.id > p_after AND x.id <= p_until AND x.state <> 2
        AND (p_group IS NULL OR x.name = p_group) AND (p_tenant IS NULL OR x.tenant = p_tenant)
      ORDER BY x.id LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED LOOP
    numbers := ARRAY (SELECT m.id FROM fairlead.messages m
      WHERE m.group_id = g.id AND m.conversation IS NULL AND m.id < p_until
      ORDER BY m.id LIMIT p_most - o_deleted);
    PERFORM fairlead._purge_group(q, g, numbers, p_reason, p_actor);
    o_deleted := o_deleted + cardinality(numbers);
    o_after := g.id;
    IF o_deleted >= p_most THEN
      o_after := g.id - 1;  -- there may be more in it
      EXIT;
    END IF;
  END LOOP;
END $$;
