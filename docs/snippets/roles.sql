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

-- whoever may do more may do all of this, too
GRANT fairlead_sender TO fairlead_chooser;
GRANT fairlead_chooser TO fairlead_worker;
GRANT fairlead_worker TO fairlead_operator;
GRANT USAGE ON SCHEMA fairlead
  TO fairlead_sender, fairlead_chooser, fairlead_worker, fairlead_operator, fairlead_viewer;

-- which functions a role may call; those that begin with an underscore the library calls, and it calls
-- _run_… for what it works out itself: several groups that are settled at once or in part, the work of
-- dead processes, clusters whose policy only the library knows
DO $$
DECLARE
  f record;
BEGIN
  FOR f IN SELECT 'fairlead_' || r.role AS role, p.oid::regprocedure AS called
    FROM (VALUES
      ('sender', '{send,prioritise,begin_dialog,send_on,prioritise_dialog,next_destination,publish}'::text[]),
      ('sender', '{_send,_try_send,_send_many,_try_send_many,_try_prioritise,_try_begin_dialog,_try_say}'),
      ('sender', '{_try_prioritise_dialog,_choose,_publish,bound_dialog,delayed_by_dialog}'),
      ('sender', '{_forget_events,_forget_ids,_forget_ended,_forget_choice_runs,_forget_guaranteed}'),
      ('sender', '{_run_forget_versions}'),
      ('sender', '{_find,_find_bound,_state,_tickets}'),
      ('viewer', '{_find,_find_bound,_state,_tickets,_sent,place_of,_text}'),
      ('chooser', '{_run_lock_cluster,_run_lock_free_cluster,_run_count_choice,_run_set_cluster}'),
      ('chooser', '{_run_set_state,_run_add_version,_run_add_choice_run,_run_draw_ticket}'),
      ('chooser', '{_run_bind,_run_add_published,_run_set_completing,_run_add_completion,_run_completions}'),
      ('chooser', '{_run_add_event,_run_add_message_ids,_run_add_queue,_run_numbers,_run_add_guaranteed}'),
      ('chooser', '{_run_add_decided,_run_begin_bulk_run,_run_end_bulk_run}'),
      ('chooser', '{_run_begin_staging,_run_end_staging,_run_sweep_staging,_run_rank_staged}'),
      ('chooser', '{_run_left_out_staged,_run_decide_staged,_run_send_staged}'),
      ('chooser', '{_run_add_reserved,_run_give_back_turns,_run_over_limit}'),
      ('chooser', '{_run_unbind_opener}'),
      ('worker', '{_run_put_queue_manager,_run_add_channel,_run_channel_locked,_run_count_batch}'),
      ('worker', '{_run_note_channel,_run_add_batch,_run_drop_batch}'),
      ('chooser', '{_run_begin_holding,_run_hold_clusters}'),
      ('worker', '{take,more,settle,receive,end_dialog,bind_dialogs,delayed_by,place_of}'),
      ('worker', '{_bring_up_to_date,_switch_tenant}'),
      ('worker', '{_take,_more,_settle_all,_try_settle_all,_settle_one,_try_settle_one,_take_back,_is_held,_try_end_dialog,_try_set_timer,_try_bind}'),
      ('worker', '{_forget_dead,_wake,_run_add_holder,_run_say_alive,_run_stopping,_run_drop_lease_holders}'),
      ('worker', '{_run_add_listener,_run_drop_listeners,_run_held_by,_run_lapsed,_run_extend,_run_fence}'),
      ('worker', '{_run_queue_locked}'),
      ('worker', '{_run_set_fair,_run_groups_by_name,_run_add_group}'),
      ('worker', '{_run_add_lone,_run_add_message,_run_add_pending_update}'),
      ('worker', '{_run_drop_messages}'),
      ('worker', '{_run_switch,_run_forgive}'),
      ('worker', '{_run_add_acknowledgement,_run_unpublish,_sent,_text}'),
      ('worker', '{_run_add_journal}'),
      ('worker', '{_run_schedule_locked,_run_move_schedule}')
    ) AS r (role, names) CROSS JOIN unnest(r.names) AS n (name)
      JOIN pg_catalog.pg_proc p ON p.pronamespace = 'fairlead'::regnamespace AND p.proname = n.name
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', f.called, f.role);
  END LOOP;
END $$;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fairlead TO fairlead_operator;

-- what they read; nobody writes a table
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.declared, fairlead.clusters,
  fairlead.destinations, fairlead.versions, fairlead.choice_runs, fairlead.listeners, fairlead.files,
  fairlead.bulk_runs, fairlead.queue_managers, fairlead.unwell TO fairlead_sender;
GRANT SELECT ON fairlead._cluster_events TO fairlead_sender;
GRANT SELECT (id, time) ON fairlead.journal TO fairlead_sender;
GRANT SELECT ON fairlead.bindings, fairlead.message_ids, fairlead.guaranteed, fairlead.acknowledgements
  TO fairlead_chooser;
GRANT SELECT (id, name, queue, state, token) ON fairlead.groups TO fairlead_chooser;
GRANT SELECT ON fairlead.groups, fairlead.messages, fairlead.delayed, fairlead.pending_updates,
  fairlead.tenants, fairlead.limit_states, fairlead.lease_holders, fairlead.dead, fairlead.endpoints,
  fairlead.published, fairlead.journal, fairlead.epochs, fairlead.schedules, fairlead.bulk_staging,
  fairlead.channels, fairlead.channel_batches
  TO fairlead_worker;
GRANT SELECT ON fairlead.queue_status, fairlead.waiting, fairlead.held, fairlead.dead_letters,
  fairlead.delayed_messages, fairlead.services, fairlead.conversations, fairlead.events,
  fairlead.machines TO fairlead_worker;
GRANT SELECT ON ALL TABLES IN SCHEMA fairlead TO fairlead_operator;
GRANT INSERT, UPDATE, DELETE ON fairlead.machines TO fairlead_operator;  -- a view: its rows call functions
GRANT SELECT ON SEQUENCE fairlead.numbers TO fairlead_operator;

-- looks: at what queues hold, at dead letters with their bodies, at dialogs, at clusters, at the journal
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.groups, fairlead.messages,
  fairlead.delayed, fairlead.dead, fairlead.journal, fairlead.epochs, fairlead.listeners,
  fairlead.declared, fairlead.lease_holders, fairlead.pending_updates, fairlead.schedules,
  fairlead.limit_states, fairlead.tenants, fairlead.message_ids, fairlead.clusters,
  fairlead.destinations, fairlead.versions, fairlead.choice_runs, fairlead.bindings,
  fairlead.published, fairlead.guaranteed, fairlead.acknowledgements, fairlead.bulk_runs,
  fairlead.bulk_staging, fairlead.bulk_held, fairlead._cluster_events, fairlead.queue_managers, fairlead.channels,
  fairlead.channel_batches, fairlead.unwell
  TO fairlead_viewer;
-- but for the ids of ends: who knows one can act as this end
GRANT SELECT (id, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound) ON fairlead.endpoints TO fairlead_viewer;
GRANT SELECT ON fairlead.queue_status, fairlead.waiting, fairlead.held, fairlead.dead_letters,
  fairlead.delayed_messages, fairlead.services, fairlead.conversations, fairlead.events,
  fairlead.machines TO fairlead_viewer;
