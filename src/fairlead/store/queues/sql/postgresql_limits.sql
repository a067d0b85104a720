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
SELECT * FROM fairlead._run_pick_of_lane(
  %(turn)s, %(holder)s, %(taken)s, %(deadline)s, %(queue)s, %(lane)s);

-- pick_of_tenant_besides: take the best group of a tenant that is in none of some lanes
SELECT * FROM fairlead._run_pick_of_tenant_besides(
  %(turn)s, %(holder)s, %(taken)s, %(deadline)s, %(queue)s, %(tenant)s, %(closed)s::text[]);

-- lane_named: the lane and the tenant of a group that is ready
SELECT lane, tenant FROM fairlead.groups WHERE queue = %(queue)s AND name = %(name)s AND state = 1;

-- held_by_lane: how many groups readers hold, by lanes and tenants
SELECT lane, tenant, count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2 GROUP BY lane, tenant;

-- limit_states: how far the rates of a queue's limits are used up
SELECT key, name, until FROM fairlead.limit_states WHERE queue = %(queue)s;

-- set_limit_state: how far one is
SELECT fairlead._run_set_limit_state(%(queue)s, %(key)s::text[], %(name)s::text[], %(until)s::bigint[]);

-- drop_limit_states: what is over is like what never was
SELECT fairlead._run_drop_limit_states(%(queue)s, %(now)s);

-- group_names_after: groups whose lanes are to be set, from an id on
SELECT id, name FROM fairlead.groups WHERE queue = %(queue)s AND id > %(after)s ORDER BY id LIMIT %(most)s;

-- set_lane: the lane of a group
SELECT fairlead._run_set_lane(%(lane)s::text[], %(id)s::bigint[]);
