-- Services, and the dialogs between them.

-- Message types, contracts and services, as they were declared.
CREATE TABLE fairlead.declared (
  kind TEXT NOT NULL,                        -- message_type, contract, service
  name TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (kind, name)
);

-- The ends of dialogs. What one end is told waits in a group of its own queue.
CREATE TABLE fairlead.endpoints (
  id BIGINT PRIMARY KEY,                     -- the number of the event with which it began
  handle TEXT NOT NULL UNIQUE,               -- random: who knows it acts as this end
  dialog BIGINT NOT NULL,                    -- a number that both ends have
  side BIGINT NOT NULL,                      -- 0 of the initiator, 1 of the target
  service TEXT NOT NULL,
  far_service TEXT NOT NULL,
  contract TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  state BIGINT NOT NULL DEFAULT 1,           -- 1 open, 2 failed: it can only be ended, 3 ended
  sent BIGINT NOT NULL DEFAULT 0,            -- messages of this end
  began BIGINT NOT NULL,
  lifetime BIGINT,                           -- when the dialog is over, whatever is said
  bound BIGINT                               -- the end to which this one is forwarded, of another dialog
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX endpoints_dialog ON fairlead.endpoints (dialog, side);
CREATE INDEX endpoints_service ON fairlead.endpoints (service, dialog);
CREATE INDEX endpoints_ended ON fairlead.endpoints (dialog) WHERE state = 3;
