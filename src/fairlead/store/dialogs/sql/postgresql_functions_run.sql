-- What is declared.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- A message type, a contract or a service is declared, or declared anew.
CREATE OR REPLACE FUNCTION fairlead._run_declare(p_kind text, p_name text, p_definition text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.declared (kind, name, definition) VALUES (p_kind, p_name, p_definition)
  ON CONFLICT (kind, name) DO UPDATE SET definition = excluded.definition;
END $$;
