-- What `fairlead store check --repair` puts right.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- Messages whose group is gone, with what the journal says of the group.
CREATE OR REPLACE FUNCTION fairlead._run_lost_messages(p_most bigint)
RETURNS TABLE (
  o_name text, o_id bigint, o_key text, o_group_name text, o_tenant text, o_expires bigint, o_cost bigint,
  o_type text, o_conversation bigint, o_format bigint, o_body bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT q.name, m.id, m.key, j.group_name, j.tenant, m.expires, m.cost, m.type, m.conversation, m.format,
           m.body
    FROM fairlead.messages m JOIN fairlead.queues q ON q.id = m.queue
      LEFT JOIN fairlead.journal j ON j.id = abs(m.id) AND j.kind IN ('sent', 'arrived')
    WHERE NOT EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.id = m.group_id)
    ORDER BY q.name, abs(m.id) LIMIT p_most FOR UPDATE OF m;
END $$;

-- Groups that say that a message waits, and have none, end.
CREATE OR REPLACE FUNCTION fairlead._run_mend_empty_groups()
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.groups WHERE id = ANY (ARRAY (SELECT g.id FROM fairlead.groups g
    WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
      AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
      AND NOT EXISTS (SELECT 1 FROM fairlead.pending_updates n WHERE n.group_id = g.id)
    FOR UPDATE SKIP LOCKED));
END $$;

-- The lease of work that nobody would take back is over.
CREATE OR REPLACE FUNCTION fairlead._run_mend_unbounded_work(p_now bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.groups g SET deadline = p_now, token = coalesce(g.token, nextval('fairlead.numbers'))
  WHERE g.state = 2 AND (g.deadline IS NULL
      OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead.lease_holders h WHERE h.id = g.holder));
END $$;

-- Events later than now are as late as they can be.
CREATE OR REPLACE FUNCTION fairlead._run_mend_future_events(p_now bigint, p_limit bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.journal SET time = p_now WHERE time > p_limit;
END $$;

-- Groups that came, were raised or were taken later than now.
CREATE OR REPLACE FUNCTION fairlead._run_mend_future_groups(p_now bigint, p_limit bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.groups SET arrived = least(arrived, p_now), entered = least(entered, p_now),
    was_entered = least(was_entered, p_now), taken = least(taken, p_now),
    deadline = deadline - greatest(taken - p_now, 0)
  WHERE greatest(arrived, entered, was_entered, taken) > p_limit;
END $$;

-- Messages that came later than now.
CREATE OR REPLACE FUNCTION fairlead._run_mend_future_messages(p_now bigint, p_limit bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.messages SET arrived = p_now WHERE arrived > p_limit;
END $$;

-- Raises later than now.
CREATE OR REPLACE FUNCTION fairlead._run_mend_future_raises(p_now bigint, p_limit bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.pending_updates SET at = p_now WHERE at > p_limit;
END $$;

-- Ids of messages that were used later than now.
CREATE OR REPLACE FUNCTION fairlead._run_mend_future_ids(p_now bigint, p_limit bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.message_ids SET at = p_now WHERE at > p_limit;
END $$;

-- Clusters whose next reset is too far away.
CREATE OR REPLACE FUNCTION fairlead._run_mend_future_resets(p_now bigint, p_limit bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.clusters SET reset_due = p_now + reset_every, due = least(due, p_now + reset_every)
  WHERE reset_every > 0 AND reset_due - reset_every > p_limit;
END $$;

-- Clusters that changed later than now.
CREATE OR REPLACE FUNCTION fairlead._run_mend_future_versions(p_now bigint, p_limit bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.choice_runs SET at = p_now WHERE at > p_limit;
END $$;

-- What a cluster waits for, and is not there, is done.
CREATE OR REPLACE FUNCTION fairlead._run_complete_lost_published(p_now bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.completions (cluster, destination, part, version)
  SELECT p.cluster, p.destination, p.part, p.version FROM fairlead.published p
  WHERE NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.queue = p.queue AND m.key = p.key)
    AND NOT EXISTS (SELECT 1 FROM fairlead.delayed d WHERE d.queue = p.queue AND d.key = p.key);
  INSERT INTO fairlead.acknowledgements (guaranteed, outcome, reason)
  SELECT g.id, 'nack', 'its copy is not there any more'
  FROM fairlead.published p JOIN fairlead.guaranteed g ON g.id = p.guaranteed
  WHERE coalesce(g.due, p_now + 1) > p_now
    AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.queue = p.queue AND m.key = p.key)
    AND NOT EXISTS (SELECT 1 FROM fairlead.delayed d WHERE d.queue = p.queue AND d.key = p.key);
END $$;

-- And nobody waits for it.
CREATE OR REPLACE FUNCTION fairlead._run_mend_lost_published()
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.published p
  WHERE NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.queue = p.queue AND m.key = p.key)
    AND NOT EXISTS (SELECT 1 FROM fairlead.delayed d WHERE d.queue = p.queue AND d.key = p.key);
END $$;

-- Nobody notifies processes that are gone.
CREATE OR REPLACE FUNCTION fairlead._run_mend_gone_listeners()
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.listeners s WHERE NOT EXISTS (SELECT 1 FROM fairlead.lease_holders h
    WHERE h.id = s.holder);
END $$;
