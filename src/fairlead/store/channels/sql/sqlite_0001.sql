-- Queue managers, and the channels between them.

CREATE TABLE fairlead_queue_managers (
  name TEXT PRIMARY KEY,                     -- the one of this store; there is at most one row
  cluster TEXT NOT NULL,                     -- in which it chooses
  holder INTEGER                             -- the process that serves it; NULL: none does
) STRICT;

CREATE TABLE fairlead_channels (
  direction TEXT NOT NULL,                   -- out, in
  name TEXT NOT NULL,
  peer TEXT NOT NULL,                        -- the queue manager at the other end
  number INTEGER NOT NULL DEFAULT 0,         -- of the last batch that both ends have
  token TEXT NOT NULL DEFAULT '',            -- its name, which no other batch has
  messages INTEGER NOT NULL DEFAULT 0,       -- that have gone or come, in all
  wanted TEXT NOT NULL DEFAULT '',           -- out: stopped, paused, reset; '': it runs when it can
  error TEXT NOT NULL DEFAULT '',            -- why it does not run
  since INTEGER NOT NULL DEFAULT 0,          -- when that began
  PRIMARY KEY (direction, name, peer)
) STRICT;

CREATE TABLE fairlead_channel_batches (
  channel TEXT NOT NULL,
  number INTEGER NOT NULL,
  token TEXT NOT NULL,
  messages INTEGER NOT NULL,
  formed INTEGER NOT NULL,
  content BLOB NOT NULL,                     -- as it is sent, and sent again until it is confirmed
  PRIMARY KEY (channel, number)
) STRICT;
