-- On SQLite: dialogs, statement by statement. Those of the other database have the
-- same names and columns. A parameter that is a list arrives as JSON.

-- declared: message types, contracts and services
SELECT kind, name, definition FROM fairlead_declared ORDER BY kind, name;

-- revision: how often something was declared
SELECT declared FROM fairlead_schema;

-- declare: a message type, a contract or a service is declared, or declared anew
INSERT INTO fairlead_declared (kind, name, definition) VALUES (:kind, :name, :definition)
ON CONFLICT (kind, name) DO UPDATE SET definition = excluded.definition;

-- add_endpoint: one end of a dialog
INSERT INTO fairlead_endpoints (id, handle, dialog, side, service, far_service, contract, queue, group_name,
  began, lifetime)
VALUES (:id, :handle, :dialog, :side, :service, :far_service, :contract, :queue, :group,
  :began, :lifetime);

-- say: an end sends one more message; nobody else sends for it until this ends
UPDATE fairlead_endpoints SET sent = sent + 1 WHERE id = :id AND state = 1
RETURNING sent, (SELECT declared FROM fairlead_schema);

-- lock_open: whether an end is open; nobody else speaks for it until this ends
SELECT 1 FROM fairlead_endpoints WHERE id = :id AND state = 1;

-- fail_endpoint: an end can only be ended
UPDATE fairlead_endpoints SET state = 2 WHERE id = :id AND state = 1;

-- end_endpoint: an end has ended
UPDATE fairlead_endpoints SET state = 3, sent = sent + 1 WHERE id = :id AND state <> 3 RETURNING sent;

-- drop_endpoints: nothing is left of a dialog
DELETE FROM fairlead_endpoints WHERE dialog = :dialog;

-- bind_endpoint: what comes to an end is forwarded to the end of another dialog
UPDATE fairlead_endpoints SET bound = :bound WHERE id = :id AND state <> 3 RETURNING id;

-- drop_delayed: timers of an end, and what its lifetime brings
DELETE FROM fairlead_delayed WHERE conversation = :conversation AND type IN (SELECT value FROM json_each(:types))
  AND due > :after;

-- drop_unread: what waits for an end that has ended, but for what its reader was given
DELETE FROM fairlead_messages WHERE conversation = :conversation AND NOT id IN (SELECT value FROM json_each(:given));
