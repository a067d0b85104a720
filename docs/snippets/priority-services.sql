-- what the front end does with one message
CREATE PROCEDURE front_end_message(conversation text, message_type text, body text) LANGUAGE plpgsql AS $$
DECLARE
  peer text := fairlead.bound_dialog(conversation);
  said text := (regexp_match(body, '^(?:<\?[^>]*>)?\s*<priority>\s*([^<]*?)\s*</priority>\s*$'))[1];
BEGIN
  IF message_type = 'EndDialog' THEN
    PERFORM fairlead.end_dialog(conversation);
    IF peer IS NOT NULL THEN
      PERFORM fairlead.end_dialog(peer);
    END IF;
  ELSIF message_type = 'Error' THEN
    PERFORM fairlead.end_dialog(conversation);
    IF peer IS NOT NULL THEN
      PERFORM fairlead.end_dialog(peer, code => abs((body::json ->> 'code')::integer),
                                  description => body::json ->> 'description');
    END IF;
  ELSIF message_type = 'LongWorkloadRequest' THEN
    IF peer IS NULL THEN
      peer := fairlead.begin_dialog('Samples/PriorityService', 'BackEndService', 'RequestInternal',
                                    related => conversation);
      PERFORM fairlead.bind_dialogs(conversation, peer);
    END IF;
    PERFORM fairlead.send_on(peer, message_type, body);
  ELSIF message_type = 'SetPriority' AND peer IS NOT NULL THEN
    IF coalesce(said, '') = '' THEN  -- to the default
      PERFORM fairlead.prioritise_dialog(peer);
    ELSIF said ~ '^\d{1,3}$' AND said::integer <= 255 THEN
      PERFORM fairlead.prioritise_dialog(peer, said::integer);
    ELSE
      PERFORM fairlead.end_dialog(peer, 1, 'priority: found ' || quote_literal(said));
      PERFORM fairlead.end_dialog(conversation, 1, 'priority: found ' || quote_literal(said));
    END IF;
  ELSIF message_type = 'Response' AND peer IS NOT NULL THEN
    PERFORM fairlead.send_on(peer, message_type, body);
  END IF;
EXCEPTION WHEN SQLSTATE 'FL008' THEN
  NULL;  -- the other side has ended meanwhile; its notice comes, too
END $$;

-- the front end: a conversation group in each transaction, until nothing waits
CREATE PROCEDURE front_end_service() LANGUAGE plpgsql AS $$
DECLARE
  message record;
  work bigint;
  given bigint[];
BEGIN
  LOOP
    SELECT token, number, conversation, type, body_text INTO message
      FROM fairlead.receive('FrontEndQueue', most => 1);
    EXIT WHEN NOT FOUND;
    work := message.token;
    given := '{}';
    LOOP
      CALL front_end_message(message.conversation, message.type, message.body_text);
      given := given || message.number;
      SELECT work AS token, number, conversation, type, body_text INTO message
        FROM fairlead.more(work, given, 1);
      EXIT WHEN NOT FOUND;
    END LOOP;
    PERFORM fairlead.settle(work, given => given);
    COMMIT;
  END LOOP;
END $$;

-- the back end: the most urgent group first; so many groups, or until nothing waits
CREATE PROCEDURE back_end_service(most integer DEFAULT 1000000) LANGUAGE plpgsql AS $$
DECLARE
  message record;
  work bigint;
  given bigint[];
BEGIN
  FOR turn IN 1 .. most LOOP
    SELECT token, number, conversation, type, body_text INTO message
      FROM fairlead.receive('BackEndQueue', most => 1);
    EXIT WHEN NOT FOUND;
    work := message.token;
    given := '{}';
    LOOP
      IF message.type IN ('EndDialog', 'Error') THEN
        PERFORM fairlead.end_dialog(message.conversation);
      ELSIF message.type = 'LongWorkloadRequest' THEN  -- here would be two seconds of work
        PERFORM fairlead.send_on(message.conversation, 'Response', format('<result>%s</result>', message.body_text));
      END IF;
      given := given || message.number;
      SELECT work AS token, number, conversation, type, body_text INTO message
        FROM fairlead.more(work, given, 1);
      EXIT WHEN NOT FOUND;
    END LOOP;
    PERFORM fairlead.settle(work, given => given);
    COMMIT;
  END LOOP;
END $$;

-- the clients: every tenth request asks to go first, in the transaction in which it is sent
CREATE PROCEDURE send_requests(first integer, last integer) LANGUAGE plpgsql AS $$
DECLARE
  dialog text;
BEGIN
  FOR i IN first .. last LOOP
    dialog := fairlead.begin_dialog('SampleClient', 'Samples/PriorityService', 'RequestWithPriority');
    PERFORM fairlead.send_on(dialog, 'LongWorkloadRequest', format('<request>%s</request>', i));
    IF i % 10 = 0 THEN
      PERFORM fairlead.send_on(dialog, 'SetPriority', format('<priority>%s</priority>', i));
    END IF;
    COMMIT;
  END LOOP;
END $$;

CREATE TABLE responses (place bigint GENERATED ALWAYS AS IDENTITY, body text);

CREATE PROCEDURE read_responses() LANGUAGE plpgsql AS $$
DECLARE
  message record;
BEGIN
  LOOP
    SELECT * INTO message FROM fairlead.receive('SampleClient', most => 1);
    EXIT WHEN NOT FOUND;
    INSERT INTO responses (body) VALUES (message.body_text);
    PERFORM fairlead.end_dialog(message.conversation);
    PERFORM fairlead.settle(message.token, given => ARRAY[message.number]);
    COMMIT;
  END LOOP;
END $$;
