-- The schema itself. Times are microseconds since 1970; numbers are those of the journal.
-- Every table stands beside the user's own, so each has the prefix fairlead_.

CREATE TABLE fairlead_schema (
  version INTEGER NOT NULL,
  store TEXT NOT NULL,                       -- which store this is: a random name
  declared INTEGER NOT NULL DEFAULT 0,       -- how often services and the like were declared
  journal_keep INTEGER DEFAULT 2592000000000,  -- how long events are kept; NULL: for ever
  pruned INTEGER NOT NULL DEFAULT 0          -- the last event that was forgotten
) STRICT;
INSERT INTO fairlead_schema (version, store) VALUES (1, lower(hex(randomblob(16))));
