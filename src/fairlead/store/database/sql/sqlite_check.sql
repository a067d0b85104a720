-- What a check of the store looks for, and how it mends it. A statement that looks gives the place, how
-- many there are, and one of them; it may read all there is.

-- find_lost_messages: messages whose group is gone: no reader would ever get them
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead_messages m JOIN fairlead_queues q ON q.id = m.queue
WHERE NOT EXISTS (SELECT 1 FROM fairlead_groups g WHERE g.id = m.group_id) GROUP BY q.name ORDER BY q.name;

-- lost_messages: the same, with what the journal says of the group
SELECT q.name, m.id, m.key, j.group_name, j.tenant, m.expires, m.cost, m.type, m.conversation, m.format,
       m.body
FROM fairlead_messages m JOIN fairlead_queues q ON q.id = m.queue
  LEFT JOIN fairlead_journal j ON j.id = abs(m.id) AND j.kind IN ('sent', 'arrived')
WHERE NOT EXISTS (SELECT 1 FROM fairlead_groups g WHERE g.id = m.group_id)
ORDER BY q.name, abs(m.id) LIMIT :most;

-- find_empty_groups: groups that say that a message waits, and have none
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead_groups g JOIN fairlead_queues q ON q.id = g.queue
WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
  AND NOT EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
  AND NOT EXISTS (SELECT 1 FROM fairlead_notices n WHERE n.group_id = g.id)
GROUP BY q.name ORDER BY q.name;

-- mend_empty_groups: they end
DELETE FROM fairlead_groups WHERE id IN (SELECT g.id FROM fairlead_groups g
  WHERE g.state <> 2 AND g.head <> 0 AND g.number = 0
    AND NOT EXISTS (SELECT 1 FROM fairlead_messages m WHERE m.group_id = g.id)
    AND NOT EXISTS (SELECT 1 FROM fairlead_notices n WHERE n.group_id = g.id));

-- find_unbounded_work: work that nobody would ever take back
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead_groups g JOIN fairlead_queues q ON q.id = g.queue
WHERE g.state = 2 AND (g.deadline IS NULL
    OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead_holders h WHERE h.id = g.holder))
GROUP BY q.name ORDER BY q.name;

-- mend_unbounded_work: its lease is over
UPDATE fairlead_groups AS g SET deadline = :now, token = coalesce(g.token, (SELECT max(id) FROM fairlead_journal))
WHERE g.state = 2 AND (g.deadline IS NULL
    OR g.holder > 0 AND NOT EXISTS (SELECT 1 FROM fairlead_holders h WHERE h.id = g.holder));

-- every_holder: all processes that say that they take work
SELECT id, host, name, pid FROM fairlead_holders;

-- find_future_events: events that are later than now: a clock was wrong when they were written
SELECT 'journal', count(*), min(id) FROM fairlead_journal WHERE time > :limit;

-- mend_future_events: they are as late as they can be
UPDATE fairlead_journal SET time = :now WHERE time > :limit;

-- find_future_groups: groups that came, were raised or were taken later than now
SELECT 'queue ' || q.name, count(*), coalesce(min(g.name), '') FROM fairlead_groups g JOIN fairlead_queues q ON q.id = g.queue
WHERE max(g.arrived, g.entered, g.was_entered, coalesce(g.taken, 0)) > :limit GROUP BY q.name ORDER BY q.name;

-- mend_future_groups: the same
UPDATE fairlead_groups SET arrived = min(arrived, :now), entered = min(entered, :now),
  was_entered = min(was_entered, :now), taken = min(taken, :now),
  deadline = deadline - max(taken - :now, 0)
WHERE max(arrived, entered, was_entered, coalesce(taken, 0)) > :limit;

-- find_future_messages: messages that came later than now
SELECT 'queue ' || q.name, count(*), min(m.key) FROM fairlead_messages m JOIN fairlead_queues q ON q.id = m.queue
WHERE m.arrived > :limit GROUP BY q.name ORDER BY q.name;

-- mend_future_messages: the same
UPDATE fairlead_messages SET arrived = :now WHERE arrived > :limit;

-- find_future_raises: raises that are later than now
SELECT 'queue ' || q.name, count(*), '' FROM fairlead_notices n JOIN fairlead_queues q ON q.id = n.queue
WHERE n.at > :limit GROUP BY q.name ORDER BY q.name;

-- mend_future_raises: the same
UPDATE fairlead_notices SET at = :now WHERE at > :limit;

-- find_future_ids: ids of messages that were used later than now, and so are known for too long
SELECT 'ids', count(*), min(key) FROM fairlead_message_ids WHERE at > :limit;

-- mend_future_ids: the same
UPDATE fairlead_message_ids SET at = :now WHERE at > :limit;

-- find_future_resets: clusters whose next reset is further away than resets are from each other
SELECT 'cluster ' || name, 1, '' FROM fairlead_clusters
WHERE reset_every > 0 AND reset_due - reset_every > :limit ORDER BY name;

-- mend_future_resets: it is as far away as resets are from each other
UPDATE fairlead_clusters SET reset_due = :now + reset_every, due = min(due, :now + reset_every)
WHERE reset_every > 0 AND reset_due - reset_every > :limit;

-- find_future_versions: clusters that changed later than now, so that what they were is never forgotten
SELECT 'cluster ' || c.name, count(*), min(s.version) FROM fairlead_stretches s JOIN fairlead_clusters c ON c.id = s.cluster
WHERE s.at > :limit GROUP BY c.name ORDER BY c.name;

-- mend_future_versions: the same
UPDATE fairlead_stretches SET at = :now WHERE at > :limit;

-- find_lost_published: what a cluster waits for, and is not there any more
SELECT 'cluster ' || c.name, count(*), min(p.key) FROM fairlead_published p JOIN fairlead_clusters c ON c.id = p.cluster
WHERE (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_messages)
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_delayed)
GROUP BY c.name ORDER BY c.name;

-- complete_lost_published: it is done
INSERT INTO fairlead_completions (cluster, destination, part, version)
SELECT p.cluster, p.destination, p.part, p.version FROM fairlead_published p
WHERE (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_messages)
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_delayed);

-- mend_lost_published: nobody waits for it
DELETE FROM fairlead_published AS p
WHERE (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_messages)
  AND (p.queue, p.key) NOT IN (SELECT queue, key FROM fairlead_delayed);
