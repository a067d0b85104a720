-- What the library calls of dialogs: in a transaction that goes on after a refusal, what was refused comes
-- as a row, with its SQLSTATE, and nothing of it was done.

CREATE OR REPLACE FUNCTION fairlead._try_begin_dialog(
  p_service text, p_far text, p_contract text, p_related text, p_group text, p_lifetime bigint,
  p_actor text, OUT o_end text, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  o_end := fairlead._row_of(fairlead._begin_dialog(p_service, p_far, p_contract, p_related, p_group,
    p_lifetime, p_actor));
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL008' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION fairlead._try_say(
  p_handle text, p_type text, p_format bigint, p_body bytea, p_fault text, p_revision bigint,
  p_actor text, OUT o_key text, OUT o_revision bigint, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT s.o_key, s.o_revision INTO o_key, o_revision
    FROM fairlead._say(p_handle, p_type, p_format, p_body, p_fault, p_revision, p_actor) s;
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL002' OR SQLSTATE 'FL008' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION fairlead._try_end_dialog(
  p_handle text, p_code bigint, p_description text, p_cleanup boolean, p_given bigint[], p_actor text,
  OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._end_dialog(p_handle, p_code, p_description, p_cleanup, p_given, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL008' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION fairlead._try_set_timer(
  p_handle text, p_after bigint, p_actor text, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._set_timer(p_handle, p_after, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL008' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION fairlead._try_bind(
  p_one text, p_other text, OUT o_state text, OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._bind(p_one, p_other);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL008' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION fairlead._try_prioritise_dialog(
  p_handle text, p_priority integer, p_actor text, OUT o_raised boolean, OUT o_state text,
  OUT o_line text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  o_raised := fairlead._prioritise_dialog(p_handle, p_priority, p_actor);
EXCEPTION WHEN SQLSTATE 'FL001' OR SQLSTATE 'FL008' THEN
  o_state := SQLSTATE;
  o_line := SQLERRM;
END $$;
