-- The limits of queues.

-- lanes: those of a queue in which a group can be taken, from one to the next by the index
WITH RECURSIVE l (lane) AS (
  SELECT (SELECT min(lane) FROM fairlead.groups WHERE queue = %(queue)s AND state = 1 AND lane IS NOT NULL)
  UNION ALL
  SELECT (SELECT min(g.lane) FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1 AND g.lane > l.lane)
  FROM l WHERE l.lane IS NOT NULL)
SELECT lane FROM l WHERE lane IS NOT NULL;

-- first_of_lane: the place of the best group of a lane
SELECT k1, k2 FROM fairlead.groups WHERE queue = %(queue)s AND lane = %(lane)s AND state = 1
ORDER BY k1, k2 LIMIT 1;

-- pick_of_lane: take the best group of a lane
UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
  was_number = number, was_turn = %(turn)s, priority = -1, entered = 0, number = 0, token = nextval('fairlead.numbers'),
  holder = %(holder)s, taken = %(taken)s, deadline = %(deadline)s
WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = %(queue)s AND lane = %(lane)s AND state = 1
  ORDER BY k1, k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id, name, tenant, was_priority, releases, token, k1, k2;

-- pick_of_tenant_besides: take the best group of a tenant that is in none of some lanes
UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
  was_number = number, was_turn = %(turn)s, priority = -1, entered = 0, number = 0, token = nextval('fairlead.numbers'),
  holder = %(holder)s, taken = %(taken)s, deadline = %(deadline)s
WHERE id = ANY (ARRAY (SELECT id FROM fairlead.groups WHERE queue = %(queue)s AND tenant = %(tenant)s AND state = 1
  AND fair = 1 AND lane <> ALL (%(closed)s::text[]) ORDER BY k1, k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id, name, tenant, was_priority, releases, token, k1, k2;

-- lane_named: the lane and the tenant of a group that is ready
SELECT lane, tenant FROM fairlead.groups WHERE queue = %(queue)s AND name = %(name)s AND state = 1;

-- held_by_lane: how many groups readers hold, by lanes and tenants
SELECT lane, tenant, count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2 GROUP BY lane, tenant;

-- limit_states: how far the rates of a queue's limits are used up
SELECT key, name, until FROM fairlead.limit_states WHERE queue = %(queue)s;

-- set_limit_state: how far one is
INSERT INTO fairlead.limit_states (queue, key, name, until)
SELECT %(queue)s, * FROM unnest(%(key)s::text[], %(name)s::text[], %(until)s::bigint[])
ON CONFLICT (queue, key, name) DO UPDATE SET until = excluded.until;

-- drop_limit_states: what is over is like what never was
DELETE FROM fairlead.limit_states WHERE queue = %(queue)s AND until <= %(now)s;

-- group_names_after: groups whose lanes are to be set, from an id on
SELECT id, name FROM fairlead.groups WHERE queue = %(queue)s AND id > %(after)s ORDER BY id LIMIT %(most)s;

-- set_lane: the lane of a group
UPDATE fairlead.groups g SET lane = r.lane
FROM unnest(%(lane)s::text[], %(id)s::bigint[]) AS r (lane, id) WHERE g.id = r.id;
