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
GRANT USAGE ON SCHEMA fairlead
  TO fairlead_sender, fairlead_chooser, fairlead_worker, fairlead_operator, fairlead_viewer;

-- which functions a role may call; those that begin with an underscore the library calls
DO $$
DECLARE
  f record;
BEGIN
  FOR f IN SELECT 'fairlead_' || r.role AS role, p.oid::regprocedure AS called
    FROM (VALUES
      ('sender', '{send,prioritise,begin_dialog,send_on,prioritise_dialog,next_destination,publish}'::text[]),
      ('sender', '{_send,_try_send,_try_send_many,_try_prioritise,_try_begin_dialog,_try_say}'),
      ('sender', '{_try_prioritise_dialog,_choose,_publish,bound_dialog}'),
      ('worker', '{take,more,settle,receive,end_dialog,bind_dialogs,delayed_by}'),
      ('worker', '{_take,_more,_settle,_try_settle,_is_held,_try_end_dialog,_try_set_timer,_try_bind}'),
      ('sender', '{_forget_events,_forget_ids,_forget_ended,_forget_choice_runs}'),
      ('worker', '{_forget_dead}'),
      ('chooser', '{_wake,_queue_length}'),
      ('sender', '{_find,_find_bound,_state}'),
      ('viewer', '{_find,_find_bound,_state}')
    ) AS r (role, names) CROSS JOIN unnest(r.names) AS n (name)
      JOIN pg_catalog.pg_proc p ON p.pronamespace = 'fairlead'::regnamespace AND p.proname = n.name
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', f.called, f.role);
  END LOOP;
END $$;

-- sends, raises, begins dialogs, chooses and publishes; writes no table, and reads no message
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.declared, fairlead.clusters,
  fairlead.destinations, fairlead.versions, fairlead.choice_runs, fairlead.listeners TO fairlead_sender;
GRANT SELECT (id, time, kind, key, cluster, version, stream, destination, address, outcome, sequence, detail,
  said) ON fairlead.journal TO fairlead_sender;

-- chooses in clusters whose policy only the library knows: it writes there where the cluster stands
GRANT fairlead_sender TO fairlead_chooser;
GRANT SELECT, INSERT, UPDATE ON fairlead.clusters, fairlead.bindings TO fairlead_chooser;
GRANT SELECT, INSERT ON fairlead.versions, fairlead.choice_runs, fairlead.published TO fairlead_chooser;
GRANT SELECT, INSERT, DELETE ON fairlead.completions TO fairlead_chooser;
GRANT SELECT ON fairlead.groups, fairlead.message_ids TO fairlead_chooser;
GRANT SELECT (queue) ON fairlead.messages, fairlead.delayed TO fairlead_chooser;
GRANT INSERT ON fairlead.queues, fairlead.groups, fairlead.messages, fairlead.delayed,
  fairlead.pending_updates, fairlead.message_ids TO fairlead_chooser;
GRANT INSERT (id, time, kind, queue, group_name, key, tenant, priority, cost, type, attempt, token,
  actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said)
  ON fairlead.journal TO fairlead_chooser;  -- neither transaction nor login
GRANT UPDATE (fair, completing) ON fairlead.queues TO fairlead_chooser;
GRANT UPDATE (fair) ON fairlead.groups TO fairlead_chooser;  -- locks need it
GRANT UPDATE (at, digest) ON fairlead.message_ids TO fairlead_chooser;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA fairlead TO fairlead_chooser;  -- numbers and tickets

-- takes and settles, too; it writes what the library itself does for queues that tenants share, and for
-- many groups at once
GRANT fairlead_chooser TO fairlead_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON fairlead.groups, fairlead.messages, fairlead.delayed,
  fairlead.pending_updates, fairlead.tenants, fairlead.limit_states, fairlead.lease_holders, fairlead.listeners TO fairlead_worker;
GRANT UPDATE (fair, virtual_time, backlogged, in_service, enabled) ON fairlead.queues TO fairlead_worker;
GRANT SELECT, INSERT ON fairlead.dead TO fairlead_worker;
GRANT DELETE ON fairlead.published TO fairlead_worker;
GRANT SELECT, DELETE ON fairlead.endpoints TO fairlead_worker;
GRANT SELECT ON fairlead.journal, fairlead.epochs TO fairlead_worker;
GRANT SELECT, UPDATE (next, last, looked, failure) ON fairlead.schedules TO fairlead_worker;
GRANT SELECT ON fairlead.queue_status, fairlead.waiting, fairlead.held, fairlead.dead_letters,
  fairlead.delayed_messages, fairlead.services, fairlead.conversations, fairlead.events TO fairlead_worker;

-- sets queues, changes clusters, sends dead letters again, prunes, recovers and checks
GRANT fairlead_worker TO fairlead_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fairlead TO fairlead_operator;
REVOKE INSERT, UPDATE ON fairlead.journal FROM fairlead_operator;  -- but as a chooser; nobody's login
GRANT UPDATE (time) ON fairlead.journal TO fairlead_operator;  -- to recover from a wrong clock
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fairlead TO fairlead_operator;
GRANT SELECT, UPDATE ON SEQUENCE fairlead.numbers TO fairlead_operator;  -- to recover

-- looks: at what queues hold, at dead letters with their bodies, at dialogs, at the journal
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.groups, fairlead.messages,
  fairlead.delayed, fairlead.dead, fairlead.journal, fairlead.epochs, fairlead.listeners,
  fairlead.declared, fairlead.endpoints, fairlead.lease_holders, fairlead.pending_updates,
  fairlead.schedules, fairlead.limit_states TO fairlead_viewer;
GRANT SELECT ON fairlead.queue_status, fairlead.waiting, fairlead.held, fairlead.dead_letters,
  fairlead.delayed_messages, fairlead.services, fairlead.conversations, fairlead.events TO fairlead_viewer;
