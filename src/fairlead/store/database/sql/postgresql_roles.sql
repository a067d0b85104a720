DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY '{fairlead_sender,fairlead_chooser,fairlead_worker,fairlead_operator,fairlead_viewer}'::text[]
  LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = role) THEN
      EXECUTE format('CREATE ROLE %I', role);
    END IF;
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA fairlead FROM %I', role);
    EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA fairlead FROM %I', role);
    EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fairlead FROM %I', role);
  END LOOP;
END $$;

