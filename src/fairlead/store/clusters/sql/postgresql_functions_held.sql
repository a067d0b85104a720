-- Runs of many messages that keep clusters from everybody else until they are published, all of them in one
-- transaction: whoever would choose there meanwhile is told by which run it is kept.

-- Begin to bring a run that keeps clusters from everybody else; its number. `p_others`: whoever would choose in
-- them meanwhile waits, or is refused at once (wait, refuse).
CREATE OR REPLACE FUNCTION fairlead._run_begin_holding(p_name text, p_clusters text[], p_others text)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_number integer;
BEGIN
  IF p_others IS NULL OR p_others NOT IN ('wait', 'refuse') THEN
    PERFORM fairlead._refuse(format('others: found %L, allowed: wait, or refuse', p_others));
  END IF;
  v_number := fairlead._begin_bringing(p_name);
  INSERT INTO fairlead.bulk_held (number, cluster, others, since)
    SELECT v_number, c.name, p_others, fairlead._now() FROM fairlead.clusters c WHERE c.name = ANY (p_clusters);
  RETURN NEXT v_number;
END $$;

-- Nobody but this transaction chooses in the clusters of a run, until it ends.
CREATE OR REPLACE FUNCTION fairlead._run_hold_clusters(p_number bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_staging(p_number);
  PERFORM set_config('fairlead.run', p_number::text, true);
  PERFORM 1 FROM fairlead.clusters c WHERE c.name IN (
      SELECT h.cluster FROM fairlead.bulk_held h WHERE h.number = p_number)
    ORDER BY c.name FOR NO KEY UPDATE;
END $$;

-- Wait for the run that keeps a cluster from others, for as long as for any lock (30 s, if that were for ever);
-- refuse by its name whoever waits in vain, or is to be refused at once. Where tickets are drawn, nobody waits
-- but who changes the cluster (`p_changes`).
CREATE OR REPLACE FUNCTION fairlead._await_run(p_cluster text, p_changes boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held record;
  bound text := current_setting('lock_timeout');
BEGIN
  SELECT s.name, h.number, h.others, h.since INTO held
    FROM fairlead.bulk_held h JOIN fairlead.bulk_staging s USING (number)
    WHERE h.cluster = p_cluster AND h.number::text IS DISTINCT FROM current_setting('fairlead.run', true)
      AND (p_changes OR (SELECT c.allocation FROM fairlead.clusters c WHERE c.name = p_cluster) = 'exact')
    ORDER BY h.since LIMIT 1;
  IF NOT FOUND THEN
    RETURN;
  ELSIF pg_try_advisory_lock_shared(1181641070, held.number) THEN  -- its process is gone
    PERFORM pg_advisory_unlock_shared(1181641070, held.number);
    RETURN;
  ELSIF held.others = 'wait' THEN
    IF bound = '0' THEN
      PERFORM set_config('lock_timeout', '30s', true);
    END IF;
    BEGIN
      PERFORM 1 FROM fairlead.clusters c WHERE c.name = p_cluster FOR NO KEY UPDATE;
      PERFORM set_config('lock_timeout', bound, true);
      RETURN;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END IF;
  PERFORM fairlead._refuse(format('cluster %L: found that bulk run %L is publishing since %s, allowed: again when '
    'it has ended', p_cluster, held.name, to_char(to_timestamp(held.since / 1000000.0) AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')), 'FL010');
END $$;
