-- What plain SQL calls of dialogs, in the transaction that runs: see postgresql_functions.sql.

-- Begin a dialog between two services; the id of the initiator's end. Who knows it can act as this end.
CREATE OR REPLACE FUNCTION fairlead.begin_dialog(
  service text, far_service text, contract text DEFAULT NULL, related text DEFAULT NULL,
  "group" text DEFAULT NULL, lifetime interval DEFAULT NULL) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT (fairlead._begin_dialog(service, far_service, contract, related, "group",
    fairlead._micros('lifetime', lifetime), fairlead._actor())).handle
$$;

-- Send a message from the end with this id, behind all that it has sent; the message's id. Text, JSON
-- or bytes.
CREATE OR REPLACE FUNCTION fairlead.send_on(dialog text, type text, body text) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT (fairlead._say(dialog, type, 1, convert_to(body, 'UTF8'), NULL, NULL, fairlead._actor())).o_key
$$;

CREATE OR REPLACE FUNCTION fairlead.send_on(dialog text, type text, body jsonb) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT (fairlead._say(dialog, type, 2, convert_to(body::text, 'UTF8'), NULL, NULL,
    fairlead._actor())).o_key
$$;

CREATE OR REPLACE FUNCTION fairlead.send_on(dialog text, type text, body bytea DEFAULT '') RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT (fairlead._say(dialog, type, 0, body, NULL, NULL, fairlead._actor())).o_key
$$;

-- Take the best group of a service's queue that nobody holds, or the one that is named: its messages, in
-- their order, each with the id of the end to which it comes. No row: there is none. Settle it with its
-- token and the numbers of these messages.
CREATE OR REPLACE FUNCTION fairlead.receive(
  queue text, "group" text DEFAULT NULL, most integer DEFAULT 1000, lease interval DEFAULT '60 seconds')
RETURNS TABLE (in_group text, conversation text, type text, body_text text, body bytea, token bigint,
  number bigint, id text, priority bigint, attempt bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT o_group, o_end::jsonb ->> 1, o_type, fairlead._text(o_format, o_body),
    fairlead._bytes(o_format, o_body), o_token, o_number, o_key, nullif(o_priority, -1), o_releases + 1
  FROM fairlead._take((fairlead._queue(queue, false)).name, "group", fairlead._lease(lease), NULL, most,
    fairlead._actor(), NULL, 1)
  WHERE o_token IS NOT NULL
$$;

-- End the end with this id. The other side gets an EndDialog behind all that was sent; with a code and a
-- description an Error, before the rest; with cleanup nothing.
CREATE OR REPLACE FUNCTION fairlead.end_dialog(
  dialog text, code integer DEFAULT NULL, description text DEFAULT NULL, cleanup boolean DEFAULT false)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._end_dialog(dialog, code, description, cleanup, NULL, fairlead._actor())
$$;

-- Raise the group in which what this end has sent waits; whether there was anything to raise.
CREATE OR REPLACE FUNCTION fairlead.prioritise_dialog(dialog text, priority integer DEFAULT NULL)
RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._prioritise_dialog(dialog, priority, fairlead._actor())
$$;

-- Bind two ends, to forward what comes to one through the other.
CREATE OR REPLACE FUNCTION fairlead.bind_dialogs(dialog text, other text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT fairlead._bind(dialog, other)
$$;

-- The end that this one is bound to; NULL: there is none, or it has ended.
CREATE OR REPLACE FUNCTION fairlead.bound_dialog(dialog text) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT b.handle FROM fairlead._endpoint(dialog) e, fairlead._bound(e.handle) b
$$;
