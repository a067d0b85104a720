-- On PostgreSQL: dialogs, statement by statement. Those of the other database have the
-- same names and columns. All run in READ COMMITTED.

-- declared: message types, contracts and services
SELECT kind, name, definition FROM fairlead.declared ORDER BY kind, name;

-- revision: how often something was declared
SELECT declared FROM fairlead.schema;

-- declare: a message type, a contract or a service is declared, or declared anew
SELECT fairlead._run_declare(%(kind)s, %(name)s, %(definition)s);

-- try_begin_dialog: begin a dialog, in one statement; what was refused comes as a row
SELECT * FROM fairlead._try_begin_dialog(%(service)s, %(far_service)s, %(contract)s, %(related)s, %(group)s,
  %(lifetime)s, %(actor)s);

-- try_say: the same: send a message from an end
SELECT * FROM fairlead._try_say(%(handle)s, %(type)s, %(format)s, %(body)s, %(fault)s, %(revision)s, %(actor)s);

-- try_end_dialog: the same: end an end
SELECT * FROM fairlead._try_end_dialog(%(handle)s, %(code)s, %(description)s, %(cleanup)s, %(given)s::bigint[],
  %(actor)s);

-- try_set_timer: the same: set the timer of an end
SELECT * FROM fairlead._try_set_timer(%(handle)s, %(after)s, %(actor)s);

-- try_bind: the same: bind two ends
SELECT * FROM fairlead._try_bind(%(one)s, %(other)s);

-- try_prioritise_dialog: the same: raise the group of the other end
SELECT * FROM fairlead._try_prioritise_dialog(%(handle)s, %(priority)s::integer, %(actor)s);

-- bound_end: the end that an end is bound to; NULL: there is none
SELECT fairlead._find_bound(%(handle)s);

-- find_end: the end with a handle; NULL: there is none
SELECT fairlead._find(%(handle)s);
