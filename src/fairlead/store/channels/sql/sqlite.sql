-- On SQLite: channels, statement by statement. Those of the other database have the
-- same names and columns.

-- queue_manager: whose store this is
SELECT name, cluster FROM fairlead_queue_managers;

-- queue_manager_server: which process serves it
SELECT m.holder, h.host, h.pid
FROM fairlead_queue_managers m LEFT JOIN fairlead_lease_holders h ON h.id = m.holder;

-- put_queue_manager: this store is a queue manager's, which a process serves
INSERT INTO fairlead_queue_managers (name, cluster, holder) VALUES (:name, :cluster, :holder)
ON CONFLICT (name) DO UPDATE SET cluster = excluded.cluster, holder = excluded.holder;

-- channels: all of them, with what is under way on each
SELECT c.direction, c.name, c.peer, c.number, c.token, c.messages, c.wanted, c.error, c.since,
  (SELECT coalesce(sum(b.messages), 0) FROM fairlead_channel_batches b WHERE b.channel = c.name AND c.direction = 'out')
FROM fairlead_channels c ORDER BY c.direction DESC, c.name, c.peer;

-- wanted_channels: of which an operator wants something
SELECT name, wanted FROM fairlead_channels WHERE direction = 'out' AND wanted <> '';

-- add_channel: a channel that is used for the first time
INSERT INTO fairlead_channels (direction, name, peer) VALUES (:direction, :name, :peer)
ON CONFLICT (direction, name, peer) DO NOTHING;

-- channel_locked: one; nobody else counts on it until this ends
SELECT direction, name, peer, number, token, messages, wanted, error, since, 0
FROM fairlead_channels WHERE direction = :direction AND name = :name AND peer = :peer;

-- count_batch: a batch is known at both ends
UPDATE fairlead_channels SET number = :number, token = :token, messages = messages + :messages
WHERE direction = :direction AND name = :name AND peer = :peer;

-- want_channel: what an operator wants of a channel
UPDATE fairlead_channels SET wanted = :wanted WHERE direction = 'out' AND name = :name RETURNING name;

-- note_channel: why it does not run
UPDATE fairlead_channels SET error = :error, since = :since WHERE direction = 'out' AND name = :name;

-- channel_batches: those under way on a channel, in their order
SELECT number, token, messages, content FROM fairlead_channel_batches WHERE channel = :channel ORDER BY number;

-- add_batch: a batch, before it is sent
INSERT INTO fairlead_channel_batches (channel, number, token, messages, formed, content)
VALUES (:channel, :number, :token, :messages, :formed, :content);

-- drop_batch: it is confirmed
DELETE FROM fairlead_channel_batches WHERE channel = :channel AND number = :number;
