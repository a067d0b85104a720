-- What becomes of schedules.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- One; nobody else sends for it until this ends.
CREATE OR REPLACE FUNCTION fairlead._run_schedule_locked(p_name text)
RETURNS TABLE (
  o_name text, o_queue text, o_definition text, o_next bigint, o_last bigint, o_looked bigint,
  o_paused bigint, o_failure text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead.schedules
      WHERE name = p_name
    FOR NO KEY UPDATE SKIP LOCKED;
END $$;

-- A schedule is declared, or declared anew.
CREATE OR REPLACE FUNCTION fairlead._run_put_schedule(
  p_name text, p_queue text, p_definition text, p_next bigint, p_looked bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.schedules (name, queue, definition, next, looked)
  VALUES (p_name, p_queue, p_definition, p_next, p_looked)
  ON CONFLICT (name) DO UPDATE SET queue = excluded.queue, definition = excluded.definition,
    next = excluded.next, looked = excluded.looked, failure = NULL;
END $$;

-- The tick of a schedule was sent, or passed over.
CREATE OR REPLACE FUNCTION fairlead._run_move_schedule(
  p_next bigint, p_last bigint, p_looked bigint, p_failure text, p_name text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.schedules s
    SET next = p_next, last = coalesce(p_last, s.last), looked = p_looked, failure = p_failure
  WHERE name = p_name;
END $$;

-- A schedule sends nothing until it is resumed, or it sends again.
CREATE OR REPLACE FUNCTION fairlead._run_pause_schedule(
  p_paused bigint, p_next bigint, p_looked bigint, p_name text)
RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    UPDATE fairlead.schedules SET paused = p_paused, next = p_next, looked = p_looked
    WHERE name = p_name AND paused <> p_paused
    RETURNING name;
END $$;

-- A schedule is gone.
CREATE OR REPLACE FUNCTION fairlead._run_drop_schedule(p_name text)
RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    DELETE FROM fairlead.schedules WHERE name = p_name RETURNING name;
END $$;
