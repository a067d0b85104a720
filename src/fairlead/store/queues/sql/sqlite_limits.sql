-- The limits of queues.

-- lanes: those of a queue in which a group can be taken, from one to the next by the index
WITH RECURSIVE l (lane) AS (
  SELECT (SELECT min(lane) FROM fairlead_groups WHERE queue = :queue AND state = 1 AND lane IS NOT NULL)
  UNION ALL
  SELECT (SELECT min(g.lane) FROM fairlead_groups g WHERE g.queue = :queue AND g.state = 1 AND g.lane > l.lane)
  FROM l WHERE l.lane IS NOT NULL)
SELECT lane FROM l WHERE lane IS NOT NULL;

-- first_of_lane: the place of the best group of a lane
SELECT k1, k2 FROM fairlead_groups WHERE queue = :queue AND lane = :lane AND state = 1
ORDER BY k1, k2 LIMIT 1;

-- pick_of_lane: take the best group of a lane
SELECT id, name, tenant, priority, releases, 0, k1, k2 FROM fairlead_groups
WHERE queue = :queue AND lane = :lane AND state = 1 ORDER BY k1, k2 LIMIT 1;

-- pick_of_tenant_besides: take the best group of a tenant that is in none of some lanes
SELECT id, name, tenant, priority, releases, 0, k1, k2 FROM fairlead_groups
WHERE queue = :queue AND tenant = :tenant AND state = 1 AND fair = 1 AND lane NOT IN (SELECT value FROM json_each(:closed))
ORDER BY k1, k2 LIMIT 1;

-- lane_named: the lane and the tenant of a group that is ready
SELECT lane, tenant FROM fairlead_groups WHERE queue = :queue AND name = :name AND state = 1;

-- held_by_lane: how many groups readers hold, by lanes and tenants
SELECT lane, tenant, count(*) FROM fairlead_groups WHERE queue = :queue AND state = 2 GROUP BY lane, tenant;

-- limit_states: how far the rates of a queue's limits are used up
SELECT key, name, until FROM fairlead_limit_states WHERE queue = :queue;

-- set_limit_state: how far one is
INSERT INTO fairlead_limit_states (queue, key, name, until) VALUES (:queue, :key, :name, :until)
ON CONFLICT (queue, key, name) DO UPDATE SET until = excluded.until;

-- drop_limit_states: what is over is like what never was
DELETE FROM fairlead_limit_states WHERE queue = :queue AND until <= :now;

-- group_names_after: groups whose lanes are to be set, from an id on
SELECT id, name FROM fairlead_groups WHERE queue = :queue AND id > :after ORDER BY id LIMIT :most;

-- set_lane: the lane of a group
UPDATE fairlead_groups SET lane = :lane WHERE id = :id;
