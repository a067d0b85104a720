-- On PostgreSQL: schedules, statement by statement. Those of the other database have the
-- same names and columns.

-- schedules: all of them
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead.schedules ORDER BY name;

-- schedule: one
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead.schedules WHERE name = %(name)s;

-- schedule_locked: one; nobody else sends for it until this ends
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead.schedules WHERE name = %(name)s
FOR NO KEY UPDATE SKIP LOCKED;

-- due_schedules: those that are to be looked at
SELECT name FROM fairlead.schedules WHERE paused = 0 AND next <= %(now)s
UNION
SELECT name FROM fairlead.schedules WHERE paused = 0 AND looked > %(wrong)s;

-- next_due: when the next one is due
SELECT min(next) FROM fairlead.schedules WHERE paused = 0;

-- put_schedule: a schedule is declared, or declared anew
INSERT INTO fairlead.schedules (name, queue, definition, next, looked)
VALUES (%(name)s, %(queue)s, %(definition)s, %(next)s, %(looked)s)
ON CONFLICT (name) DO UPDATE SET queue = excluded.queue, definition = excluded.definition,
  next = excluded.next, looked = excluded.looked, failure = NULL;

-- move_schedule: its tick was sent, or passed over
UPDATE fairlead.schedules s SET next = %(next)s, last = coalesce(%(last)s, s.last), looked = %(looked)s, failure = %(failure)s
WHERE name = %(name)s;

-- pause_schedule: it sends nothing until it is resumed, or it sends again
UPDATE fairlead.schedules SET paused = %(paused)s, next = %(next)s, looked = %(looked)s
WHERE name = %(name)s AND paused <> %(paused)s
RETURNING name;

-- drop_schedule: it is gone
DELETE FROM fairlead.schedules WHERE name = %(name)s RETURNING name;
