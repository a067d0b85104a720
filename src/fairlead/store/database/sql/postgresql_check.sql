-- What a check of the store looks for, and how it mends it. A statement that looks gives the place, how
-- many there are, and one of them; it may read all there is.

-- find_lost_messages: messages whose group is gone: no reader would ever get them
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead.messages m JOIN fairlead.queues q ON q.id = m.queue
WHERE NOT EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.id = m.group_id) GROUP BY q.name ORDER BY q.name;

-- lost_messages: the same, with what the journal says of the group
SELECT q.name, m.id, m.key, j.group_name, j.tenant, m.expires, m.cost, m.type, m.conversation, m.format,
       m.body
FROM fairlead.messages m JOIN fairlead.queues q ON q.id = m.queue
  LEFT JOIN fairlead.journal j ON j.id = abs(m.id) AND j.kind IN ('sent', 'arrived')
WHERE NOT EXISTS (SELECT 1 FROM fairlead.groups g WHERE g.id = m.group_id)
ORDER BY q.name, abs(m.id) LIMIT %(most)s FOR UPDATE OF m;

-- find_empty_groups: groups that say that a message waits, and have none
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead.groups g JOIN fairlead.queues q ON q.id = g.queue
WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
  AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
  AND NOT EXISTS (SELECT 1 FROM fairlead.notices n WHERE n.group_id = g.id)
GROUP BY q.name ORDER BY q.name;

-- mend_empty_groups: they end
DELETE FROM fairlead.groups WHERE id = ANY (ARRAY (SELECT g.id FROM fairlead.groups g
  WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
    AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id)
    AND NOT EXISTS (SELECT 1 FROM fairlead.notices n WHERE n.group_id = g.id)
  FOR UPDATE SKIP LOCKED));

-- find_unbounded_work: work that nobody would ever take back
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead.groups g JOIN fairlead.queues q ON q.id = g.queue
WHERE g.state = 2 AND (g.deadline IS NULL
    OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead.holders h WHERE h.id = g.holder))
GROUP BY q.name ORDER BY q.name;

-- mend_unbounded_work: its lease is over
UPDATE fairlead.groups g SET deadline = %(now)s, token = coalesce(g.token, nextval('fairlead.numbers'))
WHERE g.state = 2 AND (g.deadline IS NULL
    OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead.holders h WHERE h.id = g.holder));

-- every_holder: all processes that say that they take work
SELECT id, host, name, pid FROM fairlead.holders;

-- find_future_events: events that are later than now: a clock was wrong when they were written
SELECT 'journal', count(*), min(id)::text FROM fairlead.journal WHERE time > %(limit)s;

-- mend_future_events: they are as late as they can be
UPDATE fairlead.journal SET time = %(now)s WHERE time > %(limit)s;

-- find_future_groups: groups that came, were raised or were taken later than now
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead.groups g JOIN fairlead.queues q ON q.id = g.queue
WHERE greatest(g.arrived, g.entered, g.was_entered, g.taken) > %(limit)s GROUP BY q.name ORDER BY q.name;

-- mend_future_groups: the same
UPDATE fairlead.groups SET arrived = least(arrived, %(now)s), entered = least(entered, %(now)s),
  was_entered = least(was_entered, %(now)s), taken = least(taken, %(now)s),
  deadline = deadline - greatest(taken - %(now)s, 0)
WHERE greatest(arrived, entered, was_entered, taken) > %(limit)s;

-- find_future_messages: messages that came later than now
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead.messages m JOIN fairlead.queues q ON q.id = m.queue
WHERE m.arrived > %(limit)s GROUP BY q.name ORDER BY q.name;

-- mend_future_messages: the same
UPDATE fairlead.messages SET arrived = %(now)s WHERE arrived > %(limit)s;

-- find_future_raises: raises that are later than now
SELECT 'queue ' || q.name, count(*), '' FROM fairlead.notices n JOIN fairlead.queues q ON q.id = n.queue
WHERE n.at > %(limit)s GROUP BY q.name ORDER BY q.name;

-- mend_future_raises: the same
UPDATE fairlead.notices SET at = %(now)s WHERE at > %(limit)s;

-- find_future_ids: ids of messages that were used later than now, and so are known for too long
SELECT 'ids', count(*), min(key) FROM fairlead.message_ids WHERE at > %(limit)s;

-- mend_future_ids: the same
UPDATE fairlead.message_ids SET at = %(now)s WHERE at > %(limit)s;

-- find_future_resets: clusters whose next reset is further away than resets are from each other
SELECT 'cluster ' || name, 1, '' FROM fairlead.clusters
WHERE reset_every > 0 AND reset_due - reset_every > %(limit)s ORDER BY name;

-- mend_future_resets: it is as far away as resets are from each other
UPDATE fairlead.clusters SET reset_due = %(now)s + reset_every, due = least(due, %(now)s + reset_every)
WHERE reset_every > 0 AND reset_due - reset_every > %(limit)s;

-- find_future_versions: clusters that changed later than now, so that what they were is never forgotten
SELECT 'cluster ' || c.name, count(*), min(s.version)::text FROM fairlead.stretches s JOIN fairlead.clusters c ON c.id = s.cluster
WHERE s.at > %(limit)s GROUP BY c.name ORDER BY c.name;

-- mend_future_versions: the same
UPDATE fairlead.stretches SET at = %(now)s WHERE at > %(limit)s;

-- find_lost_published: what a cluster waits for, and is not there any more
SELECT 'cluster ' || c.name, count(*), min(p.key) FROM fairlead.published p JOIN fairlead.clusters c ON c.id = p.cluster
WHERE NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.queue = p.queue AND m.key = p.key)
  AND NOT EXISTS (SELECT 1 FROM fairlead.delayed d WHERE d.queue = p.queue AND d.key = p.key)
GROUP BY c.name ORDER BY c.name;

-- complete_lost_published: it is done
INSERT INTO fairlead.completions (cluster, destination, part, version)
SELECT p.cluster, p.destination, p.part, p.version FROM fairlead.published p
WHERE NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.queue = p.queue AND m.key = p.key)
  AND NOT EXISTS (SELECT 1 FROM fairlead.delayed d WHERE d.queue = p.queue AND d.key = p.key);

-- mend_lost_published: nobody waits for it
DELETE FROM fairlead.published p
WHERE NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.queue = p.queue AND m.key = p.key)
  AND NOT EXISTS (SELECT 1 FROM fairlead.delayed d WHERE d.queue = p.queue AND d.key = p.key);

-- find_gone_sleepers: processes that are gone, and that every sender notifies
SELECT 'queue ' || q.name, count(*), '' FROM fairlead.sleepers s JOIN fairlead.queues q ON q.id = s.queue
WHERE NOT EXISTS (SELECT 1 FROM fairlead.holders h WHERE h.id = s.holder) GROUP BY q.name ORDER BY q.name;

-- mend_gone_sleepers: nobody notifies them
DELETE FROM fairlead.sleepers s WHERE NOT EXISTS (SELECT 1 FROM fairlead.holders h WHERE h.id = s.holder);
