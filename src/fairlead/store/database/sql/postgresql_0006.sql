-- Version 6: dialogs from plain SQL, and who was logged in when an event was written.

-- Whoever works in the store has looked at queues first, so none of them holds what is locked below.
LOCK TABLE fairlead.queues IN ACCESS EXCLUSIVE MODE;

-- Of the events before nobody knows.
ALTER TABLE fairlead.journal ADD COLUMN login TEXT;
ALTER TABLE fairlead.journal ALTER COLUMN login SET DEFAULT session_user;

-- It gives one column more.
DROP FUNCTION IF EXISTS fairlead.more(bigint, bigint[], integer);

UPDATE fairlead.schema SET version = 6;
