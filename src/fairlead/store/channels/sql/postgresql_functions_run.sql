-- What becomes of channels.
-- The library calls these, statement by statement; each runs as the owner of the schema.

-- This store is a queue manager's, which a process serves.
CREATE OR REPLACE FUNCTION fairlead._run_put_queue_manager(p_name text, p_cluster text, p_holder bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.queue_managers (name, cluster, holder) VALUES (p_name, p_cluster, p_holder)
  ON CONFLICT (name) DO UPDATE SET cluster = excluded.cluster, holder = excluded.holder;
END $$;

-- A channel is used for the first time.
CREATE OR REPLACE FUNCTION fairlead._run_add_channel(p_direction text, p_name text, p_peer text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.channels (direction, name, peer) VALUES (p_direction, p_name, p_peer)
  ON CONFLICT (direction, name, peer) DO NOTHING;
END $$;

-- One; nobody else counts on it until this ends.
CREATE OR REPLACE FUNCTION fairlead._run_channel_locked(p_direction text, p_name text, p_peer text)
RETURNS TABLE (o_direction text, o_name text, o_peer text, o_number bigint, o_token text,
  o_messages bigint, o_wanted text, o_error text, o_since bigint, o_under_way bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT c.direction, c.name, c.peer, c.number, c.token, c.messages, c.wanted, c.error, c.since, 0::bigint
    FROM fairlead.channels c WHERE c.direction = p_direction AND c.name = p_name AND c.peer = p_peer
    FOR NO KEY UPDATE;
END $$;

-- A batch is known at both ends.
CREATE OR REPLACE FUNCTION fairlead._run_count_batch(
  p_direction text, p_name text, p_peer text, p_number bigint, p_token text, p_messages bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.channels SET number = p_number, token = p_token, messages = messages + p_messages
  WHERE direction = p_direction AND name = p_name AND peer = p_peer;
END $$;

-- What an operator wants of a channel.
CREATE OR REPLACE FUNCTION fairlead._run_want_channel(p_name text, p_wanted text)
RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    UPDATE fairlead.channels SET wanted = p_wanted WHERE direction = 'out' AND name = p_name RETURNING name;
END $$;

-- Why a channel does not run.
CREATE OR REPLACE FUNCTION fairlead._run_note_channel(p_name text, p_error text, p_since bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE fairlead.channels SET error = p_error, since = p_since WHERE direction = 'out' AND name = p_name;
END $$;

-- A batch, before it is sent.
CREATE OR REPLACE FUNCTION fairlead._run_add_batch(
  p_channel text, p_number bigint, p_token text, p_messages bigint, p_formed bigint, p_content bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fairlead.channel_batches (channel, number, token, messages, formed, content)
  VALUES (p_channel, p_number, p_token, p_messages, p_formed, p_content);
END $$;

-- A batch is confirmed.
CREATE OR REPLACE FUNCTION fairlead._run_drop_batch(p_channel text, p_number bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM fairlead.channel_batches WHERE channel = p_channel AND number = p_number;
END $$;
