-- On PostgreSQL: channels, statement by statement. Those of the other database have the
-- same names and columns.

-- queue_manager: whose store this is
SELECT name, cluster FROM fairlead.queue_managers;

-- queue_manager_server: which process serves it
SELECT m.holder, h.host, h.pid
FROM fairlead.queue_managers m LEFT JOIN fairlead.lease_holders h ON h.id = m.holder;

-- put_queue_manager: this store is a queue manager's, which a process serves
SELECT fairlead._run_put_queue_manager(%(name)s, %(cluster)s, %(holder)s);

-- channels: all of them, with what is under way on each
SELECT c.direction, c.name, c.peer, c.number, c.token, c.messages, c.wanted, c.error, c.since,
  (SELECT coalesce(sum(b.messages), 0)::bigint FROM fairlead.channel_batches b
   WHERE b.channel = c.name AND c.direction = 'out')
FROM fairlead.channels c ORDER BY c.direction DESC, c.name, c.peer;

-- wanted_channels: of which an operator wants something
SELECT name, wanted FROM fairlead.channels WHERE direction = 'out' AND wanted <> '';

-- add_channel: a channel that is used for the first time
SELECT fairlead._run_add_channel(%(direction)s, %(name)s, %(peer)s);

-- channel_locked: one; nobody else counts on it until this ends
SELECT * FROM fairlead._run_channel_locked(%(direction)s, %(name)s, %(peer)s);

-- count_batch: a batch is known at both ends
SELECT fairlead._run_count_batch(%(direction)s, %(name)s, %(peer)s, %(number)s, %(token)s, %(messages)s);

-- want_channel: what an operator wants of a channel
SELECT * FROM fairlead._run_want_channel(%(name)s, %(wanted)s);

-- note_channel: why it does not run
SELECT fairlead._run_note_channel(%(name)s, %(error)s, %(since)s);

-- channel_batches: those under way on a channel, in their order
SELECT number, token, messages, content FROM fairlead.channel_batches
WHERE channel = %(channel)s ORDER BY number;

-- add_batch: a batch, before it is sent
SELECT fairlead._run_add_batch(%(channel)s, %(number)s, %(token)s, %(messages)s, %(formed)s, %(content)s);

-- drop_batch: it is confirmed
SELECT fairlead._run_drop_batch(%(channel)s, %(number)s);
