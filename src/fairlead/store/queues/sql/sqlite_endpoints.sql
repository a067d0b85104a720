-- The ends of dialogs, as far as their messages are sent, taken and settled.

-- endpoint: the end with a handle
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE handle = :handle;

-- endpoints: some ends
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE id IN (SELECT value FROM json_each(:ids));

-- end_of: the end of a dialog on one side
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog = :dialog AND side = :side;

-- drop_ended: nothing is left of dialogs of which both ends have ended
DELETE FROM fairlead_endpoints WHERE state = 3 AND dialog IN (SELECT value FROM json_each(:dialogs)) AND NOT EXISTS (
  SELECT 1 FROM fairlead_endpoints other WHERE other.dialog = fairlead_endpoints.dialog AND other.state <> 3);

-- of_conversation: the messages of a conversation
SELECT group_id, id, key, arrived, expires, cost, type, conversation, format, body
FROM fairlead_messages WHERE conversation = :conversation AND NOT id IN (SELECT value FROM json_each(:given)) ORDER BY id LIMIT :most;

-- any_of_conversation: whether there is one
SELECT 1 FROM fairlead_messages WHERE conversation = :conversation LIMIT 1;

-- ends_of: both ends of a dialog, without their ids
SELECT id, '', dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog = :dialog ORDER BY side;

-- ends_with_ids_of: the same with their ids
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead_endpoints WHERE dialog = :dialog ORDER BY side;

-- said_in: the group in which a conversation said something
SELECT group_name FROM fairlead_journal
WHERE kind = :kind AND queue = :queue AND key = :key ORDER BY id DESC LIMIT 1;
