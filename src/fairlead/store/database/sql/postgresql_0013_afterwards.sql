-- Drop the functions of version 12 that have other arguments now, when no statement is left that began before.
DO $$
DECLARE
  old regprocedure;
BEGIN
  FOR old IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace
      AND (p.proname, p.pronargs) IN (('_run_add_published', 6), ('_run_add_queue', 3)) LOOP
    EXECUTE format('DROP FUNCTION %s', old);
  END LOOP;
END $$;
