-- Who holds leases, who lives, and who is woken.

-- held_token: whether the work with a token is still in a reader's hands
SELECT 1 WHERE fairlead._is_held(%(token)s);

-- held_by: groups in the hands of some holders
SELECT * FROM fairlead._run_held_by(%(queue)s, %(holders)s::bigint[], %(most)s);

-- lease_holders_of: who holds groups of a queue
SELECT h.id, h.host, h.pid, h.stopping FROM fairlead.lease_holders h
WHERE h.id IN (SELECT DISTINCT holder FROM fairlead.groups WHERE queue = %(queue)s AND state = 2);

-- fence: groups with the tokens of who holds them, kept from everybody else until it has settled them
SELECT * FROM fairlead._run_fence(%(ids)s::bigint[]);

-- extend: a longer lease, and for whom it is held, where that is said
SELECT * FROM fairlead._run_extend(%(deadline)s, %(id)s, %(token)s, %(client)s);

-- add_holder: a process that takes work
SELECT * FROM fairlead._run_add_holder(%(host)s, %(pid)s, %(name)s, %(since)s);

-- stopping: what the process holds did not fail: 1, it was told to stop; 2, it holds for others
SELECT fairlead._run_stopping(%(id)s, %(how)s);

-- drop_lease_holders: they hold nothing any more
SELECT fairlead._run_drop_lease_holders(%(ids)s::bigint[]);

-- lock_alive: this session lives as long as it holds this lock; no row: somebody else has it
SELECT pg_backend_pid() WHERE pg_try_advisory_lock_shared(1181641069, %(key)s::int);

-- say_alive: a holder lives as long as this session of the server holds this lock
SELECT fairlead._run_say_alive(%(id)s, %(session)s, %(key)s);

-- dead_lease_holders: those of some holders whose session is gone
SELECT h.id FROM fairlead.lease_holders h WHERE h.id = ANY (%(ids)s::bigint[]) AND NOT EXISTS (
  SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = 1181641069
    AND l.objid::bigint = h.alive AND l.objsubid = 2 AND l.pid = h.session
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()));

-- server_since: when the server was started
SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;

-- add_listener: a store waits for work of a queue
SELECT fairlead._run_add_listener(%(queue)s, %(holder)s);

-- drop_listeners: the store waits for nothing any more
SELECT fairlead._run_drop_listeners(%(ids)s::bigint[]);

-- notify: wake one of those who wait for work of a queue, at the commit
SELECT fairlead._wake(%(queue)s);

-- look: whether a group of a queue can be taken, and when one becomes so by itself
SELECT q.id, q.enabled, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 1),
       least((SELECT min(g.not_before) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 3),
         (SELECT min(d.due) FROM fairlead.delayed d WHERE d.queue = q.id)),
       (SELECT min(g.deadline) FROM fairlead.groups g WHERE g.queue = q.id AND g.state = 2), q.limits,
       q.off_tenants
FROM fairlead.queues q WHERE q.name = %(name)s;

-- ready_besides: whether a group can be taken of another tenant than some, or tenants are to be counted
SELECT 1 FROM fairlead.queues q WHERE q.id = %(queue)s AND (q.fair <> 2
  OR EXISTS (SELECT 1 FROM fairlead.pending_updates n WHERE n.queue = q.id AND n.kind <> 'raised')
  OR EXISTS (SELECT 1 FROM fairlead.tenants t WHERE t.queue = q.id AND t.backlogged = 1
    AND t.name <> ALL (%(besides)s::text[])));

-- still_held: whether a group is held with a token
SELECT 1 FROM fairlead.groups WHERE id = %(id)s AND token = %(token)s AND state = 2;

-- every_lease_holder: all processes that say that they take work
SELECT id, host, name, pid FROM fairlead.lease_holders;
