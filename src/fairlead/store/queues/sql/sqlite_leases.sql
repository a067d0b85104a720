-- Who holds leases, who lives, and who is woken.

-- held_token: whether the work with a token is still in a reader's hands
SELECT 1 FROM fairlead_groups WHERE token = :token AND state = 2 LIMIT 1;

-- look: whether a group of a queue can be taken, and when one becomes so by itself
SELECT q.id, q.enabled, 0, EXISTS (SELECT 1 FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 1),
       (SELECT min(at) FROM (
         SELECT min(g.not_before) AS at FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 3
         UNION ALL SELECT min(d.due) FROM fairlead_delayed d WHERE d.queue = q.id)),
       (SELECT min(g.deadline) FROM fairlead_groups g WHERE g.queue = q.id AND g.state = 2), q.limits,
       q.off_tenants
FROM fairlead_queues q WHERE q.name = :name;

-- ready_besides: whether a group can be taken of another tenant than some, or tenants are to be counted
SELECT 1 FROM fairlead_queues q WHERE q.id = :queue AND (q.fair <> 2
  OR EXISTS (SELECT 1 FROM fairlead_pending_updates n WHERE n.queue = q.id AND n.kind <> 'raised')
  OR EXISTS (SELECT 1 FROM fairlead_tenants t WHERE t.queue = q.id AND t.backlogged = 1
    AND t.name NOT IN (SELECT value FROM json_each(:besides))));

-- held_by: groups in the hands of some holders
SELECT id, token, taken FROM fairlead_groups
WHERE queue = :queue AND state = 2 AND holder IN (SELECT value FROM json_each(:holders))
LIMIT :most;

-- lease_holders_of: who holds groups of a queue
SELECT h.id, h.host, h.pid, h.stopping FROM fairlead_lease_holders h
WHERE h.id IN (SELECT DISTINCT holder FROM fairlead_groups WHERE queue = :queue AND state = 2);

-- fence: groups with the tokens of who holds them, kept from everybody else until it has settled them
SELECT id, queue, name, tenant, token, was_priority, was_entered, was_number, was_turn, releases,
  failures, taken, holder
FROM fairlead_groups WHERE id IN (SELECT value FROM json_each(:ids));

-- extend: a longer lease, and for whom it is held, where that is said
UPDATE fairlead_groups SET deadline = :deadline, client = coalesce(:client, client)
WHERE id = :id AND token = :token AND state = 2
RETURNING id;

-- add_holder: a process that takes work
INSERT INTO fairlead_lease_holders (host, pid, name, since) VALUES (:host, :pid, :name, :since)
RETURNING id;

-- stopping: what the process holds did not fail: 1, it was told to stop; 2, it holds for others
UPDATE fairlead_lease_holders SET stopping = :how WHERE id = :id;

-- drop_lease_holders: they hold nothing any more
DELETE FROM fairlead_lease_holders WHERE id IN (SELECT value FROM json_each(:ids)) AND NOT EXISTS
  (SELECT 1 FROM fairlead_groups g WHERE g.state = 2 AND g.holder = fairlead_lease_holders.id);

-- still_held: whether a group is held with a token
SELECT 1 FROM fairlead_groups WHERE id = :id AND token = :token AND state = 2;

-- every_lease_holder: all processes that say that they take work
SELECT id, host, name, pid FROM fairlead_lease_holders;

-- drop_listeners: nobody is notified
