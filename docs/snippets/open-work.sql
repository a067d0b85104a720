SELECT DISTINCT a.pid, a.usename, a.state, a.xact_start
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE a.datname = current_database() AND l.relation = 'fairlead.groups'::regclass AND l.mode = 'RowExclusiveLock'
  AND a.pid <> pg_backend_pid()
ORDER BY a.xact_start;
