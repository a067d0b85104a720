-- On PostgreSQL: schedules, statement by statement. Those of the other database have the
-- same names and columns.

-- schedules: all of them
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead.schedules ORDER BY name;

-- schedule: one
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead.schedules WHERE name = %(name)s;

-- schedule_locked: one; nobody else sends for it until this ends
SELECT * FROM fairlead._run_schedule_locked(%(name)s);

-- due_schedules: those that are to be looked at
SELECT name FROM fairlead.schedules WHERE paused = 0 AND next <= %(now)s
UNION
SELECT name FROM fairlead.schedules WHERE paused = 0 AND looked > %(wrong)s;

-- next_due: when the next one is due
SELECT min(next) FROM fairlead.schedules WHERE paused = 0;

-- put_schedule: a schedule is declared, or declared anew
SELECT fairlead._run_put_schedule(%(name)s, %(queue)s, %(definition)s, %(next)s, %(looked)s);

-- move_schedule: its tick was sent, or passed over
SELECT fairlead._run_move_schedule(%(next)s, %(last)s, %(looked)s, %(failure)s, %(name)s);

-- pause_schedule: it sends nothing until it is resumed, or it sends again
SELECT * FROM fairlead._run_pause_schedule(%(paused)s, %(next)s, %(looked)s, %(name)s);

-- drop_schedule: it is gone
SELECT * FROM fairlead._run_drop_schedule(%(name)s);
