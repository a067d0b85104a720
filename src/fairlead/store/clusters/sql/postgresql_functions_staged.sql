-- Runs of many messages that several processes bring at once, for the library: the rows wait in a table of
-- their own, where nobody looks, until one transaction publishes them.

-- Nobody has the turns that a run has reserved, where nobody has gone on behind them; else they stay counted.
CREATE OR REPLACE FUNCTION fairlead._give_back_turns(p_number bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  reserved record;
BEGIN
  FOR reserved IN DELETE FROM fairlead.bulk_reserved r WHERE r.number = p_number RETURNING r.* LOOP
    UPDATE fairlead.clusters c SET first = reserved.first, taken = reserved.taken
      WHERE c.id = reserved.cluster AND c.stamp = reserved.stamp AND c.first = reserved.behind AND c.taken = 0;
    IF FOUND THEN
      DELETE FROM fairlead.choice_runs x
        WHERE x.cluster = reserved.cluster AND x.first > reserved.first + reserved.taken;
    END IF;
  END LOOP;
END $$;

-- Drop what runs have left behind whose process is gone; how many of them.
CREATE OR REPLACE FUNCTION fairlead._run_sweep_staging() RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  left_over record;
  swept bigint := 0;
BEGIN
  FOR left_over IN SELECT b.name, b.number FROM fairlead.bulk_staging b FOR UPDATE SKIP LOCKED LOOP
    CONTINUE WHEN NOT pg_try_advisory_xact_lock(1181641070, left_over.number);
    BEGIN
      IF to_regclass(format('fairlead.staged_%s', left_over.number)) IS NOT NULL THEN
        EXECUTE format('LOCK TABLE fairlead.staged_%s IN ACCESS EXCLUSIVE MODE NOWAIT', left_over.number);
      END IF;
      EXECUTE format('DROP TABLE IF EXISTS fairlead.staged_%s, fairlead.ranked_%s', left_over.number, left_over.number);
      PERFORM fairlead._give_back_turns(left_over.number);
      DELETE FROM fairlead.bulk_held h WHERE h.number = left_over.number;
      DELETE FROM fairlead.bulk_staging b WHERE b.number = left_over.number;
      swept := swept + 1;
    EXCEPTION WHEN lock_not_available THEN NULL;  -- a task of its own still writes; the next look finds it
    END;
  END LOOP;
  RETURN NEXT swept;
END $$;

-- Begin to bring a run; its number. The lock is the session's.
CREATE OR REPLACE FUNCTION fairlead._begin_bringing(p_name text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_number integer;
BEGIN
  IF fairlead._is_name(p_name) IS NOT TRUE OR p_name = '' THEN
    PERFORM fairlead._refuse('run: found no name, allowed: a text of printable characters');
  END IF;
  PERFORM fairlead._run_sweep_staging();
  INSERT INTO fairlead.bulk_staging (name) VALUES (p_name) ON CONFLICT (name) DO NOTHING
    RETURNING number INTO v_number;
  IF v_number IS NULL THEN
    PERFORM fairlead._refuse(format('run %L: found that another process is bringing it, allowed: to wait for '
      'its end', p_name));
  ELSIF NOT pg_try_advisory_lock(1181641070, v_number) THEN  -- a stranger's: the next number is free
    PERFORM fairlead._refuse(format('run %L: found the lock of its number in other hands, allowed: again',
      p_name), 'FL007');
  END IF;
  RETURN v_number;
END $$;

-- The same; with the number of a table for its messages.
CREATE OR REPLACE FUNCTION fairlead._run_begin_staging(p_name text) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_number integer := fairlead._begin_bringing(p_name);
BEGIN
  EXECUTE format('CREATE UNLOGGED TABLE fairlead.staged_%s (row BIGINT GENERATED ALWAYS AS IDENTITY, '
    'attempt TEXT NOT NULL, cluster TEXT NOT NULL, key BIGINT NOT NULL, id TEXT NOT NULL, group_name TEXT, '
    'tenant TEXT NOT NULL, priority BIGINT, type TEXT, cost BIGINT NOT NULL, delay BIGINT NOT NULL, '
    'expires BIGINT, said TEXT, format BIGINT NOT NULL, body BYTEA NOT NULL)', v_number);
  EXECUTE format('GRANT INSERT ON fairlead.staged_%s TO %I', v_number, session_user);
  RETURN NEXT v_number;
END $$;

-- Refuses whoever does not bring this run.
CREATE OR REPLACE FUNCTION fairlead._check_staging(p_number bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM fairlead.bulk_staging b WHERE b.number = p_number AND b.login = session_user) THEN
    PERFORM fairlead._refuse(format('run: found number %s, which is not brought by %L, allowed: to begin anew',
      p_number, session_user), 'FL007');
  END IF;
END $$;

-- Nothing is left of what was brought.
CREATE OR REPLACE FUNCTION fairlead._run_end_staging(p_number bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_staging(p_number);
  EXECUTE format('DROP TABLE IF EXISTS fairlead.staged_%s, fairlead.ranked_%s', p_number, p_number);
  PERFORM fairlead._give_back_turns(p_number);
  DELETE FROM fairlead.bulk_held h WHERE h.number = p_number;
  DELETE FROM fairlead.bulk_staging b WHERE b.number = p_number;
  PERFORM pg_advisory_unlock(1181641070, p_number::integer);
END $$;

-- A run has reserved turns of a cluster.
CREATE OR REPLACE FUNCTION fairlead._run_add_reserved(
  p_number bigint, p_cluster bigint, p_stamp text, p_first bigint, p_taken bigint, p_behind bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_staging(p_number);
  INSERT INTO fairlead.bulk_reserved (number, cluster, stamp, first, taken, behind)
    VALUES (p_number, p_cluster, p_stamp, p_first, p_taken, p_behind);
END $$;

-- A run does not use the turns that it has reserved.
CREATE OR REPLACE FUNCTION fairlead._run_give_back_turns(p_number bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_staging(p_number);
  PERFORM fairlead._give_back_turns(p_number);
END $$;

-- The order of the messages of a run, of each cluster by itself, but for those whose ids it knows; how many
-- there are, of each cluster. A message that is no work has no place. `p_attempts`: those of tasks that have
-- ended well, with how many rows each has brought.
CREATE OR REPLACE FUNCTION fairlead._run_rank_staged(p_number bigint, p_attempts text[], p_rows bigint[])
RETURNS TABLE (o_cluster text, o_messages bigint, o_known bigint, o_control bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  since bigint := fairlead._now() - 604800000000;
  brought bigint;
  wanted bigint := (SELECT coalesce(sum(n), 0) FROM unnest(p_rows) AS r (n));
  other text;
BEGIN
  PERFORM fairlead._check_staging(p_number);
  EXECUTE format('SELECT count(*) FROM fairlead.staged_%s WHERE attempt = ANY ($1)', p_number)
    INTO brought USING p_attempts;
  IF brought <> wanted THEN
    PERFORM fairlead._refuse(format('run: found %s rows of %s, as after a restart of the server, allowed: to '
      'begin anew', brought, wanted), 'FL007');
  END IF;
  EXECUTE format($q$
    SELECT s.id FROM fairlead.staged_%s s WHERE s.attempt = ANY ($1)
    GROUP BY s.cluster, s.id HAVING count(*) > 1 LIMIT 1 $q$, p_number) INTO other USING p_attempts;
  IF other IS NOT NULL THEN
    PERFORM fairlead._refuse(format('id: found %L twice, allowed: an id of its own for each message', other));
  END IF;
  EXECUTE format($q$
    SELECT s.id FROM fairlead.staged_%s s JOIN fairlead.clusters c ON c.name = s.cluster
      JOIN fairlead.message_ids i ON i.queue = -c.id AND i.key = s.id
    WHERE s.attempt = ANY ($1) AND i.at >= $2 AND i.digest <> fairlead._digest(s.format, s.body)
    LIMIT 1 $q$, p_number) INTO other USING p_attempts, since;
  IF other IS NOT NULL THEN
    PERFORM fairlead._refuse(format('id: found %L, which another message had before, allowed: an id of its own '
      'for each message', other));
  END IF;
  EXECUTE format($q$
    CREATE UNLOGGED TABLE fairlead.ranked_%s AS
    SELECT s.row, s.cluster, CASE WHEN w.works THEN
      row_number() OVER (PARTITION BY s.cluster, w.works ORDER BY s.key, s.id COLLATE "C") - 1 END AS place
    FROM fairlead.staged_%s s JOIN fairlead.clusters c ON c.name = s.cluster
      LEFT JOIN fairlead.message_ids i ON i.queue = -c.id AND i.key = s.id AND i.at >= $2,
      LATERAL (SELECT s.type IS DISTINCT FROM 'SetPriority' AS works) w
    WHERE s.attempt = ANY ($1) AND i.key IS NULL $q$, p_number, p_number) USING p_attempts, since;
  RETURN QUERY EXECUTE format($q$
    SELECT s.cluster, count(k.place), count(*) FILTER (WHERE k.row IS NULL),
      count(*) FILTER (WHERE k.row IS NOT NULL AND k.place IS NULL)
    FROM fairlead.staged_%s s LEFT JOIN fairlead.ranked_%s k USING (row)
    WHERE s.attempt = ANY ($1) GROUP BY s.cluster ORDER BY s.cluster $q$, p_number, p_number)
    USING p_attempts;
END $$;

-- Some of the messages that are left out, by the clusters that have no destination for them (`p_nobody`), or
-- as their ids are known.
CREATE OR REPLACE FUNCTION fairlead._run_left_out_staged(
  p_number bigint, p_attempts text[], p_nobody text[], p_most bigint)
RETURNS TABLE (o_id text, o_known boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_staging(p_number);
  RETURN QUERY EXECUTE format($q$
    SELECT s.id, k.row IS NULL FROM fairlead.staged_%s s LEFT JOIN fairlead.ranked_%s k USING (row)
    WHERE s.attempt = ANY ($1) AND (k.row IS NULL OR k.place IS NOT NULL AND s.cluster = ANY ($2))
    ORDER BY s.key, s.id COLLATE "C" LIMIT $3 $q$, p_number, p_number) USING p_attempts, p_nobody, p_most;
END $$;

-- Decide about the messages of a run for one cluster, whose turns were reserved: they begin with `p_first`, and
-- `p_choices` has the destination of each. `p_rows`: with those that are no work. How many go to each destination, and how many to none any more, as
-- their ids were published meanwhile. _run_send_staged sends them, in the transaction that runs.
CREATE OR REPLACE FUNCTION fairlead._run_decide_staged(
  p_number bigint, p_cluster text, p_rows bigint, p_first bigint, p_version bigint, p_choices bigint[],
  p_actor text)
RETURNS TABLE (o_destination text, o_messages bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint;
  now bigint := fairlead._now();
  gone bigint;
  wanted bigint;
  added bigint;
BEGIN
  PERFORM fairlead._check_staging(p_number);
  SELECT c.id INTO own FROM fairlead.clusters c JOIN fairlead.versions v ON v.cluster = c.id
    AND v.version = p_version WHERE c.name = p_cluster;
  IF own IS NULL THEN
    PERFORM fairlead._refuse_cluster(p_cluster);
  END IF;
  EXECUTE format('SELECT count(*) FROM fairlead.ranked_%s k WHERE k.cluster = $1', p_number)
    INTO wanted USING p_cluster;
  IF wanted <> p_rows OR p_rows < cardinality(p_choices) OR p_first IS NULL THEN
    PERFORM fairlead._refuse(format('run: found %s rows of %s, as after a restart of the server, allowed: to '
      'begin anew', wanted, p_rows), 'FL007');
  END IF;
  DELETE FROM fairlead.bulk_reserved r WHERE r.number = p_number AND r.cluster = own;
  EXECUTE format($q$
    WITH known AS (
      DELETE FROM fairlead.ranked_%s k USING fairlead.staged_%s s, fairlead.message_ids i
      WHERE k.cluster = $1 AND s.row = k.row AND i.queue = -$2 AND i.key = s.id AND i.at >= $3 - 604800000000
      RETURNING 1)
    SELECT count(*) FROM known $q$, p_number, p_number) INTO gone USING p_cluster, own, now;
  EXECUTE format($q$
    CREATE UNLOGGED TABLE fairlead.chosen_%s_%s AS
    SELECT k.row, k.place, d.name, d.address, coalesce(d.queue, d.name) AS queue
    FROM fairlead.ranked_%s k LEFT JOIN fairlead.destinations d ON d.cluster = $2 AND d.id = ($3)[k.place + 1]
    WHERE k.cluster = $1 AND (k.place IS NULL OR ($3)[k.place + 1] <> 0) $q$,
    p_number, own, p_number) USING p_cluster, own, p_choices;
  GET DIAGNOSTICS wanted = ROW_COUNT;
  EXECUTE format('SELECT count(*) FROM fairlead.chosen_%s_%s c WHERE c.place IS NOT NULL AND c.queue IS NULL',
    p_number, own) INTO added;
  IF added > 0 THEN
    PERFORM fairlead._refuse(format('cluster %L: found a choice that is none of its destinations, allowed: what '
      'was reserved', p_cluster));
  END IF;
  EXECUTE format($q$
    INSERT INTO fairlead.message_ids AS i (queue, key, at, digest)
    SELECT -$1, s.id, $2, fairlead._digest(s.format, s.body)
    FROM fairlead.chosen_%s_%s c JOIN fairlead.staged_%s s USING (row) ORDER BY s.id
    ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
      WHERE i.at < $2 - 604800000000 $q$, p_number, own, p_number) USING own, now;
  GET DIAGNOSTICS added = ROW_COUNT;
  IF added < wanted THEN
    PERFORM fairlead._refuse(format('cluster %L: found an id that was published meanwhile, allowed: again',
      p_cluster), '40001');
  END IF;
  EXECUTE format($q$
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, type, actor, cluster, version,
      stream, destination, address, outcome, sequence, said, run)
    SELECT $2, 'decided', '', coalesce(s.group_name, ''), s.id, '', nullif(s.type, ''), $3, $1, $4, $1, c.name,
      c.address, CASE WHEN c.place IS NULL THEN 'control' ELSE 'routed' END, $5 + c.place, s.said,
      (SELECT b.number FROM fairlead.bulk_runs b JOIN fairlead.bulk_staging g USING (name) WHERE g.number = $6)
    FROM fairlead.chosen_%s_%s c JOIN fairlead.staged_%s s USING (row)
    ORDER BY s.key, s.id COLLATE "C" $q$, p_number, own, p_number)
    USING p_cluster, now, p_actor, p_version, p_first, p_number;
  RETURN QUERY EXECUTE format($q$
    SELECT c.name, count(*) FROM fairlead.chosen_%s_%s c WHERE c.name IS NOT NULL GROUP BY c.name
    UNION ALL SELECT NULL, $1 $q$, p_number, own) USING gone;
END $$;

-- Send the messages of a run that were decided about, to each queue in the order of the run.
CREATE OR REPLACE FUNCTION fairlead._run_send_staged(p_number bigint, p_actor text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  chosen text[];
  every text;
  slice record;
BEGIN
  PERFORM fairlead._check_staging(p_number);
  chosen := ARRAY (SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'fairlead'::regnamespace
    AND c.relname ~ format('^chosen_%s_[0-9]+$', p_number));
  every := (SELECT string_agg(format('SELECT row, queue FROM fairlead.%I WHERE queue IS NOT NULL', n.name),
    ' UNION ALL ') FROM unnest(chosen) AS n (name));
  FOR slice IN EXECUTE format($q$
      SELECT x.queue, array_agg(ROW(0, 0, CASE WHEN x.delay > 0 THEN $1 + x.delay ELSE 0 END, x.group_name,
          x.tenant, x.priority, x.id, $1 + x.expires, x.cost, x.type, x.slot, x.format, x.body
        )::fairlead.delayed ORDER BY x.slot) AS every
      FROM (SELECT c.queue, s.*,
          row_number() OVER (PARTITION BY c.queue ORDER BY s.key, s.id COLLATE "C", s.cluster) AS slot
        FROM (%s) c JOIN fairlead.staged_%s s USING (row)) x
      GROUP BY x.queue, (x.slot - 1) / 1000 ORDER BY x.queue, (x.slot - 1) / 1000 $q$, every, p_number)
      USING now LOOP
    PERFORM fairlead._send_every(fairlead._queue(slice.queue, true), slice.every, now, moment, p_actor);
  END LOOP;
  EXECUTE (SELECT 'DROP TABLE ' || string_agg(format('fairlead.%I', n.name), ', ') FROM unnest(chosen) AS n (name));
END $$;
