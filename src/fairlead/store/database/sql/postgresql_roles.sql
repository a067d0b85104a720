DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY '{fairlead_sender,fairlead_worker,fairlead_operator,fairlead_viewer}'::text[]
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
  TO fairlead_sender, fairlead_worker, fairlead_operator, fairlead_viewer;

-- sends and raises; reads no message
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.groups, fairlead.message_ids,
  fairlead.listeners TO fairlead_sender;
GRANT SELECT (queue) ON fairlead.messages, fairlead.delayed TO fairlead_sender;
GRANT SELECT (id, time) ON fairlead.journal TO fairlead_sender;
GRANT INSERT ON fairlead.queues, fairlead.groups, fairlead.messages, fairlead.delayed,
  fairlead.pending_updates, fairlead.message_ids TO fairlead_sender;
GRANT INSERT (id, time, kind, queue, group_name, key, tenant, priority, cost, type, attempt, token,
  actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said)
  ON fairlead.journal TO fairlead_sender;  -- not the transaction, which orders events
GRANT UPDATE (fair) ON fairlead.queues, fairlead.groups TO fairlead_sender;  -- locks need it
GRANT UPDATE (at, digest) ON fairlead.message_ids TO fairlead_sender;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA fairlead TO fairlead_sender;  -- numbers and tickets

-- begins dialogs and speaks in them
GRANT SELECT ON fairlead.declared TO fairlead_sender;
GRANT SELECT, INSERT, UPDATE (sent) ON fairlead.endpoints TO fairlead_sender;

-- chooses in clusters, and publishes; who chooses, counts
GRANT SELECT, INSERT, UPDATE ON fairlead.clusters, fairlead.bindings TO fairlead_sender;
GRANT SELECT ON fairlead.destinations TO fairlead_sender;
GRANT SELECT, INSERT ON fairlead.versions, fairlead.choice_runs, fairlead.published TO fairlead_sender;
GRANT SELECT, INSERT, DELETE ON fairlead.completions TO fairlead_sender;
GRANT SELECT (kind, key, cluster, version, stream, destination, address, outcome, sequence, detail,
  said) ON fairlead.journal TO fairlead_sender;
GRANT UPDATE (completing) ON fairlead.queues TO fairlead_sender;

-- takes and settles, too
GRANT fairlead_sender TO fairlead_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON fairlead.groups, fairlead.messages, fairlead.delayed,
  fairlead.pending_updates, fairlead.tenants, fairlead.limit_states, fairlead.lease_holders, fairlead.listeners TO fairlead_worker;
GRANT UPDATE (fair, virtual_time, backlogged, in_service, enabled) ON fairlead.queues TO fairlead_worker;
GRANT SELECT, INSERT ON fairlead.dead TO fairlead_worker;
GRANT DELETE ON fairlead.published TO fairlead_worker;
GRANT UPDATE, DELETE ON fairlead.endpoints TO fairlead_worker;
GRANT SELECT ON fairlead.journal, fairlead.epochs TO fairlead_worker;
GRANT SELECT, UPDATE (next, last, looked, failure) ON fairlead.schedules TO fairlead_worker;
GRANT SELECT ON fairlead.queue_status, fairlead.waiting, fairlead.held, fairlead.dead_letters,
  fairlead.delayed_messages, fairlead.services, fairlead.conversations, fairlead.events TO fairlead_worker;

-- sets queues, changes clusters, sends dead letters again, prunes, recovers and checks
GRANT fairlead_worker TO fairlead_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fairlead TO fairlead_operator;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fairlead TO fairlead_operator;
GRANT SELECT, UPDATE ON SEQUENCE fairlead.numbers TO fairlead_operator;  -- to recover

-- looks: at what queues hold, at dead letters with their bodies, at dialogs, at the journal
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.groups, fairlead.messages,
  fairlead.delayed, fairlead.dead, fairlead.journal, fairlead.epochs, fairlead.listeners,
  fairlead.declared, fairlead.endpoints, fairlead.lease_holders, fairlead.pending_updates,
  fairlead.schedules, fairlead.limit_states TO fairlead_viewer;
GRANT SELECT ON fairlead.queue_status, fairlead.waiting, fairlead.held, fairlead.dead_letters,
  fairlead.delayed_messages, fairlead.services, fairlead.conversations, fairlead.events TO fairlead_viewer;
