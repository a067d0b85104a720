-- Services, and the dialogs between them.

-- Message types, contracts and services, as they were declared.
CREATE TABLE fairlead_declared (
  kind TEXT NOT NULL,                        -- message_type, contract, service
  name TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- The ends of dialogs. What one end is told waits in a group of its own queue.
CREATE TABLE fairlead_endpoints (
  id INTEGER PRIMARY KEY,                    -- the number of the event with which it began
  handle TEXT NOT NULL UNIQUE,               -- random: who knows it acts as this end
  dialog INTEGER NOT NULL,                   -- a number that both ends have
  side INTEGER NOT NULL,                     -- 0 of the initiator, 1 of the target
  service TEXT NOT NULL,
  far_service TEXT NOT NULL,
  contract TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  state INTEGER NOT NULL DEFAULT 1,          -- 1 open, 2 failed: it can only be ended, 3 ended
  sent INTEGER NOT NULL DEFAULT 0,           -- messages of this end
  began INTEGER NOT NULL,
  lifetime INTEGER,                          -- when the dialog is over, whatever is said
  bound INTEGER                              -- the end to which this one is forwarded, of another dialog
) STRICT;
CREATE UNIQUE INDEX fairlead_endpoints_dialog ON fairlead_endpoints (dialog, side);
CREATE INDEX fairlead_endpoints_service ON fairlead_endpoints (service, dialog);
CREATE INDEX fairlead_endpoints_ended ON fairlead_endpoints (dialog) WHERE state = 3;
