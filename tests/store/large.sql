-- All that can grow, {n} rows of each, from the numbers k in n. Tables are named as on PostgreSQL.

-- groups that are ready; held; parked; of tenants
INSERT INTO fairlead.groups
  (id, queue, name, tenant, fair, state, k1, k2, head, arrived, token, holder, taken, deadline, not_before)
SELECT k, 1, 'g' || k, '', 0, 1, 1, k, k, 1, NULL, NULL, NULL, NULL, NULL
FROM n;

INSERT INTO fairlead.groups
  (id, queue, name, tenant, fair, state, k1, k2, head, arrived, token, holder, taken, deadline, not_before)
SELECT {n} + k, 1, 'h' || k, '', 0, 2, 1, k, k, 1, k, k, 1, {later} + k, NULL
FROM n WHERE k <= {held};

INSERT INTO fairlead.groups
  (id, queue, name, tenant, fair, state, k1, k2, head, arrived, token, holder, taken, deadline, not_before)
SELECT 2 * {n} + k, 1, 'p' || k, '', 0, 3, 1, k, k, 1, NULL, NULL, NULL, NULL, {later} + k
FROM n;

INSERT INTO fairlead.groups
  (id, queue, name, tenant, fair, state, k1, k2, head, arrived, token, holder, taken, deadline, not_before)
SELECT 3 * {n} + k, 2, 't' || k, 't' || k, 1, 1, 1, k, k, 1, NULL, NULL, NULL, NULL, NULL
FROM n;

INSERT INTO fairlead.messages
  (id, queue, group_id, key, arrived, cost, conversation, format, body)
SELECT k, 1, k, 'm-' || k, 1, 1, CASE k % 4 WHEN 1 THEN NULL ELSE k END, 1, {body}
FROM n;

INSERT INTO fairlead.messages
  (id, queue, group_id, key, arrived, cost, conversation, format, body)
SELECT {n} + k, 1, {n} + k, 'm-' || ({n} + k), 1, 1, NULL, 1, {body}
FROM n WHERE k <= {held};

INSERT INTO fairlead.messages
  (id, queue, group_id, key, arrived, cost, conversation, format, body)
SELECT 2 * {n} + k, 1, 2 * {n} + k, 'm-' || (2 * {n} + k), 1, 1, NULL, 1, {body}
FROM n;

INSERT INTO fairlead.messages
  (id, queue, group_id, key, arrived, cost, conversation, format, body)
SELECT 3 * {n} + k, 2, 3 * {n} + k, 'm-' || (3 * {n} + k), 1, 1, NULL, 1, {body}
FROM n;

INSERT INTO fairlead.messages
  (id, queue, group_id, key, arrived, cost, conversation, format, body)
SELECT 4 * {n} + k, 1, {n} + 2, 'm-' || (4 * {n} + k), 1, 1, NULL, 1, {body}
FROM n;

INSERT INTO fairlead.delayed
  (id, queue, due, group_name, tenant, key, cost, type, conversation, format, body)
SELECT 5 * {n} + k, 1, {later} + k, 'd' || k, '', 'm-' || (5 * {n} + k), 1, 'DialogTimer', k, 1, {body}
FROM n;

INSERT INTO fairlead.dead
  (id, queue, died, reason, attempt, group_name, tenant, key, cost, format, body)
SELECT k, 1, 1, 'broken', 1, 'g' || k, '', 'm-' || k, 1, 1, {body}
FROM n;

INSERT INTO fairlead.message_ids
  (queue, key, at, digest)
SELECT 1, 'm-' || k, {later}, 'x'
FROM n;

-- a group that is held was raised again and again; others that are held, once
INSERT INTO fairlead.pending_updates
  (queue, group_id, kind, number, tenant, priority, at)
SELECT 1, {n} + 1, 'raised', k, '', 1, 1
FROM n;

INSERT INTO fairlead.pending_updates
  (queue, group_id, kind, number, tenant, priority, at)
SELECT 1, {n} + k, 'raised', k, '', 1, 1
FROM n WHERE k <= {held};

