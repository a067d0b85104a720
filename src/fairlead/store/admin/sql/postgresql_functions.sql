-- What an operator asks in plain SQL.

-- The groups that raising a group would delay, at most so many, in their order; of its tenant only. What is
-- due in the queue is done first, as before a take. No row: it would delay nobody, or a reader has it.
CREATE OR REPLACE FUNCTION fairlead.delayed_by(
  queue text, "group" text, priority integer DEFAULT NULL, most integer DEFAULT 20)
RETURNS TABLE (in_group text, id text, tenant text, raised_to bigint, messages bigint, since timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  q fairlead.queues := fairlead._queue(queue, false);
  g fairlead.groups;
  now bigint := fairlead._now();
  asked bigint := coalesce(priority, q.default_priority);
  last bigint := 9223372036854775807;
BEGIN
  IF priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format('priority: found %s, allowed: an integer from 0 to 255, or NULL',
      priority));
  ELSIF most IS NULL OR most < 1 THEN
    PERFORM fairlead._refuse(format('most: found %s, allowed: an integer from 1 on',
      coalesce(most::text, 'NULL')));
  ELSIF q.fair = 0 THEN
    PERFORM fairlead._maintain(q, fairlead._actor());
  END IF;
  SELECT x.* INTO g FROM fairlead.groups x WHERE x.queue = q.id AND x.name = "group" COLLATE "default";
  IF NOT FOUND OR g.state = 2 OR q.discipline = 'fifo' THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT x.name,
      CASE WHEN x.name IS NULL THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = x.id LIMIT 1) END,
      x.tenant, nullif(x.priority, -1), (SELECT count(*) FROM fairlead.messages m WHERE m.group_id = x.id),
      timestamptz 'epoch' + x.arrived * interval '1 microsecond'
    FROM fairlead.groups x WHERE x.queue = q.id AND x.state = 1 AND (q.fair < 2 OR x.tenant = g.tenant)
      AND (x.k1, x.k2) > (fairlead._k1(q.discipline, q.step, asked, fairlead._moment(now), last, g.head, g.arrived),
        fairlead._k2(q.discipline, q.step, last, g.head))
      AND (x.k1, x.k2) < (g.k1, g.k2)
      AND EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = x.id)
    ORDER BY x.k1, x.k2 LIMIT most;
END $$;
