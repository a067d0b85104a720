-- Drop the names of version 2, when no statement is left that began before version 3.
DO $$
DECLARE
  old regprocedure;
BEGIN
  IF to_regclass('fairlead.notices') IS NULL THEN
    RETURN;
  END IF;
  DROP VIEW fairlead.notices, fairlead.sleepers, fairlead.stretches, fairlead.room;
  FOR old IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace
      AND p.proname IN ('_chores', '_forget_stretches', '_held', '_held_by_queue') LOOP
    EXECUTE format('DROP FUNCTION %s', old);
  END LOOP;
END $$;
