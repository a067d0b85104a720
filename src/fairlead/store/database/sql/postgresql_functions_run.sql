-- What the library needs whatever it does on PostgreSQL: numbers, and whether it may do it at all.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- So many numbers for events.
CREATE OR REPLACE FUNCTION fairlead._run_numbers(p_count bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._check_count(p_count);
  RETURN QUERY
    SELECT nextval('fairlead.numbers') FROM generate_series(1, p_count);
END $$;

-- Does nothing, and is refused to whoever is no operator.
CREATE OR REPLACE FUNCTION fairlead._run_may_operate()
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
END $$;

-- Nobody draws more numbers than a verb can need.
CREATE OR REPLACE FUNCTION fairlead._check_count(p_count bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_count > 10000000 THEN
    PERFORM fairlead._refuse(format('count: found %s, allowed: at most 10000000', p_count));
  END IF;
END $$;
