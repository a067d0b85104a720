-- Drop the functions of version 5 that have other arguments now, when no statement is left that began before.
DO $$
DECLARE
  old regprocedure;
BEGIN
  FOR old IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace
      AND (p.proname, p.pronargs) IN (('_arrive', 12), ('_put_back', 5), ('_end', 8), ('_settle', 8),
        ('_try_settle', 8), ('_take', 6)) LOOP
    EXECUTE format('DROP FUNCTION %s', old);
  END LOOP;
END $$;
