-- What an operator asks in plain SQL.

-- Whether a group can be raised so, and so many be shown whom that would delay.
CREATE OR REPLACE FUNCTION fairlead._check_raise(p_priority integer, p_most integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format('priority: found %s, allowed: an integer from 0 to 255, or NULL',
      p_priority));
  ELSIF p_most IS NULL OR p_most < 1 THEN
    PERFORM fairlead._refuse(format('most: found %s, allowed: an integer from 1 on',
      coalesce(p_most::text, 'NULL')));
  END IF;
END $$;

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
  PERFORM fairlead._check_raise(priority, most);
  IF q.fair = 0 THEN
    PERFORM fairlead._maintain(q, fairlead._actor());
  END IF;
  SELECT x.* INTO g FROM fairlead.groups x WHERE x.queue = q.id AND x.name = "group" COLLATE "C";
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

-- The same for the group that fairlead.prioritise_dialog would raise: that in which waits what the end with
-- this id has sent. No row, too: it has sent nothing yet.
CREATE OR REPLACE FUNCTION fairlead.delayed_by_dialog(
  dialog text, priority integer DEFAULT NULL, most integer DEFAULT 20)
RETURNS TABLE (in_group text, id text, tenant text, raised_to bigint, messages bigint, since timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  e fairlead.endpoints := fairlead._endpoint(dialog);
  peer fairlead.endpoints;
BEGIN
  PERFORM fairlead._check_raise(priority, most);
  SELECT x.* INTO peer FROM fairlead.endpoints x WHERE x.dialog = e.dialog AND x.side = 1 - e.side;
  IF FOUND THEN
    RETURN QUERY SELECT * FROM fairlead.delayed_by(peer.queue, peer.group_name, priority, most);
  END IF;
END $$;
