-- On PostgreSQL: dialogs, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

-- declared: message types, contracts and services
SELECT kind, name, definition FROM fairlead.declared ORDER BY kind, name;

-- revision: how often something was declared
SELECT declared FROM fairlead.schema;

-- declare: a message type, a contract or a service is declared, or declared anew
INSERT INTO fairlead.declared (kind, name, definition) VALUES (%(kind)s, %(name)s, %(definition)s)
ON CONFLICT (kind, name) DO UPDATE SET definition = excluded.definition;

-- add_endpoint: one end of a dialog
INSERT INTO fairlead.endpoints (id, handle, dialog, side, service, far_service, contract, queue, group_name,
  began, lifetime)
VALUES (%(id)s, %(handle)s, %(dialog)s, %(side)s, %(service)s, %(far_service)s, %(contract)s, %(queue)s, %(group)s,
  %(began)s, %(lifetime)s);

-- say: an end sends one more message; nobody else sends for it until this ends
UPDATE fairlead.endpoints SET sent = sent + 1 WHERE id = %(id)s AND state = 1
RETURNING sent, (SELECT declared FROM fairlead.schema);

-- lock_open: whether an end is open; nobody else speaks for it until this ends
SELECT 1 FROM fairlead.endpoints WHERE id = %(id)s AND state = 1 FOR NO KEY UPDATE;

-- fail_endpoint: an end can only be ended
UPDATE fairlead.endpoints SET state = 2 WHERE id = %(id)s AND state = 1;

-- end_endpoint: an end has ended
UPDATE fairlead.endpoints SET state = 3, sent = sent + 1 WHERE id = %(id)s AND state <> 3 RETURNING sent;

-- drop_endpoints: nothing is left of a dialog
DELETE FROM fairlead.endpoints WHERE dialog = %(dialog)s;

-- bind_endpoint: what comes to an end is forwarded to the end of another dialog
UPDATE fairlead.endpoints SET bound = %(bound)s WHERE id = %(id)s AND state <> 3 RETURNING id;

-- drop_delayed: timers of an end, and what its lifetime brings
DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (SELECT id FROM fairlead.delayed
  WHERE conversation = %(conversation)s AND type = ANY (%(types)s::text[]) AND due > %(after)s
  FOR UPDATE SKIP LOCKED));

-- drop_unread: what waits for an end that has ended, but for what its reader was given, or is
-- settling
DELETE FROM fairlead.messages WHERE id = ANY (ARRAY (SELECT id FROM fairlead.messages
  WHERE conversation = %(conversation)s AND NOT id = ANY (%(given)s::bigint[]) FOR UPDATE SKIP LOCKED));
