-- On SQLite: schedules, statement by statement. Those of the other database have the
-- same names and columns.

-- schedules: all of them
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead_schedules ORDER BY name;

-- schedule: one
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead_schedules WHERE name = :name;

-- schedule_locked: one; nobody else sends for it until this ends
SELECT name, queue, definition, next, last, looked, paused, failure FROM fairlead_schedules WHERE name = :name;

-- due_schedules: those that are to be looked at
SELECT name FROM fairlead_schedules WHERE paused = 0 AND next <= :now
UNION
SELECT name FROM fairlead_schedules WHERE paused = 0 AND looked > :wrong;

-- next_due: when the next one is due
SELECT min(next) FROM fairlead_schedules WHERE paused = 0;

-- put_schedule: a schedule is declared, or declared anew
INSERT INTO fairlead_schedules (name, queue, definition, next, looked)
VALUES (:name, :queue, :definition, :next, :looked)
ON CONFLICT (name) DO UPDATE SET queue = excluded.queue, definition = excluded.definition,
  next = excluded.next, looked = excluded.looked, failure = NULL;

-- move_schedule: its tick was sent, or passed over
UPDATE fairlead_schedules SET next = :next, last = coalesce(:last, last), looked = :looked, failure = :failure
WHERE name = :name;

-- pause_schedule: it sends nothing until it is resumed, or it sends again
UPDATE fairlead_schedules SET paused = :paused, next = :next, looked = :looked
WHERE name = :name AND paused <> :paused
RETURNING name;

-- drop_schedule: it is gone
DELETE FROM fairlead_schedules WHERE name = :name RETURNING name;
