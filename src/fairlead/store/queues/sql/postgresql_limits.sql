-- The limits of queues.

-- lanes: those of a queue in which a group can be taken, from one to the next by the index
WITH RECURSIVE l (lane) AS (
  SELECT (SELECT min(lane) FROM fairlead.groups WHERE queue = %(queue)s AND state = 1 AND lane IS NOT NULL)
  UNION ALL
  SELECT (SELECT min(g.lane) FROM fairlead.groups g WHERE g.queue = %(queue)s AND g.state = 1 AND g.lane > l.lane)
  FROM l WHERE l.lane IS NOT NULL)
SELECT lane FROM l WHERE lane IS NOT NULL;

-- held_by_lane: how many groups readers hold, by lanes and tenants
SELECT lane, tenant, count(*) FROM fairlead.groups WHERE queue = %(queue)s AND state = 2 GROUP BY lane, tenant;

-- limit_states: how far the rates of a queue's limits are used up
SELECT key, name, until FROM fairlead.limit_states WHERE queue = %(queue)s;

-- group_names_after: groups whose lanes are to be set, from an id on
SELECT id, name FROM fairlead.groups WHERE queue = %(queue)s AND id > %(after)s ORDER BY id LIMIT %(most)s;

-- set_lane: the lane of a group
SELECT fairlead._run_set_lane(%(lane)s::text[], %(id)s::bigint[]);
