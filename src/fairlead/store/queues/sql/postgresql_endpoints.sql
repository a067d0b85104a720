-- The ends of dialogs, as far as their messages are sent, taken and settled.

-- endpoint: the end with a handle
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE handle = %(handle)s;

-- state_of_end: how an end stands; NULL: both ends have ended
SELECT fairlead._state(%(handle)s);

-- endpoints: some ends
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE id = ANY (%(ids)s::bigint[]);

-- end_of: the end of a dialog on one side
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = %(dialog)s AND side = %(side)s;

-- ends_of: both ends of a dialog, without their ids
SELECT id, '', dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = %(dialog)s ORDER BY side;

-- ends_with_ids_of: the same with their ids
SELECT id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began,
  lifetime, bound
FROM fairlead.endpoints WHERE dialog = %(dialog)s ORDER BY side;

-- said_in: the group in which a conversation said something
SELECT group_name FROM fairlead.journal
WHERE kind = %(kind)s AND queue = %(queue)s AND key = %(key)s ORDER BY id DESC LIMIT 1;
