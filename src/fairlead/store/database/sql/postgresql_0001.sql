-- The schema itself. Times are microseconds since 1970; numbers are those of the journal.

CREATE SCHEMA IF NOT EXISTS fairlead;

CREATE SEQUENCE fairlead.numbers;         -- numbers of events: ids of groups, messages, updates, tokens

CREATE TABLE fairlead.schema (
  version BIGINT NOT NULL,
  store TEXT NOT NULL,                       -- which store this is: a random name
  declared BIGINT NOT NULL DEFAULT 0,        -- how often services and the like were declared
  journal_keep BIGINT DEFAULT 2592000000000, -- how long events are kept; NULL: for ever
  pruned_transaction XID8 NOT NULL DEFAULT '0',  -- the last event that was forgotten
  pruned_id BIGINT NOT NULL DEFAULT 0
);
INSERT INTO fairlead.schema (version, store) VALUES (1, gen_random_uuid()::text);