INSERT INTO fairlead.tenants
  (queue, name, tag, turn, in_service, backlogged)
SELECT 2, 't' || k, '1000000000000000000000000000000000000000', k, 0, 1
FROM n;

UPDATE fairlead.queues SET fair = 2, backlogged = {n} WHERE id = 2;

INSERT INTO fairlead.lease_holders
  (host, pid, name, since)
SELECT 'far', k, 'far:' || k, 1
FROM n;

INSERT INTO fairlead.journal
  (id, {transaction}time, kind, queue, group_name, key, tenant, cost, token, actor, cluster, version, stream, destination, outcome, sequence)
SELECT k, {txid}1, CASE k % 3 WHEN 0 THEN 'sent' WHEN 1 THEN 'decided' ELSE 'accepted' END, 'q', 'g' || k, 'm-' || k, '', 1, CASE k % 3 WHEN 2 THEN k END, 'a', CASE k % 3 WHEN 1 THEN 'pool' END, 0, 'pool', 'a', 'routed', k
FROM n;

INSERT INTO fairlead.versions
  (cluster, version, stamp, at, definition)
SELECT 9, k, 's', 1, '{{}}'
FROM n;

INSERT INTO fairlead.choice_runs
  (cluster, first, version, at, number, state, choices)
SELECT 9, 256 * k, k, 1, k, '{{}}', NULL
FROM n;

INSERT INTO fairlead.bindings
  (cluster, key, destination)
SELECT 9, 'k' || k, 'a'
FROM n;

INSERT INTO fairlead.completions
  (cluster, destination, part, version)
SELECT 9, 1, '', 0
FROM n;

INSERT INTO fairlead.published
  (queue, key, cluster, destination, part, version, guaranteed)
SELECT 1, 'm-' || k, 9, 1, '', 0, k
FROM n;

INSERT INTO fairlead.guaranteed
  (id, cluster, key, sequence, said, delivery, copies, at)
SELECT k, 9, 'm-' || k, k, '[]', 'all', 1, k
FROM n;

INSERT INTO fairlead.acknowledgements
  (guaranteed, outcome)
SELECT k, 'acknowledged'
FROM n;

-- of each second dialog, one end has ended
INSERT INTO fairlead.endpoints
  (id, handle, dialog, side, service, far_service, contract, queue, group_name, state, began)
SELECT k, 'h' || k, k - k % 2, k % 2, 's' || k % 2, 's' || (k + 1) % 2, 'c', 'q', 'g' || k, CASE k % 4 WHEN 1 THEN 3 ELSE 1 END, 1
FROM n;

-- schedules; and dead letters are kept for so long that all are too old
INSERT INTO fairlead.schedules (name, queue, definition, next, looked, paused)
SELECT 's' || k, 'q', '{{}}', {later} + k, 1, k % 2
FROM n;

UPDATE fairlead.queues SET keep_dead = 1;

-- groups of a queue with limits, half of them in a lane; and what tenants have used of a rate
INSERT INTO fairlead.groups
  (id, queue, name, tenant, fair, state, k1, k2, head, arrived, token, holder, taken, deadline, not_before, lane)
SELECT 20 * {n} + k, 3, 'l' || k, '', 0, 1, 1, k, k, 1, NULL, NULL, NULL, NULL, NULL, CASE WHEN k % 2 = 0 THEN '0' ELSE '' END
FROM n WHERE k <= {n} / 4;

INSERT INTO fairlead.messages
  (id, queue, group_id, key, arrived, cost, conversation, format, body)
SELECT 20 * {n} + k, 3, 20 * {n} + k, 'l-' || k, 1, 1, NULL, 1, {body}
FROM n WHERE k <= {n} / 4;

INSERT INTO fairlead.limit_states (queue, key, name, until)
SELECT 3, 'tenant *', 't' || k, {later} + k
FROM n WHERE k <= {held};

UPDATE fairlead.queues SET limits = '[["group", "l*", 1000000, 1000, 1000000], ["tenant", "*", 5, 1, 1]]' WHERE id = 3;
