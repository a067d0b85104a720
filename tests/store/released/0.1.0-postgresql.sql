-- A store on PostgreSQL as version 0.1.0 of Fairlead made and left it: its schema, its functions, and
-- what is in its tables. One reader holds work and is gone.

-- The first schema. Times are microseconds since 1970; numbers are those of the journal.

CREATE SCHEMA IF NOT EXISTS fairlead;
CREATE SEQUENCE fairlead.numbers;         -- numbers of events: ids of groups, messages, notices, tokens

CREATE TABLE fairlead.schema (
  version BIGINT NOT NULL,
  store TEXT NOT NULL,                      -- which store this is: a random name
  declared BIGINT NOT NULL DEFAULT 0,        -- how often services and the like were declared
  journal_keep BIGINT DEFAULT 2592000000000,  -- how long events are kept; NULL: for ever
  pruned_transaction XID8 NOT NULL DEFAULT '0',  -- the last event that was forgotten
  pruned_id BIGINT NOT NULL DEFAULT 0
);
INSERT INTO fairlead.schema (version, store) VALUES (1, gen_random_uuid()::text);

CREATE TABLE fairlead.queues (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  discipline TEXT NOT NULL DEFAULT 'priority',
  default_priority BIGINT NOT NULL DEFAULT 100,
  step BIGINT NOT NULL DEFAULT 0,           -- ageing: microseconds per step of priority
  weights TEXT NOT NULL DEFAULT '{}',        -- JSON: tenant -> weight
  fair BIGINT NOT NULL DEFAULT 0,           -- 0: no tenants; 1: since the last take; 2: in use
  tag_clock TEXT NOT NULL DEFAULT '',        -- the highest tag that was next so far
  lined BIGINT NOT NULL DEFAULT 0,          -- tenants that have a group that can be taken
  works BIGINT NOT NULL DEFAULT 0,          -- groups that are charged and not settled
  max_waiting BIGINT,                       -- messages; NULL: no limit
  max_failures BIGINT,                      -- of one group, then dead letters; NULL: no limit
  completing BIGINT NOT NULL DEFAULT 0,      -- whether a cluster waits for what is settled here
  enabled BIGINT NOT NULL DEFAULT 1,         -- 0: it is switched off, and gives nothing
  poison TEXT NOT NULL DEFAULT 'dead-letters',  -- off: too many failures switch it off
  by_library BIGINT NOT NULL DEFAULT 0,      -- 1: a service's, which plain SQL cannot take from
  remembered BIGINT NOT NULL                -- how long the id of a message is known
);

CREATE TABLE fairlead.groups (
  id BIGINT PRIMARY KEY,                    -- the number with which it began
  queue BIGINT NOT NULL,
  name TEXT,                                 -- NULL: a message that is a group of its own
  tenant TEXT NOT NULL,
  fair BIGINT NOT NULL,                     -- whether its queue has tenants
  state BIGINT NOT NULL,                    -- 1 ready, 2 held by a reader, 3 parked
  k1 BIGINT NOT NULL,                       -- the key: its place, the lowest first
  k2 BIGINT NOT NULL,
  priority BIGINT NOT NULL DEFAULT -1,      -- to what it was raised; -1: it was not
  entered BIGINT NOT NULL DEFAULT 0,
  number BIGINT NOT NULL DEFAULT 0,
  head BIGINT NOT NULL,                     -- the first message that waits; 0: none does
  arrived BIGINT NOT NULL,                  -- when that arrived
  was_priority BIGINT NOT NULL DEFAULT -1,  -- with what it was taken, for a release
  was_entered BIGINT NOT NULL DEFAULT 0,
  was_number BIGINT NOT NULL DEFAULT 0,
  was_turn BIGINT NOT NULL DEFAULT 0,
  token BIGINT,                             -- of the reader that holds it
  holder BIGINT,
  taken BIGINT,
  deadline BIGINT,
  releases BIGINT NOT NULL DEFAULT 0,       -- since it was last accepted or rejected
  failures BIGINT NOT NULL DEFAULT 0,
  not_before BIGINT                         -- state 3: when it is ready again
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX groups_name ON fairlead.groups (queue, name) WHERE name IS NOT NULL;
CREATE INDEX groups_ready ON fairlead.groups (queue, k1, k2) WHERE state = 1;
CREATE INDEX groups_tenant ON fairlead.groups (queue, tenant, k1, k2)
  WHERE state = 1 AND fair = 1;
CREATE INDEX groups_parked ON fairlead.groups (queue, not_before) WHERE state = 3;
CREATE INDEX groups_held ON fairlead.groups (queue, deadline) WHERE state = 2;
CREATE INDEX groups_token ON fairlead.groups (token) WHERE state = 2;

CREATE TABLE fairlead.messages (
  id BIGINT PRIMARY KEY,                    -- its number: the order inside a group
  queue BIGINT NOT NULL,
  group_id BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- the id that the user knows
  arrived BIGINT NOT NULL,
  expires BIGINT,
  cost BIGINT NOT NULL,
  type TEXT,
  conversation BIGINT,                      -- the receiver's end of it; NULL: a plain message
  format BIGINT NOT NULL,                   -- of the body: 0 bytes, 1 text, 2 JSON
  body BYTEA NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX messages_group ON fairlead.messages (group_id, id);
CREATE INDEX messages_conversation ON fairlead.messages (conversation, id)
  WHERE conversation IS NOT NULL;

CREATE TABLE fairlead.delayed (
  id BIGINT PRIMARY KEY,
  queue BIGINT NOT NULL,
  due BIGINT NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority BIGINT,
  key TEXT NOT NULL,
  expires BIGINT,
  cost BIGINT NOT NULL,
  type TEXT,
  conversation BIGINT,
  format BIGINT NOT NULL,
  body BYTEA NOT NULL
);
CREATE INDEX delayed_due ON fairlead.delayed (queue, due, id);
CREATE INDEX delayed_conversation ON fairlead.delayed (conversation, id)
  WHERE conversation IS NOT NULL;

CREATE TABLE fairlead.dead (
  id BIGINT PRIMARY KEY,
  queue BIGINT NOT NULL,
  died BIGINT NOT NULL,
  reason TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority BIGINT,
  key TEXT NOT NULL,
  cost BIGINT NOT NULL,
  type TEXT,
  conversation BIGINT,
  format BIGINT NOT NULL,
  body BYTEA NOT NULL
);
CREATE INDEX dead_queue ON fairlead.dead (queue, id);

CREATE TABLE fairlead.message_ids (
  queue BIGINT NOT NULL,
  key TEXT NOT NULL,
  at BIGINT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (queue, key)
);
CREATE INDEX message_ids_at ON fairlead.message_ids (at);

-- What a reader has to know before the next take, left by those who never wait for one.
CREATE TABLE fairlead.notices (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue BIGINT NOT NULL,
  group_id BIGINT NOT NULL,
  kind TEXT NOT NULL,                        -- raised, joined, charged, settled, released
  number BIGINT NOT NULL,
  tenant TEXT NOT NULL,
  priority BIGINT,
  at BIGINT,
  cost BIGINT,
  turn BIGINT,
  placed BIGINT
);
CREATE INDEX notices_queue ON fairlead.notices (queue, id);
CREATE INDEX notices_group ON fairlead.notices (group_id, id);

CREATE TABLE fairlead.tenants (
  queue BIGINT NOT NULL,
  name TEXT NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,                         -- a decimal number of 40 digits, so that it sorts
  turn BIGINT NOT NULL,
  works BIGINT NOT NULL,
  lined BIGINT NOT NULL,
  PRIMARY KEY (queue, name)
);
CREATE INDEX tenants_next ON fairlead.tenants (queue, tag, turn) WHERE lined = 1;

CREATE TABLE fairlead.holders (
  id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host TEXT NOT NULL,
  pid BIGINT NOT NULL,
  name TEXT NOT NULL,
  since BIGINT NOT NULL,
  stopping BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE fairlead.journal (
  id BIGINT PRIMARY KEY DEFAULT nextval('fairlead.numbers'),
  transaction XID8 NOT NULL DEFAULT pg_current_xact_id(),
  time BIGINT NOT NULL,
  kind TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  key TEXT NOT NULL,
  tenant TEXT NOT NULL,
  priority BIGINT,
  cost BIGINT,
  type TEXT,
  attempt BIGINT,
  token BIGINT,
  actor TEXT NOT NULL,
  lease BIGINT,
  detail TEXT,
  cluster TEXT,                              -- from here on: decisions, and what becomes of clusters
  version BIGINT,
  stream TEXT,
  destination TEXT,
  address TEXT,
  outcome TEXT,
  sequence BIGINT,
  said TEXT                                  -- JSON: what the message said that was decided about
);
CREATE INDEX journal_published ON fairlead.journal (cluster, key)
  WHERE cluster IS NOT NULL AND key <> '';
CREATE INDEX journal_settled ON fairlead.journal (token)
  WHERE token IS NOT NULL AND kind <> 'taken';
CREATE INDEX journal_switched ON fairlead.journal (queue, id) WHERE kind = 'switched-off';
CREATE INDEX journal_transaction ON fairlead.journal (transaction, id);

-- Whoever reads the journal is told what is missing, however it was deleted.
CREATE FUNCTION fairlead._pruned() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  last record;
BEGIN
  SELECT g.transaction, g.id INTO last FROM gone g ORDER BY g.transaction DESC, g.id DESC LIMIT 1;
  UPDATE fairlead.schema SET pruned_transaction = last.transaction, pruned_id = last.id
    WHERE (pruned_transaction, pruned_id) < (last.transaction, last.id);
  RETURN NULL;
END $$;
CREATE TRIGGER pruned AFTER DELETE ON fairlead.journal REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._pruned();

-- The stores that wait for work, so that senders notify only where somebody listens.
CREATE TABLE fairlead.sleepers (
  queue BIGINT NOT NULL,
  holder INTEGER NOT NULL,
  PRIMARY KEY (queue, holder)
);

-- The row that choices lock and count in. A choice is a place in a stretch of choices that were
-- made ahead; where a rule cannot make them ahead, its state stands here.
CREATE TABLE fairlead.clusters (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  allocation TEXT NOT NULL,                  -- exact, ticket
  rule TEXT NOT NULL,                        -- that plain SQL knows: least-served, circular, first-by-name
  reset_every BIGINT NOT NULL,               -- microseconds; 0: never
  reset_due BIGINT,
  due BIGINT,                                -- when the next change is due of itself
  version BIGINT NOT NULL,
  stamp TEXT NOT NULL,                       -- of the version; never used twice
  first BIGINT NOT NULL,                     -- the turn with which the running stretch begins
  taken BIGINT NOT NULL,                     -- choices since
  revision BIGINT NOT NULL,                  -- of the state; never used twice
  state TEXT                                 -- JSON; NULL: that of the stretch, so many choices on
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);

-- What a cluster was loaded from; not in its row, which is written with each choice.
CREATE TABLE fairlead.files (
  cluster BIGINT PRIMARY KEY,
  loaded TEXT NOT NULL                       -- JSON: the file, and how it counts
);

CREATE TABLE fairlead.versions (
  cluster BIGINT NOT NULL,
  version BIGINT NOT NULL,
  stamp TEXT NOT NULL,
  at BIGINT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON: the file, and its objects as they are now
  PRIMARY KEY (cluster, version)
);

CREATE TABLE fairlead.stretches (
  cluster BIGINT NOT NULL,
  first BIGINT NOT NULL,                     -- a turn
  version BIGINT NOT NULL,
  at BIGINT NOT NULL,                        -- when it began
  number BIGINT NOT NULL,                    -- the latest event before it
  state TEXT NOT NULL,                       -- JSON, at its beginning
  choices BIGINT[],                          -- ids of destinations; NULL: not made ahead
  PRIMARY KEY (cluster, first, version)
);

CREATE TABLE fairlead.destinations (
  cluster BIGINT NOT NULL,
  id BIGINT NOT NULL,
  name TEXT NOT NULL,
  address TEXT,
  queue TEXT,                                -- to which is published; NULL: the one of its name
  PRIMARY KEY (cluster, id)
);

CREATE TABLE fairlead.bindings (
  cluster BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- JSON: how it is bound, and to whom
  destination TEXT NOT NULL,
  PRIMARY KEY (cluster, key)
);

-- Work that is settled, left for the next choice of its cluster.
CREATE TABLE fairlead.completions (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  cluster BIGINT NOT NULL,
  destination BIGINT NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version BIGINT NOT NULL
);
CREATE INDEX completions_cluster ON fairlead.completions (cluster, id);

-- Messages whose settlement their cluster waits for.
CREATE TABLE fairlead.published (
  queue BIGINT NOT NULL,
  key TEXT NOT NULL,
  cluster BIGINT NOT NULL,
  destination BIGINT NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version BIGINT NOT NULL,
  PRIMARY KEY (queue, key)
);

-- Message types, contracts and services, as they were declared.
CREATE TABLE fairlead.declared (
  kind TEXT NOT NULL,                        -- message_type, contract, service
  name TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (kind, name)
);

-- The ends of dialogs. What one end is told waits in a group of its own queue.
CREATE TABLE fairlead.endpoints (
  id BIGINT PRIMARY KEY,                    -- the number of the event with which it began
  handle TEXT NOT NULL UNIQUE,               -- random: who knows it acts as this end
  dialog BIGINT NOT NULL,                   -- a number that both ends have
  side BIGINT NOT NULL,                     -- 0 of the initiator, 1 of the target
  service TEXT NOT NULL,
  far_service TEXT NOT NULL,
  contract TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  state BIGINT NOT NULL DEFAULT 1,          -- 1 open, 2 failed: it can only be ended, 3 ended
  sent BIGINT NOT NULL DEFAULT 0,           -- messages of this end
  began BIGINT NOT NULL,
  lifetime BIGINT,                          -- when the dialog is over, whatever is said
  bound BIGINT                              -- the end to which this one is forwarded, of another dialog
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX endpoints_dialog ON fairlead.endpoints (dialog, side);
CREATE INDEX endpoints_service ON fairlead.endpoints (service, dialog);
CREATE INDEX endpoints_ended ON fairlead.endpoints (dialog) WHERE state = 3;

-- What plain SQL calls, from psql and from any language; the store itself calls it for single
-- messages, because one statement is one way to the server and back. It decides as order/key.py and
-- the modules sending, taking and settling do, and is held to the same tests.
--
-- Names that begin with an underscore are the store's own. Times are microseconds since 1970.
-- SQLSTATE FL001: what was asked is not allowed; FL002: the queue is full; FL003: the work is
-- somebody else's by now.

-- The time: of the setting fairlead.clock in tests, else the server's clock. It never jumps to the
-- start of the transaction, as now() would.
CREATE OR REPLACE FUNCTION fairlead._now() RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
  SELECT coalesce(nullif(current_setting('fairlead.clock', true), '')::bigint,
                  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

CREATE OR REPLACE FUNCTION fairlead._refuse(line text, state text DEFAULT 'FL001') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = state, MESSAGE = line;
END $$;

-- A group's place: the lowest (k1, k2) is next. `raised`: its entry's number, 0: it was not raised.
CREATE OR REPLACE FUNCTION fairlead._k1(
  discipline text, step bigint, priority bigint, entered bigint, raised bigint, head bigint,
  arrived bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN discipline = 'fifo' OR raised = 0
         THEN CASE WHEN step > 0 THEN arrived + step ELSE 1 END
         WHEN step > 0 THEN CASE WHEN head = 0 THEN entered ELSE arrived END - priority * step
         ELSE -priority END
$$;

CREATE OR REPLACE FUNCTION fairlead._k2(
  discipline text, step bigint, raised bigint, head bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN discipline <> 'fifo' AND raised <> 0 AND (step = 0 OR head = 0) THEN raised
         ELSE head END
$$;

-- A queue as it is set; it is created with the defaults if it is not there.
CREATE OR REPLACE FUNCTION fairlead._queue(p_name text, p_create boolean)
RETURNS fairlead.queues LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  q fairlead.queues;
BEGIN
  SELECT * INTO q FROM fairlead.queues WHERE name = p_name;
  IF NOT FOUND AND p_create THEN
    IF coalesce(p_name, '') = '' OR length(p_name) > 500 THEN
      PERFORM fairlead._refuse('queue: found no name, or one of more than 500 characters, '
        'allowed: a name');
    END IF;
    INSERT INTO fairlead.queues (name, remembered, max_failures)
      VALUES (p_name, 604800000000, 5) ON CONFLICT (name) DO NOTHING;
    SELECT * INTO q FROM fairlead.queues WHERE name = p_name;
  ELSIF NOT FOUND THEN
    PERFORM fairlead._refuse(format('queue: found %L, allowed: one that there is', p_name));
  END IF;
  RETURN q;
END $$;

-- Time never goes back in the order of work.
CREATE OR REPLACE FUNCTION fairlead._moment(p_now bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
  SELECT greatest(p_now, (SELECT time FROM fairlead.journal ORDER BY id DESC LIMIT 1))
$$;

-- A message joins its group; what a reader has to know is told in notices.
CREATE OR REPLACE FUNCTION fairlead._arrive(
  q fairlead.queues, p_number bigint, p_moment bigint, p_group text, p_priority bigint, p_key text,
  p_type text, p_tenant text, p_cost bigint, p_expires bigint, p_format bigint, p_body bytea)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  g record;
  raised bigint := CASE WHEN p_priority IS NULL OR q.discipline = 'fifo' THEN 0 ELSE p_number END;
  is_fair bigint := CASE WHEN q.fair > 0 OR p_tenant <> '' THEN 1 ELSE 0 END;
  home bigint := p_number;
BEGIN
  IF q.fair = 0 AND p_tenant <> '' THEN
    UPDATE fairlead.queues SET fair = 1 WHERE id = q.id AND fair = 0;
  END IF;
  LOOP
    IF p_group IS NOT NULL THEN
      SELECT id, tenant, state, head INTO g FROM fairlead.groups
        WHERE queue = q.id AND name = p_group FOR KEY SHARE;
      IF FOUND THEN
        home := g.id;
        IF g.tenant <> p_tenant THEN
          PERFORM fairlead._refuse(format('tenant of group %L: found %L, allowed: %L',
            p_group, p_tenant, g.tenant));
        END IF;
        EXIT;
      END IF;
    END IF;
    INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered,
        number, head, arrived)
      VALUES (p_number, q.id, p_group, p_tenant, is_fair, 1,
        fairlead._k1(q.discipline, q.step, p_priority, p_moment, raised, p_number, p_moment),
        fairlead._k2(q.discipline, q.step, raised, p_number),
        CASE WHEN raised = 0 THEN -1 ELSE p_priority END,
        CASE WHEN raised = 0 THEN 0 ELSE p_moment END, raised, p_number, p_moment)
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
  END LOOP;
  INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, expires, cost, type, format, body)
    VALUES (p_number, q.id, home, p_key, p_moment, p_expires, p_cost, p_type, p_format, p_body);
  IF home = p_number THEN
    IF is_fair = 1 THEN
      INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant)
        VALUES (q.id, home, 'joined', p_number, p_tenant);
    END IF;
    RETURN;
  END IF;
  IF is_fair = 1 AND g.state = 2 THEN
    INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant, cost)
      VALUES (q.id, home, 'charged', p_number, p_tenant, p_cost);
  END IF;
  IF raised <> 0 THEN
    INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant, priority, at)
      VALUES (q.id, home, 'raised', p_number, p_tenant, p_priority, p_moment);
  ELSIF g.head = 0 AND g.state <> 2 THEN
    INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant)
      VALUES (q.id, home, 'raised', p_number, p_tenant);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION fairlead._send(
  p_queue text, p_format bigint, p_body bytea, p_group text, p_priority bigint, p_id text,
  p_type text, p_tenant text, p_cost bigint, p_due bigint, p_expires bigint, p_actor text)
RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  q fairlead.queues := fairlead._queue(p_queue, true);
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  v_number bigint;
  v_key text;
  unit numeric := 1;
  weight numeric;
  content text;
  known text;
BEGIN
  IF p_priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format(
      'priority: found %s, allowed: an integer from 0 to 255, or NULL', p_priority));
  ELSIF octet_length(p_body) > 16777216 THEN
    PERFORM fairlead._refuse(format(
      'body: found %s bytes, allowed: at most 16777216', octet_length(p_body)));
  ELSIF p_body IS NULL THEN
    PERFORM fairlead._refuse('body: found NULL, allowed: bytes, a text, or JSON');
  ELSIF greatest(length(p_group), length(p_id), length(p_type), length(p_tenant)) > 500 THEN
    PERFORM fairlead._refuse('group, id, type and tenant: found more than 500 characters, '
      'allowed: at most 500');
  END IF;
  FOR weight IN SELECT value::numeric FROM jsonb_each_text(q.weights::jsonb) LOOP
    unit := lcm(unit, weight);
  END LOOP;
  IF p_cost < 1 OR p_cost > div(4611686018427387904, unit) THEN
    PERFORM fairlead._refuse(format('cost: found %s, allowed: an integer from 1 to %s '
      'with these weights of tenants', p_cost, div(4611686018427387904, unit)));
  END IF;
  IF p_id <> '' THEN
    content := encode(sha256(set_byte('\x00', 0, p_format::integer) || p_body), 'hex');
    INSERT INTO fairlead.message_ids AS i (queue, key, at, digest)
      VALUES (q.id, p_id, now, content)
      ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
        WHERE i.at < now - q.remembered;
    IF NOT FOUND THEN
      SELECT digest INTO known FROM fairlead.message_ids i WHERE i.queue = q.id AND i.key = p_id;
      IF known <> content THEN
        PERFORM fairlead._refuse(format('id: found %L, which another message had before, allowed: '
          'an id of its own for each message', p_id));
      END IF;
      RETURN p_id;
    END IF;
  END IF;
  IF q.max_waiting IS NOT NULL AND EXISTS (SELECT 1 FROM (
      SELECT 1 FROM fairlead.messages m WHERE m.queue = q.id
      UNION ALL SELECT 1 FROM fairlead.delayed d WHERE d.queue = q.id) held
      OFFSET q.max_waiting - 1) THEN
    PERFORM fairlead._refuse(format('queue %L: found more than %s messages, with the one to be '
      'sent; allowed: as many as max_waiting says; send again later', p_queue, q.max_waiting),
      'FL002');
  END IF;
  v_number := nextval('fairlead.numbers');
  v_key := coalesce(nullif(p_id, ''), 'm-' || v_number);
  IF p_due > now THEN
    INSERT INTO fairlead.delayed (id, queue, due, group_name, tenant, priority, key, expires, cost,
        type, format, body)
      VALUES (v_number, q.id, p_due, nullif(p_group, ''), coalesce(p_tenant, ''), p_priority, v_key,
        p_expires, p_cost, p_type, p_format, p_body);
  ELSE
    PERFORM fairlead._arrive(q, v_number, moment, nullif(p_group, ''), p_priority, v_key, p_type,
      coalesce(p_tenant, ''), p_cost, p_expires, p_format, p_body);
  END IF;
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost, type,
      actor, detail)
    VALUES (v_number, moment, 'sent', p_queue, coalesce(p_group, ''), v_key, coalesce(p_tenant, ''),
      CASE WHEN q.discipline = 'fifo' THEN NULL ELSE p_priority END, p_cost, p_type, p_actor,
      CASE WHEN p_due > now THEN 'due ' || p_due END);
  IF EXISTS (SELECT 1 FROM fairlead.sleepers s WHERE s.queue = q.id) THEN
    PERFORM pg_notify('fairlead_' || q.id, '');
  END IF;
  RETURN v_key;
END $$;

-- Send a message in the transaction that runs; its id. Text, JSON or bytes.
CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body text, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT fairlead._send(queue, 1, convert_to(body, 'UTF8'), "group", priority, id, type, tenant,
    cost, fairlead._now() + (extract(epoch FROM delay) * 1000000)::bigint,
    fairlead._now() + (extract(epoch FROM expires) * 1000000)::bigint, session_user)
$$;

CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body jsonb, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT fairlead._send(queue, 2, convert_to(body::text, 'UTF8'), "group", priority, id, type,
    tenant, cost, fairlead._now() + (extract(epoch FROM delay) * 1000000)::bigint,
    fairlead._now() + (extract(epoch FROM expires) * 1000000)::bigint, session_user)
$$;

CREATE OR REPLACE FUNCTION fairlead.send(
  queue text, body bytea, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL) RETURNS text
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT fairlead._send(queue, 0, body, "group", priority, id, type, tenant, cost,
    fairlead._now() + (extract(epoch FROM delay) * 1000000)::bigint,
    fairlead._now() + (extract(epoch FROM expires) * 1000000)::bigint, session_user)
$$;

-- Raise a group; whether it was raised. It waits for no reader.
CREATE OR REPLACE FUNCTION fairlead.prioritise(
  queue text, "group" text, priority integer DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  q fairlead.queues := fairlead._queue(queue, false);
  g record;
  v_number bigint;
  moment bigint := fairlead._moment(fairlead._now());
  raised bigint := coalesce(priority, q.default_priority);
BEGIN
  IF priority NOT BETWEEN 0 AND 255 THEN
    PERFORM fairlead._refuse(format(
      'priority: found %s, allowed: an integer from 0 to 255, or NULL', priority));
  END IF;
  SELECT x.id, x.tenant INTO g FROM fairlead.groups x
    WHERE x.queue = q.id AND x.name = "group";
  IF NOT FOUND OR q.discipline = 'fifo' THEN
    RETURN false;
  END IF;
  v_number := nextval('fairlead.numbers');
  INSERT INTO fairlead.notices (queue, group_id, kind, number, tenant, priority, at)
    VALUES (q.id, g.id, 'raised', v_number, g.tenant, raised, moment);
  INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, actor)
    VALUES (v_number, moment, 'raised', q.name, "group", '', g.tenant, raised, session_user);
  RETURN true;
END $$;

-- Put back or end a group that is held, or was picked; the caller has locked its row.
CREATE OR REPLACE FUNCTION fairlead._put_back(
  q fairlead.queues, p_id bigint, p_released boolean, p_failed boolean, p_not_before bigint)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  g fairlead.groups;
  n record;
  first record;
  v_priority bigint := -1;
  v_entered bigint := 0;
  raised bigint := 0;
  again boolean := false;
BEGIN
  SELECT * INTO g FROM fairlead.groups WHERE id = p_id;
  FOR n IN DELETE FROM fairlead.notices x WHERE x.group_id = p_id AND x.kind = 'raised'
      RETURNING x.number, x.priority, x.at LOOP
    IF n.priority IS NOT NULL AND n.number > raised THEN
      v_priority := n.priority; v_entered := n.at; raised := n.number;
    END IF;
  END LOOP;
  IF p_released AND raised = 0 THEN
    v_priority := g.was_priority; v_entered := g.was_entered; raised := g.was_number;
  END IF;
  LOOP
    SELECT m.id, m.arrived INTO first FROM fairlead.messages m WHERE m.group_id = p_id
      ORDER BY m.id LIMIT 1;
    EXIT WHEN FOUND OR raised <> 0;
    IF again THEN  -- nobody is sending to it, and nothing has come
      DELETE FROM fairlead.groups WHERE id = p_id;
      RETURN;
    END IF;
    PERFORM 1 FROM fairlead.groups WHERE id = p_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN  -- somebody is sending to it: it is looked at again in a moment
      p_not_before := fairlead._now() + 50000;
      EXIT;
    END IF;
    again := true;
  END LOOP;
  UPDATE fairlead.groups x SET
    state = CASE WHEN p_not_before IS NULL THEN 1 ELSE 3 END, not_before = p_not_before,
    priority = v_priority, entered = v_entered, number = raised,
    k1 = fairlead._k1(q.discipline, q.step, v_priority, v_entered, raised,
      coalesce(first.id, 0), coalesce(first.arrived, 0)),
    k2 = fairlead._k2(q.discipline, q.step, raised, coalesce(first.id, 0)),
    head = coalesce(first.id, 0), arrived = coalesce(first.arrived, 0),
    releases = CASE WHEN p_released THEN g.releases + 1 ELSE 0 END,
    failures = CASE WHEN p_released THEN g.failures + p_failed::integer ELSE 0 END,
    token = NULL, holder = NULL, deadline = NULL
    WHERE x.id = p_id;
END $$;

-- Messages are about to be done: the clusters that wait for them are told.
CREATE OR REPLACE FUNCTION fairlead._complete(p_numbers bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO fairlead.completions (cluster, destination, part, version)
    SELECT p.cluster, p.destination, p.part, p.version
    FROM fairlead.messages m JOIN fairlead.published p ON p.queue = m.queue AND p.key = m.key
    WHERE m.id = ANY (p_numbers) ORDER BY m.id;
  DELETE FROM fairlead.published WHERE (queue, key) IN (
    SELECT m.queue, m.key FROM fairlead.messages m WHERE m.id = ANY (p_numbers));
END $$;

-- Messages of a group become dead letters.
CREATE OR REPLACE FUNCTION fairlead._bury(
  q fairlead.queues, g fairlead.groups, p_numbers bigint[], p_reason text, p_attempt bigint,
  p_token bigint, p_kind text, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  now bigint := fairlead._now();
BEGIN
  INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority, key,
      cost, type, format, body)
    SELECT m.id, m.queue, now, p_reason, p_attempt, g.name, g.tenant,
      CASE WHEN g.was_priority >= 0 AND p_attempt > 0 THEN g.was_priority END, m.key, m.cost,
      m.type, m.format, m.body
    FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, attempt, token,
      actor, detail)
    SELECT fairlead._moment(now), p_kind, q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost,
      nullif(p_attempt, 0), p_token, p_actor, nullif(p_reason, '')
    FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id ORDER BY m.id;
  IF q.completing > 0 THEN
    PERFORM fairlead._complete(ARRAY (SELECT m.id FROM fairlead.messages m
      WHERE m.id = ANY (p_numbers) AND m.group_id = g.id));
  END IF;
  DELETE FROM fairlead.messages m WHERE m.id = ANY (p_numbers) AND m.group_id = g.id;
END $$;

-- Settle a group whose row the caller has locked.
CREATE OR REPLACE FUNCTION fairlead._end(
  q fairlead.queues, g fairlead.groups, p_outcome text, p_given bigint[], p_reason text,
  p_delay bigint, p_failed boolean, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  moment bigint := fairlead._moment(fairlead._now());
  done bigint[] := coalesce(p_given, '{}');
BEGIN
  IF p_outcome = 'released' AND NOT (p_failed AND coalesce(g.failures + 1 >= q.max_failures, false)) THEN
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, attempt, token,
        actor, detail)
      SELECT moment, 'released', q.name, coalesce(g.name, ''),
        CASE WHEN g.name IS NULL THEN coalesce(min(m.key), '') ELSE '' END, g.tenant,
        coalesce(sum(m.cost), 0), g.releases + 1, g.token, p_actor, nullif(p_reason, '')
      FROM fairlead.messages m WHERE m.group_id = g.id;
    PERFORM fairlead._put_back(q, g.id, true, p_failed,
      CASE WHEN p_delay > 0 THEN fairlead._now() + p_delay END);
    RETURN;
  END IF;
  IF p_outcome = 'accepted' THEN
    INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, cost, token, actor)
      SELECT moment, 'accepted', q.name, coalesce(g.name, ''), m.key, g.tenant, m.cost, g.token,
        p_actor
      FROM fairlead.messages m WHERE m.id = ANY (done) AND m.group_id = g.id ORDER BY m.id;
    IF NOT FOUND THEN
      INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, token, actor)
        VALUES (moment, 'accepted', q.name, coalesce(g.name, ''), '', g.tenant, g.token, p_actor);
    END IF;
    IF q.completing > 0 THEN
      PERFORM fairlead._complete(ARRAY (SELECT m.id FROM fairlead.messages m
        WHERE m.id = ANY (done) AND m.group_id = g.id));
    END IF;
    DELETE FROM fairlead.messages m WHERE m.id = ANY (done) AND m.group_id = g.id;
  ELSE
    IF p_failed AND done = '{}' THEN  -- nobody knows which message it was: the first, then
      done := ARRAY (SELECT m.id FROM fairlead.messages m WHERE m.group_id = g.id
        ORDER BY m.id LIMIT 1);
    END IF;
    PERFORM fairlead._bury(q, g, done, p_reason, g.releases + 1, g.token, 'rejected', p_actor);
    IF done = '{}' THEN
      INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, token, actor, detail)
        VALUES (moment, 'rejected', q.name, coalesce(g.name, ''), '', g.tenant, g.token, p_actor,
          nullif(p_reason, ''));
    END IF;
  END IF;
  IF g.name IS NULL AND NOT EXISTS (SELECT 1 FROM fairlead.messages m WHERE m.group_id = g.id) THEN
    DELETE FROM fairlead.groups WHERE id = g.id;  -- nobody can send to it, or raise it
  ELSE
    PERFORM fairlead._put_back(q, g.id, false, false, NULL);
  END IF;
END $$;

-- Bring a queue without tenants up to date, before a take.
CREATE OR REPLACE FUNCTION fairlead._chores(q fairlead.queues, p_actor text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  now bigint := fairlead._now();
  moment bigint := fairlead._moment(now);
  v_number bigint;
  g fairlead.groups;
  n record;
  d fairlead.delayed;
BEGIN
  FOR g IN SELECT * FROM fairlead.groups WHERE queue = q.id AND state = 2 AND deadline <= now
      ORDER BY deadline LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED LOOP
    PERFORM fairlead._end(q, g, 'released', '{}', 'its lease was over', 0, true, p_actor);
  END LOOP;
  FOR d IN WITH due_now AS (DELETE FROM fairlead.delayed WHERE id = ANY (ARRAY (
        SELECT id FROM fairlead.delayed WHERE queue = q.id AND due <= now ORDER BY due, id
        LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM due_now ORDER BY due, id LOOP
    v_number := nextval('fairlead.numbers');
    IF EXISTS (SELECT 1 FROM fairlead.groups x WHERE x.queue = q.id AND x.name = d.group_name
        AND x.tenant <> d.tenant) THEN
      INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority,
          key, cost, type, format, body)
        VALUES (v_number, q.id, now, 'its group is another tenant''s now', 0, d.group_name,
          d.tenant, d.priority, d.key, d.cost, d.type, d.format, d.body);
      INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
          type, actor, detail)
        VALUES (v_number, moment, 'rejected', q.name, d.group_name, d.key, d.tenant, d.priority,
          d.cost, d.type, p_actor, 'its group is another tenant''s now');
      CONTINUE;
    END IF;
    PERFORM fairlead._arrive(q, v_number, moment, d.group_name, d.priority, d.key, d.type, d.tenant,
      d.cost, d.expires, d.format, d.body);
    INSERT INTO fairlead.journal (id, time, kind, queue, group_name, key, tenant, priority, cost,
        type, actor)
      VALUES (v_number, moment, 'arrived', q.name, coalesce(d.group_name, ''), d.key, d.tenant,
        d.priority, d.cost, d.type, p_actor);
  END LOOP;
  FOR n IN SELECT x.id, x.group_id, x.number, x.priority, x.at,
        y.priority AS was, y.entered, y.number AS raised
      FROM fairlead.notices x JOIN fairlead.groups y ON y.id = x.group_id
      WHERE x.queue = q.id AND x.kind = 'raised' AND y.state <> 2 ORDER BY x.id LIMIT 1000
      FOR UPDATE OF x SKIP LOCKED FOR NO KEY UPDATE OF y SKIP LOCKED LOOP
    UPDATE fairlead.groups z SET
      priority = CASE WHEN n.priority IS NULL THEN z.priority ELSE n.priority END,
      entered = CASE WHEN n.priority IS NULL THEN z.entered ELSE n.at END,
      number = CASE WHEN n.priority IS NULL THEN z.number ELSE n.number END
      WHERE z.id = n.group_id;
    UPDATE fairlead.groups z SET head = coalesce(f.id, 0), arrived = coalesce(f.arrived, 0),
      k1 = fairlead._k1(q.discipline, q.step, z.priority, z.entered, z.number, coalesce(f.id, 0),
        coalesce(f.arrived, 0)),
      k2 = fairlead._k2(q.discipline, q.step, z.number, coalesce(f.id, 0))
      FROM (SELECT 1) AS one LEFT JOIN LATERAL (SELECT m.id, m.arrived FROM fairlead.messages m
        WHERE m.group_id = n.group_id ORDER BY m.id LIMIT 1) f ON true
      WHERE z.id = n.group_id;
    DELETE FROM fairlead.notices WHERE id = n.id;
  END LOOP;
  DELETE FROM fairlead.notices x WHERE x.queue = q.id AND NOT EXISTS (
    SELECT 1 FROM fairlead.groups y WHERE y.id = x.group_id);
  FOR g IN WITH woken AS (UPDATE fairlead.groups SET state = 1, not_before = NULL
        WHERE id = ANY (ARRAY (
          SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 3 AND not_before <= now
          ORDER BY not_before LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING *)
      SELECT * FROM woken ORDER BY id LOOP
    IF g.head = 0 THEN  -- somebody was sending to it: it stands where that message does
      UPDATE fairlead.groups z SET head = f.id, arrived = f.arrived,
        k1 = fairlead._k1(q.discipline, q.step, z.priority, z.entered, z.number, f.id, f.arrived),
        k2 = fairlead._k2(q.discipline, q.step, z.number, f.id)
        FROM (SELECT m.id, m.arrived FROM fairlead.messages m WHERE m.group_id = g.id
          ORDER BY m.id LIMIT 1) f
        WHERE z.id = g.id;
    ELSE
      INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor)
        VALUES (moment, 'woken', q.name, coalesce(g.name, ''), '', g.tenant, p_actor);
    END IF;
  END LOOP;
END $$;

-- Take the best group that nobody holds, or the one that is named, and its first messages.
CREATE OR REPLACE FUNCTION fairlead._take(
  p_queue text, p_group text, p_lease bigint, p_holder bigint, p_most bigint, p_actor text)
RETURNS TABLE (
  o_group_id bigint, o_group text, o_tenant text, o_priority bigint, o_releases bigint,
  o_token bigint, o_taken bigint, o_deadline bigint, o_k1 bigint, o_k2 bigint, o_number bigint,
  o_key text, o_arrived bigint, o_expires bigint, o_cost bigint, o_type text, o_format bigint,
  o_body bytea)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  q fairlead.queues;
  g fairlead.groups;
  now bigint := fairlead._now();
  moment bigint;
  gone bigint[];
  total bigint;
BEGIN
  IF p_lease < 1000 THEN
    PERFORM fairlead._refuse('lease: found less than a millisecond, allowed: 0.001 seconds or more');
  END IF;
  SELECT * INTO q FROM fairlead.queues WHERE name = p_queue;
  IF NOT FOUND OR q.enabled = 0 THEN
    RETURN;
  ELSIF q.by_library > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue of a service, or one that failures '
      'switch off, allowed in SQL: another one; take from it with the library', p_queue), 'FL004');
  ELSIF q.fair > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue that its tenants share, allowed in '
      'SQL: one without tenants; take from it with the library', p_queue), 'FL004');
  END IF;
  moment := fairlead._moment(now);
  IF EXISTS (SELECT 1 FROM fairlead.notices WHERE queue = q.id)
      OR EXISTS (SELECT 1 FROM fairlead.groups WHERE queue = q.id AND state = 3
        AND not_before <= now)
      OR EXISTS (SELECT 1 FROM fairlead.delayed WHERE queue = q.id AND due <= now)
      OR EXISTS (SELECT 1 FROM fairlead.groups WHERE queue = q.id AND state = 2
        AND deadline <= now) THEN
    PERFORM fairlead._chores(q, p_actor);
  END IF;
  LOOP
    IF p_group IS NULL THEN
      UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
          was_number = number, was_turn = 0, priority = -1, entered = 0, number = 0,
          token = nextval('fairlead.numbers'), holder = p_holder, taken = moment,
          deadline = now + p_lease
        WHERE id = (SELECT id FROM fairlead.groups WHERE queue = q.id AND state = 1
          ORDER BY k1, k2 LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING * INTO g;
    ELSE
      UPDATE fairlead.groups SET state = 2, was_priority = priority, was_entered = entered,
          was_number = number, was_turn = 0, priority = -1, entered = 0, number = 0,
          token = nextval('fairlead.numbers'), holder = p_holder, taken = moment,
          deadline = now + p_lease
        WHERE id = (SELECT id FROM fairlead.groups WHERE queue = q.id AND name = p_group
          AND state = 1 FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING * INTO g;
    END IF;
    IF g.id IS NULL THEN
      RETURN;
    END IF;
    gone := ARRAY (SELECT m.id FROM (SELECT x.id, x.expires FROM fairlead.messages x
      WHERE x.group_id = g.id ORDER BY x.id LIMIT p_most) m WHERE m.expires <= now);
    IF gone <> '{}' THEN
      PERFORM fairlead._bury(q, g, gone, 'it has expired', 0, NULL, 'expired', p_actor);
    END IF;
    SELECT sum(m.cost) INTO total FROM (SELECT x.cost FROM fairlead.messages x
      WHERE x.group_id = g.id ORDER BY x.id LIMIT p_most) m;
    EXIT WHEN total IS NOT NULL;
    PERFORM fairlead._put_back(q, g.id, false, false, NULL);
  END LOOP;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, priority, cost, attempt,
      token, actor, lease)
    VALUES (moment, 'taken', q.name, coalesce(g.name, ''),
      CASE WHEN g.name IS NULL
        THEN (SELECT m.key FROM fairlead.messages m WHERE m.group_id = g.id LIMIT 1) ELSE '' END,
      g.tenant, nullif(g.was_priority, -1), total, g.releases + 1, g.token, p_actor, g.deadline);
  RETURN QUERY SELECT g.id, coalesce(g.name, ''), g.tenant, g.was_priority, g.releases, g.token,
      g.taken, g.deadline, g.k1, g.k2, m.id, m.key, m.arrived, m.expires, m.cost, m.type, m.format,
      m.body
    FROM fairlead.messages m WHERE m.group_id = g.id ORDER BY m.id LIMIT p_most;
END $$;

-- Take the best group that nobody holds, or the one that is named: its messages, in their order.
-- No row: there is none. Settle it with its token and the numbers of these messages.
CREATE OR REPLACE FUNCTION fairlead.take(
  queue text, "group" text DEFAULT NULL, lease interval DEFAULT '60 seconds',
  most integer DEFAULT 1000)
RETURNS TABLE (token bigint, in_group text, priority bigint, attempt bigint, number bigint, id text,
  type text, body_text text, body bytea)
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT o_token, o_group, nullif(o_priority, -1), o_releases + 1, o_number, o_key, o_type,
    CASE WHEN o_format > 0 THEN convert_from(o_body, 'UTF8') END, o_body
  FROM fairlead._take(queue, "group", (extract(epoch FROM lease) * 1000000)::bigint, NULL, most,
    session_user)
$$;

-- What has arrived meanwhile for the group that is held with a token: all that was not given yet.
CREATE OR REPLACE FUNCTION fairlead.more(
  token bigint, given bigint[], most integer DEFAULT 1000)
RETURNS TABLE (number bigint, id text, type text, body_text text, body bytea)
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT m.id, m.key, m.type, CASE WHEN m.format > 0 THEN convert_from(m.body, 'UTF8') END, m.body
  FROM fairlead.groups g JOIN fairlead.messages m ON m.group_id = g.id
  WHERE g.token = more.token AND g.state = 2 AND m.id <> ALL (given)
    AND coalesce(m.expires > fairlead._now(), true)
  ORDER BY m.id LIMIT most
$$;

CREATE OR REPLACE FUNCTION fairlead._settle(
  p_token bigint, p_outcome text, p_given bigint[], p_reason text, p_delay bigint,
  p_failed boolean, p_actor text, p_id bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  q fairlead.queues;
  g fairlead.groups;
BEGIN
  IF p_outcome NOT IN ('accepted', 'rejected', 'released') OR p_outcome IS NULL THEN
    PERFORM fairlead._refuse(format(
      'outcome: found %L, allowed: accepted, rejected or released', p_outcome));
  END IF;
  IF p_id IS NOT NULL THEN
    SELECT * INTO g FROM fairlead.groups WHERE id = p_id AND token = p_token AND state = 2
      FOR NO KEY UPDATE;
  ELSE
    SELECT * INTO g FROM fairlead.groups WHERE token = p_token AND state = 2 FOR NO KEY UPDATE;
  END IF;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse(format('work with token %s: found that it is not this reader''s any '
      'more (its lease was over, or it was taken back), allowed: to read, extend or settle what '
      'one holds',
      p_token), 'FL003');
  END IF;
  SELECT * INTO q FROM fairlead.queues WHERE id = g.queue;
  IF q.by_library > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue of a service, or one that failures '
      'switch off, allowed in SQL: another one', q.name), 'FL004');
  ELSIF q.fair > 0 THEN
    PERFORM fairlead._refuse(format('queue %L: found a queue that its tenants share, allowed in '
      'SQL: one without tenants', q.name), 'FL004');
  END IF;
  PERFORM fairlead._end(q, g, p_outcome, p_given, p_reason, p_delay, p_failed, p_actor);
  IF EXISTS (SELECT 1 FROM fairlead.sleepers s WHERE s.queue = q.id) THEN
    PERFORM pg_notify('fairlead_' || q.id, '');
  END IF;
END $$;

-- Settle work in the transaction that runs. `given`: the numbers of the messages that are done
-- (accepted) or cannot be done (rejected); a release gives all back.
CREATE OR REPLACE FUNCTION fairlead.settle(
  token bigint, outcome text DEFAULT 'accepted', given bigint[] DEFAULT '{}',
  reason text DEFAULT '', delay interval DEFAULT '0') RETURNS void
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT fairlead._settle(token, outcome, given, reason,
    (extract(epoch FROM delay) * 1000000)::bigint, outcome = 'released' AND reason <> '',
    session_user)
$$;

-- Forget the first events, if they are older than events are kept, but for the latest event. Whoever
-- may call it does so with the rights of the schema's owner: so a reader can forget what is old, and
-- nothing else. A clock of the caller's own can only make it forget less.
CREATE OR REPLACE FUNCTION fairlead._forget_events(p_now bigint, p_most bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  before bigint;
BEGIN
  SELECT least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) - journal_keep
    INTO before FROM fairlead.schema FOR NO KEY UPDATE SKIP LOCKED;
  IF before IS NOT NULL THEN  -- else they are kept for ever, or somebody else is at it
    RETURN QUERY DELETE FROM fairlead.journal x WHERE x.id = ANY (ARRAY (
        SELECT j.id FROM (SELECT id, time FROM fairlead.journal ORDER BY id LIMIT p_most) j
        WHERE j.time < before AND j.id < (SELECT max(id) FROM fairlead.journal)))
      RETURNING x.id;
  END IF;
END $$;

-- Forget the oldest ids of messages, if their time is over; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_ids(p_now bigint, p_most bigint) RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM fairlead.message_ids x WHERE (x.queue, x.key) IN (
    SELECT i.queue, i.key
    FROM (SELECT queue, key, at FROM fairlead.message_ids ORDER BY at LIMIT p_most
          FOR UPDATE SKIP LOCKED) i
      LEFT JOIN fairlead.queues q ON q.id = i.queue  -- a cluster's ids have none
    WHERE i.at < least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
      - coalesce(q.remembered, 604800000000))
  RETURNING x.key
$$;

-- Forget what clusters were, as far back as no event is kept; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_stretches(p_now bigint, p_most bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  before bigint;
BEGIN
  SELECT least(p_now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) - journal_keep
    INTO before FROM fairlead.schema;
  RETURN QUERY DELETE FROM fairlead.stretches x WHERE (x.cluster, x.first, x.version) IN (
    SELECT s.cluster, s.first, s.version FROM fairlead.stretches s WHERE s.at < before AND EXISTS (
      SELECT 1 FROM fairlead.stretches later WHERE later.cluster = s.cluster AND later.at < before
        AND (later.first, later.version) > (s.first, s.version))
    LIMIT p_most)
    RETURNING x.first;
  DELETE FROM fairlead.versions v WHERE v.version < (
    SELECT min(s.version) FROM fairlead.stretches s WHERE s.cluster = v.cluster);
END $$;

-- Forget dialogs of which both ends have ended, each at the same moment; in the same way.
CREATE OR REPLACE FUNCTION fairlead._forget_ended(p_most bigint) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM fairlead.endpoints x WHERE x.dialog IN (
    SELECT dialog FROM fairlead.endpoints WHERE state = 3
    GROUP BY dialog HAVING count(*) = 2 LIMIT p_most)
  RETURNING x.id
$$;

-- Whether work is held. A transaction that is just settling it is waited for, but not for long: its
-- reader may ask because it has lost the connection while it committed.
CREATE OR REPLACE FUNCTION fairlead._is_held(p_token bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM 1 FROM fairlead.groups WHERE token = p_token AND state = 2 FOR SHARE;
  RETURN FOUND;
EXCEPTION WHEN lock_not_available THEN
  RETURN true;
END $$;

-- The decisions of a store are its own: nobody has a right to it until an administrator grants one.
REVOKE ALL ON SCHEMA fairlead FROM PUBLIC;

-- Clusters in plain SQL: choose, publish, look at machines, and change them. The store itself calls
-- _choose, because one statement is one way to the server and back. What is written is what
-- store/clusters/*.py writes, and they are held to the same tests.
--
-- A cluster's definition and state are the JSON of its version and of its stretch. In a state, the
-- rule has one entry for each member. Members are the destinations by name, under `circular` in the
-- order of the file; the definition's ids are in the same order.
-- SQLSTATE FL005: plain SQL does not know the cluster's policy; nothing was done. FL006: there is
-- nobody to publish to; nothing was sent or counted.

-- Why plain SQL can do nothing with a cluster: there is none, or its rule is Python's.
CREATE OR REPLACE FUNCTION fairlead._refuse_cluster(p_cluster text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  policy jsonb;
  names text[];
BEGIN
  SELECT v.definition::jsonb #> '{file,policy}' INTO policy
    FROM fairlead.clusters c JOIN fairlead.versions v ON v.cluster = c.id AND v.version = c.version
    WHERE c.name = p_cluster;
  IF FOUND THEN
    PERFORM fairlead._refuse(format('cluster %L: found the policy %s with these options, which '
      'plain SQL does not know, allowed: msmq, weighted, round-robin and hot-standby, or '
      'compositions that choose as they do, without affinity, slow_start and failback_delay; '
      'the library can', p_cluster, policy), 'FL005');
  END IF;
  names := ARRAY (SELECT c.name FROM fairlead.clusters c ORDER BY c.name COLLATE "C");
  PERFORM fairlead._refuse(format('cluster: found %L, allowed: %s%s', p_cluster,
    coalesce(nullif(array_to_string(names[:12], ', '), ''), 'none: no cluster was loaded yet'),
    CASE WHEN cardinality(names) > 12
      THEN format(', … (%s more)', cardinality(names) - 12) ELSE '' END));
END $$;

-- Whether a destination can be chosen. What its policy does not look at, it does not have. (This and
-- _members are parts of the statements of others; with a search_path of their own they would not be.)
CREATE OR REPLACE FUNCTION fairlead._passes(p_each jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT p_each -> 'present' = 'true' AND coalesce(p_each -> 'enabled' = 'true', true)
    AND coalesce(p_each ->> 'state' = 'up', true) AND coalesce(p_each -> 'draining' = 'false', true)
    AND coalesce(p_each -> 'weight' > '0', true)
$$;

CREATE OR REPLACE FUNCTION fairlead._members(p_rule text, p_definition jsonb)
RETURNS TABLE (place bigint, id bigint, name text, passes boolean)
LANGUAGE sql IMMUTABLE AS $$
  SELECT m.place, i.id::bigint, m.name, m.passes
  FROM (SELECT row_number() OVER (
          ORDER BY CASE WHEN p_rule <> 'circular' THEN o.each #>> '{1,name}' END COLLATE "C", o.at)
          AS place, o.each #>> '{1,name}' AS name, fairlead._passes(o.each -> 1) AS passes
        FROM jsonb_array_elements(p_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    ) m
    JOIN jsonb_array_elements_text(p_definition -> 'ids') WITH ORDINALITY AS i (id, place)
    USING (place)
$$;

-- The next choices, made ahead; 0 where nobody can be chosen.
--
-- Least served: member i's j-th choice from here has the value (count + j)/weight, and the lowest is
-- next. Values of weights below 2^63 that differ, differ by more than 10^-38; so their whole parts in
-- units of 10^-39 tell apart what differs, and nothing else. Of all values, those below (256 + sum of
-- counts)/(sum of weights) are 256 at least, whichever members are summed: the least of these bounds
-- leaves few values to be sorted.
CREATE OR REPLACE FUNCTION fairlead._ahead(p_rule text, p_definition jsonb, p_state jsonb)
RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
DECLARE
  r jsonb := p_state #> '{rules,0,1}';
  unit numeric := 1e39;
  ring bigint[];
BEGIN
  IF p_rule = 'least-served' THEN
    WITH m AS MATERIALIZED (
      SELECT x.place, x.id, v.count::numeric AS c, v.weight::numeric AS w
      FROM fairlead._members(p_rule, p_definition) x JOIN ROWS FROM (
          jsonb_array_elements_text(r -> 'count'), jsonb_array_elements_text(r -> 'weight')
        ) WITH ORDINALITY AS v (count, weight, place) USING (place)
      WHERE x.passes
    ), bound AS MATERIALIZED (
      SELECT min(div((256 + s.c) * unit, s.w)) + 1 AS value
      FROM (SELECT sum(m.c) OVER up_to AS c, sum(m.w) OVER up_to AS w
            FROM m WINDOW up_to AS (ORDER BY div(m.c * unit, m.w), m.place)) s
    ), k AS (
      SELECT m.id, row_number() OVER (ORDER BY div((m.c + j) * unit, m.w), m.w DESC, m.place) AS turn
      FROM m, bound, generate_series(0,
        div(greatest(m.w * bound.value - m.c * unit, 0) + unit - 1, unit)::bigint - 1) AS j
    )
    SELECT array_agg(k.id ORDER BY k.turn) INTO ring FROM k WHERE k.turn <= 256;
  ELSIF p_rule = 'circular' THEN
    ring := ARRAY (SELECT x.id FROM fairlead._members(p_rule, p_definition) x
      JOIN jsonb_array_elements_text(r -> 'ready') WITH ORDINALITY AS v (ready, place) USING (place)
      WHERE x.passes ORDER BY v.ready::numeric);
    ring := ARRAY (SELECT ring[1 + j % cardinality(ring)]
      FROM generate_series(0, 255) AS j WHERE ring <> '{}' ORDER BY j);
  ELSE
    SELECT array_fill(x.id, ARRAY[256]) INTO ring FROM fairlead._members(p_rule, p_definition) x
      WHERE x.passes ORDER BY x.place LIMIT 1;
  END IF;
  RETURN coalesce(nullif(ring, '{}'), array_fill(0::bigint, ARRAY[256]));
END $$;

-- The state after these choices, which were made ahead.
CREATE OR REPLACE FUNCTION fairlead._forward(
  p_rule text, p_definition jsonb, p_state jsonb, p_choices bigint[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
DECLARE
  r jsonb := p_state #> '{rules,0,1}';
  made bigint := cardinality(p_choices);
  sent jsonb;
  tick numeric := (r #>> '{tick,0}')::numeric;
  counts text := CASE p_rule WHEN 'circular' THEN 'held' ELSE 'count' END;
BEGIN
  IF p_choices[1] <> 0 THEN  -- else nobody can be chosen, which only a change changes
    IF p_rule = 'first-by-name' THEN
      r := jsonb_set(r, '{choices,0}', to_jsonb((r #>> '{choices,0}')::numeric + made));
    ELSE
      SELECT r || jsonb_build_object(counts,
            jsonb_agg(v.count::numeric + coalesce(t.times, 0) ORDER BY v.place))
          || CASE p_rule WHEN 'circular' THEN jsonb_build_object(
            'ready', jsonb_agg(coalesce(tick + t.latest, v.ready::numeric) ORDER BY v.place),
            'tick', jsonb_build_array(tick + made)) ELSE '{}' END
        INTO r
        FROM ROWS FROM (jsonb_array_elements_text(r -> counts),
            jsonb_array_elements_text(p_definition -> 'ids'),
            jsonb_array_elements_text(coalesce(r -> 'ready', '[]'))
          ) WITH ORDINALITY AS v (count, id, ready, place)
          LEFT JOIN (SELECT u.id, count(*) AS times, max(u.at) AS latest
            FROM unnest(p_choices) WITH ORDINALITY AS u (id, at) GROUP BY u.id) t
          ON t.id = v.id::bigint;
    END IF;
    p_state := jsonb_set(p_state, '{rules,0,1}', r);
    SELECT jsonb_agg(jsonb_build_array(s.id, s.sent) ORDER BY s.id) INTO sent
      FROM fairlead._sent(p_state, p_choices) s;
    p_state := jsonb_set(p_state, '{sent}', sent);
  END IF;
  RETURN jsonb_set(p_state, '{sequences,0,1}',
    to_jsonb((p_state #>> '{sequences,0,1}')::numeric + made));
END $$;

-- What destinations were sent since the last reset: as the state says, and by these choices since.
CREATE OR REPLACE FUNCTION fairlead._sent(p_state jsonb, p_choices bigint[])
RETURNS TABLE (id bigint, sent numeric)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
  SELECT x.id, sum(x.n) FROM (
    SELECT (e.each ->> 0)::bigint AS id, (e.each ->> 1)::numeric AS n
      FROM jsonb_array_elements(p_state -> 'sent') AS e (each)
    UNION ALL SELECT u.id, 1 FROM unnest(p_choices) AS u (id) WHERE u.id <> 0) x
  GROUP BY x.id
$$;

-- The destination of a turn beyond a stretch; the stretches up to it are written. Where tickets are
-- drawn, whoever finds the row locked, or that another has gone on, writes nothing.
CREATE OR REPLACE FUNCTION fairlead._go_on(
  p_id bigint, p_rule text, p_first bigint, p_version bigint, p_turn bigint, p_exact boolean,
  p_now bigint)
RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  definition jsonb;
  now_state jsonb;
  made bigint[];
  begins bigint := p_first;
  writes boolean := p_exact;
BEGIN
  IF NOT p_exact THEN
    PERFORM 1 FROM fairlead.clusters WHERE id = p_id AND version = p_version AND first = p_first
      FOR NO KEY UPDATE SKIP LOCKED;
    writes := FOUND;
  END IF;
  SELECT s.state::jsonb, s.choices, v.definition::jsonb INTO now_state, made, definition
    FROM fairlead.stretches s JOIN fairlead.versions v ON v.cluster = s.cluster
      AND v.version = s.version
    WHERE s.cluster = p_id AND s.first = p_first AND s.version = p_version;
  WHILE p_turn - begins >= cardinality(made) LOOP
    now_state := fairlead._forward(p_rule, definition, now_state, made);
    begins := begins + cardinality(made);
    made := fairlead._ahead(p_rule, definition, now_state);
    IF writes THEN
      INSERT INTO fairlead.stretches (cluster, first, version, at, number, state, choices)
        VALUES (p_id, begins, p_version, p_now, 0, now_state::text, made);
    END IF;
  END LOOP;
  IF writes THEN
    UPDATE fairlead.clusters
      SET first = begins, taken = CASE WHEN p_exact THEN p_turn - begins + 1 ELSE 0 END
      WHERE id = p_id;
  END IF;
  RETURN made[p_turn - begins + 1];
END $$;

-- A new version of a cluster begins, with an event that says why; its definition.
CREATE OR REPLACE FUNCTION fairlead._begin(
  p_id bigint, p_definition jsonb, p_state jsonb, p_turn bigint, p_at bigint, p_time bigint,
  p_actor text, p_target text, p_detail jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  c fairlead.clusters;
  event bigint;
  mark text := replace(gen_random_uuid()::text, '-', '');
  now_version bigint := (p_definition #>> '{shared,version}')::bigint + 1;
BEGIN
  SELECT * INTO c FROM fairlead.clusters WHERE id = p_id;
  p_definition := jsonb_set(p_definition, '{shared,version}', to_jsonb(now_version));
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor, detail, cluster,
      version, destination)
    VALUES (p_time, 'changed', '', '', '', '', p_actor, p_detail::text, c.name, now_version, p_target)
    RETURNING id INTO event;
  INSERT INTO fairlead.destinations AS d (cluster, id, name, address, queue)
    SELECT p_id, x.id, x.name, nullif(o.each #>> '{1,address}', ''), nullif(o.each #>> '{1,queue}', '')
    FROM fairlead._members(c.rule, p_definition) x
      JOIN jsonb_array_elements(p_definition #> '{shared,objects}') AS o (each)
      ON o.each #>> '{1,name}' = x.name
    ON CONFLICT (cluster, id) DO UPDATE SET address = excluded.address, queue = excluded.queue
      WHERE (d.address, d.queue) IS DISTINCT FROM (excluded.address, excluded.queue);
  INSERT INTO fairlead.versions (cluster, version, stamp, at, definition)
    VALUES (p_id, now_version, mark, p_at, p_definition::text);
  INSERT INTO fairlead.stretches (cluster, first, version, at, number, state, choices)
    VALUES (p_id, p_turn, now_version, p_at, event, p_state::text,
      fairlead._ahead(c.rule, p_definition, p_state));
  UPDATE fairlead.clusters SET version = now_version, stamp = mark, first = p_turn, taken = 0,
    due = reset_due WHERE id = p_id;
  RETURN p_definition;
END $$;

-- The state after a reset: nobody counts as served.
CREATE OR REPLACE FUNCTION fairlead._reset(p_rule text, p_definition jsonb, p_state jsonb)
RETURNS jsonb LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
DECLARE
  r jsonb := p_state #> '{rules,0,1}';
BEGIN
  IF p_rule = 'least-served' THEN
    r := jsonb_set(r, '{count}', (SELECT jsonb_agg(0) FROM jsonb_array_elements(r -> 'count')));
  ELSIF p_rule = 'circular' THEN
    SELECT r || jsonb_build_object('held', jsonb_agg(0), 'tick', jsonb_build_array(max(x.ready)),
        'ready', jsonb_agg(CASE WHEN x.passes THEN x.ready ELSE 0 END ORDER BY x.place))
      INTO r
      FROM (SELECT m.place, m.passes, count(*) FILTER (WHERE m.passes) OVER (ORDER BY m.place)
        AS ready FROM fairlead._members(p_rule, p_definition) m) x;
  ELSE
    r := '{"choices": [0]}';
  END IF;
  RETURN jsonb_set(jsonb_set(p_state, '{rules,0,1}', r), '{sent}', '[]');
END $$;

-- A cluster that nobody else chooses in or changes until the transaction ends, up to date: what was
-- due until then is done. `p_over`: choices that are counted in its row and were not made.
CREATE OR REPLACE FUNCTION fairlead._held(
  p_cluster text, p_until bigint, p_actor text, p_over bigint,
  OUT o_id bigint, OUT o_rule text, OUT o_turn bigint, OUT o_definition jsonb, OUT o_state jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  c fairlead.clusters;
  made bigint[];
  left_over bigint;
  reset bigint;
BEGIN
  SELECT * INTO c FROM fairlead.clusters WHERE name = p_cluster FOR NO KEY UPDATE;
  IF c.id IS NULL OR c.rule = '' THEN
    PERFORM fairlead._refuse_cluster(p_cluster);
  END IF;
  o_id := c.id;
  o_rule := c.rule;
  o_turn := c.first + c.taken - p_over;
  IF c.allocation = 'ticket' THEN  -- tickets that are drawn later are of what follows
    o_turn := nextval(format('fairlead.tickets_%s', c.id)::regclass) + 1;
  END IF;
  SELECT s.state::jsonb, s.choices, v.definition::jsonb INTO o_state, made, o_definition
    FROM fairlead.stretches s JOIN fairlead.versions v ON v.cluster = s.cluster
      AND v.version = s.version
    WHERE s.cluster = c.id AND s.first = c.first AND s.version = c.version;
  left_over := o_turn - c.first;
  WHILE left_over > 0 LOOP
    made := made[:left_over];
    o_state := fairlead._forward(c.rule, o_definition, o_state, made);
    left_over := left_over - cardinality(made);
    made := fairlead._ahead(c.rule, o_definition, o_state);
  END LOOP;
  IF c.due <= p_until THEN
    reset := c.reset_due + (p_until - c.reset_due) / c.reset_every * c.reset_every;
    UPDATE fairlead.clusters SET reset_due = reset + c.reset_every WHERE id = c.id;
    o_state := fairlead._reset(c.rule, o_definition, o_state);
    o_definition := fairlead._begin(c.id, o_definition, o_state, o_turn, p_until, reset, p_actor,
      NULL, '{"attribute": "reset", "value": null}');
  END IF;
END $$;

-- Choose for one message, count it and write it to the journal. No row, and nothing done: there is
-- no such cluster, or plain SQL does not know its policy.
CREATE OR REPLACE FUNCTION fairlead._choose(
  p_cluster text, p_group text, p_key text, p_type text, p_said text, p_actor text, p_now bigint)
RETURNS TABLE (o_destination text, o_address text, o_turn bigint, o_outcome text, o_version bigint,
  o_number bigint, o_id bigint)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  c record;
  s record;
  now bigint := coalesce(p_now, fairlead._now());
  exact boolean;
BEGIN
  LOOP
    UPDATE fairlead.clusters SET taken = taken + 1
      WHERE name = p_cluster AND allocation = 'exact' AND rule <> ''
      RETURNING id, rule, due, version, first, taken INTO c;
    exact := FOUND;
    IF NOT exact THEN
      SELECT id, rule, due, version, first, allocation INTO c FROM fairlead.clusters
        WHERE name = p_cluster;
      IF NOT FOUND OR c.rule = '' THEN
        RETURN;
      END IF;
      CONTINUE WHEN c.allocation = 'exact';  -- it was loaded anew meanwhile
    END IF;
    IF c.due <= now THEN
      PERFORM 1 FROM fairlead.clusters WHERE name = p_cluster AND due <= now AND rule <> ''
        FOR NO KEY UPDATE;
      IF FOUND THEN  -- nobody else has done it meanwhile
        PERFORM fairlead._held(p_cluster, now, p_actor, exact::integer);
      END IF;
      CONTINUE;
    END IF;
    -- a statement of its own: it sees what those have committed for whose row this one has waited
    IF exact THEN
      o_turn := c.first + c.taken - 1;
      SELECT x.first, x.version, x.choices[o_turn - x.first + 1] AS id INTO s
        FROM fairlead.stretches x
        WHERE x.cluster = c.id AND x.first = c.first AND x.version = c.version;
    ELSE
      o_turn := nextval(format('fairlead.tickets_%s', c.id)::regclass);
      SELECT x.first, x.version, x.choices[o_turn - x.first + 1] AS id INTO s
        FROM fairlead.stretches x WHERE x.cluster = c.id AND x.first <= o_turn
        ORDER BY x.first DESC, x.version DESC LIMIT 1;
    END IF;
    o_id := s.id;
    EXIT WHEN o_id IS NOT NULL;
    IF s.version = c.version THEN
      o_id := fairlead._go_on(c.id, c.rule, s.first, s.version, o_turn, exact, now);
      EXIT;
    END IF;  -- a ticket of before a change, beyond what was made ahead then: another is drawn
  END LOOP;
  o_version := s.version;
  o_outcome := 'no-destination';
  IF o_id <> 0 THEN
    o_outcome := 'routed';
    SELECT d.name, d.address INTO o_destination, o_address FROM fairlead.destinations d
      WHERE d.cluster = c.id AND d.id = o_id;
  END IF;
  INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, type, actor, cluster,
      version, stream, destination, address, outcome, sequence, said)
    VALUES (now, 'decided', '', coalesce(p_group, ''), coalesce(p_key, ''), '', nullif(p_type, ''),
      p_actor, p_cluster, o_version, p_cluster, o_destination, o_address, o_outcome, o_turn, p_said)
    RETURNING id INTO o_number;
  RETURN NEXT;
END $$;

-- What a message said, for the journal.
CREATE OR REPLACE FUNCTION fairlead._said(p_group text, p_type text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
  SELECT nullif(jsonb_strip_nulls(jsonb_build_object(
    'group', nullif(p_group, ''), 'type', nullif(p_type, ''))), '{}')::text
$$;

-- Choose where the next message of a cluster goes, and count it, in the transaction that runs. Where
-- nobody can be chosen, `destination` is null.
CREATE OR REPLACE FUNCTION fairlead.next_destination(
  cluster text, "group" text DEFAULT NULL, type text DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT outcome text)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  SELECT c.o_destination, c.o_address, c.o_turn, c.o_outcome
    INTO destination, address, sequence, outcome
    FROM fairlead._choose($1, $2, '', $3,
      CASE WHEN $2 <> '' OR $3 <> '' THEN fairlead._said($2, $3) END, session_user, NULL) c;
  IF NOT FOUND THEN
    PERFORM fairlead._refuse_cluster($1);
  END IF;
END $$;

-- Choose a destination and send a message to its queue. No row, and nothing done, where _choose has
-- none, unless that is to be refused. One that was published before has its first decision.
CREATE OR REPLACE FUNCTION fairlead._publish(
  p_cluster text, p_format bigint, p_body bytea, p_group text, p_priority bigint, p_id text,
  p_type text, p_tenant text, p_cost bigint, p_due bigint, p_expires bigint, p_said text,
  p_actor text, p_refuse boolean)
RETURNS TABLE (o_destination text, o_address text, o_turn bigint, o_outcome text, o_version bigint,
  o_number bigint, o_id bigint, o_key text)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  own bigint;
  now bigint := fairlead._now();
  content text;
  known text;
  to_queue text;
BEGIN
  SELECT c.id INTO own FROM fairlead.clusters c WHERE c.name = p_cluster AND c.rule <> '';
  IF own IS NULL THEN
    IF p_refuse THEN
      PERFORM fairlead._refuse_cluster(p_cluster);
    END IF;
    RETURN;
  END IF;
  IF p_id <> '' THEN
    content := encode(sha256(set_byte('\x00', 0, p_format::integer) || p_body), 'hex');
    INSERT INTO fairlead.message_ids AS i (queue, key, at, digest) VALUES (-own, p_id, now, content)
      ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at, digest = excluded.digest
        WHERE i.at < now - 604800000000;
    IF NOT FOUND THEN
      SELECT digest INTO known FROM fairlead.message_ids i WHERE i.queue = -own AND i.key = p_id;
      IF known <> content THEN
        PERFORM fairlead._refuse(format('id: found %L, which another message had before, allowed: '
          'an id of its own for each message', p_id));
      END IF;
      RETURN QUERY SELECT j.destination, j.address, j.sequence, j.outcome, j.version, j.id,
          NULL::bigint, p_id
        FROM fairlead.journal j
        WHERE j.cluster = p_cluster AND j.kind = 'decided' AND j.key <> '' AND j.key = p_id
        ORDER BY j.id DESC LIMIT 1;
      IF NOT FOUND THEN
        PERFORM fairlead._refuse(format('id: found %L, which was published before; the journal does '
          'not say any more where to; allowed: a new id', p_id));
      END IF;
      RETURN;
    END IF;
  END IF;
  SELECT * INTO o_destination, o_address, o_turn, o_outcome, o_version, o_number, o_id
    FROM fairlead._choose(p_cluster, p_group, p_id, p_type, p_said, p_actor, NULL);
  IF NOT FOUND THEN  -- it was loaded anew meanwhile
    PERFORM fairlead._refuse_cluster(p_cluster);
  ELSIF o_destination IS NULL THEN
    PERFORM fairlead._refuse(format('cluster %L: found no destination (%s), allowed: to publish '
      'again when there is one; nothing was sent or counted', p_cluster, o_outcome), 'FL006');
  END IF;
  SELECT coalesce(d.queue, d.name) INTO to_queue FROM fairlead.destinations d
    WHERE d.cluster = own AND d.id = o_id;
  o_key := fairlead._send(to_queue, p_format, p_body, p_group,
    p_priority, p_id, p_type, p_tenant, p_cost, p_due, p_expires, p_actor);
  RETURN NEXT;
END $$;

-- Choose a destination and send a message to its queue, in the transaction that runs: the queue that
-- its file names, else the one of its name. What comes after the body is as fairlead.send has it.
CREATE OR REPLACE FUNCTION fairlead.publish(
  cluster text, body text, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT message text)
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT o_destination, o_address, o_turn, o_key
  FROM fairlead._publish(cluster, 1, convert_to(body, 'UTF8'), "group", priority, id, type, tenant,
    cost, fairlead._now() + (extract(epoch FROM delay) * 1000000)::bigint,
    fairlead._now() + (extract(epoch FROM expires) * 1000000)::bigint,
    fairlead._said("group", type), session_user, true)
$$;

CREATE OR REPLACE FUNCTION fairlead.publish(
  cluster text, body jsonb, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT message text)
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT o_destination, o_address, o_turn, o_key
  FROM fairlead._publish(cluster, 2, convert_to(body::text, 'UTF8'), "group", priority, id, type, tenant,
    cost, fairlead._now() + (extract(epoch FROM delay) * 1000000)::bigint,
    fairlead._now() + (extract(epoch FROM expires) * 1000000)::bigint,
    fairlead._said("group", type), session_user, true)
$$;

CREATE OR REPLACE FUNCTION fairlead.publish(
  cluster text, body bytea, "group" text DEFAULT NULL, priority integer DEFAULT NULL,
  id text DEFAULT NULL, type text DEFAULT NULL, tenant text DEFAULT NULL, cost bigint DEFAULT 1,
  delay interval DEFAULT '0', expires interval DEFAULT NULL,
  OUT destination text, OUT address text, OUT sequence bigint, OUT message text)
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT o_destination, o_address, o_turn, o_key
  FROM fairlead._publish(cluster, 0, body, "group", priority, id, type, tenant,
    cost, fairlead._now() + (extract(epoch FROM delay) * 1000000)::bigint,
    fairlead._now() + (extract(epoch FROM expires) * 1000000)::bigint,
    fairlead._said("group", type), session_user, true)
$$;

-- -------- changes

-- A value for an attribute of a destination, in JSON; refused if it is not allowed.
CREATE OR REPLACE FUNCTION fairlead._value(p_attribute text, p_value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
DECLARE
  allowed text;
BEGIN
  IF p_attribute IN ('address', 'queue') THEN
    RETURN to_jsonb(coalesce(p_value, ''));
  ELSIF p_attribute = 'weight' THEN
    IF p_value ~ '^[0-9]{1,19}$' AND p_value::numeric <= 9223372036854775807 THEN
      RETURN to_jsonb(p_value::bigint);
    END IF;
    allowed := 'an integer from 0 to 9223372036854775807';
  ELSIF p_attribute = 'state' THEN
    IF p_value IN ('up', 'down') THEN
      RETURN to_jsonb(p_value);
    END IF;
    allowed := 'up, down';
  ELSE
    IF lower(p_value) IN ('true', 'false') THEN
      RETURN lower(p_value)::jsonb;
    END IF;
    allowed := 'true or false';
  END IF;
  PERFORM fairlead._refuse(format('change: %s: found %s, allowed: %s', p_attribute,
    coalesce(nullif(p_value, ''), 'nothing'), allowed));
END $$;

-- A cluster after an attribute of a destination has changed.
CREATE OR REPLACE FUNCTION fairlead._changed(
  p_rule text, INOUT x_definition jsonb, INOUT x_state jsonb, p_target text, p_attribute text,
  p_value jsonb)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
DECLARE
  r jsonb := x_state #> '{rules,0,1}';
  before jsonb;
  after jsonb;
  at text;
  tick numeric;
BEGIN
  SELECT (o.at - 1)::text, o.each -> 1 INTO at, before
    FROM jsonb_array_elements(x_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    WHERE o.each #>> '{1,name}' = p_target;
  after := jsonb_set(before, ARRAY[p_attribute], p_value);
  IF after = before THEN
    RETURN;
  END IF;
  x_definition := jsonb_set(x_definition, ARRAY['shared', 'objects', at, '1'], after);
  SELECT (m.place - 1)::text INTO at FROM fairlead._members(p_rule, x_definition) m
    WHERE m.name = p_target;
  IF p_rule = 'least-served' THEN
    r := jsonb_set(r, ARRAY['weight', at], after -> 'weight');
    r := jsonb_set(r, ARRAY['tie', at], to_jsonb(-(after ->> 'weight')::numeric));
    IF p_attribute = 'present' AND p_value = 'true' THEN
      r := jsonb_set(r, ARRAY['count', at], '0');
    END IF;
    IF x_definition -> 'level' = 'true' AND fairlead._passes(after)
        AND (NOT fairlead._passes(before) OR p_attribute = 'weight') THEN
      -- the lowest ratio of the others, times its weight, rounded down
      r := jsonb_set(r, ARRAY['count', at], (
        SELECT to_jsonb(coalesce(
          min(div((after ->> 'weight')::numeric * v.count::numeric, v.weight::numeric)), 0))
        FROM fairlead._members(p_rule, x_definition) m JOIN ROWS FROM (
            jsonb_array_elements_text(r -> 'count'), jsonb_array_elements_text(r -> 'weight')
          ) WITH ORDINALITY AS v (count, weight, place) USING (place)
        WHERE m.passes AND m.name <> p_target));
    END IF;
  ELSIF p_rule = 'circular' THEN
    r := jsonb_set(r, ARRAY['connected', at], to_jsonb(fairlead._passes(after)::integer));
    IF NOT fairlead._passes(after) THEN
      r := jsonb_set(r, ARRAY['ready', at], '0');
    ELSIF r #> ARRAY['ready', at] = '0' THEN  -- to the tail of the ring
      tick := (r #>> '{tick,0}')::numeric + 1;
      r := jsonb_set(jsonb_set(r, ARRAY['ready', at], to_jsonb(tick)), '{tick,0}', to_jsonb(tick));
    END IF;
  END IF;
  x_state := jsonb_set(x_state, '{rules,0,1}', r);
END $$;

-- Refuses what is no destination of a cluster.
CREATE OR REPLACE FUNCTION fairlead._check_target(p_definition jsonb, p_target text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  names text[] := ARRAY (SELECT o.each #>> '{1,name}'
    FROM jsonb_array_elements(p_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    ORDER BY o.at);
BEGIN
  IF p_target IS NULL OR p_target <> ALL (names) THEN
    PERFORM fairlead._refuse(format('change: target: found %L, allowed: %s%s', p_target,
      array_to_string(names[:12], ', '), CASE WHEN cardinality(names) > 12
        THEN format(', … (%s more)', cardinality(names) - 12) ELSE '' END));
  END IF;
END $$;

CREATE OR REPLACE FUNCTION fairlead._change(
  p_cluster text, p_target text, p_attribute text, p_value text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  now bigint := fairlead._now();
  h record;
  value jsonb := 'null';
  keys text[];
  in_sql text[] := '{present,enabled,draining,weight,state,address,queue}';
BEGIN
  SELECT * INTO h FROM fairlead._held(p_cluster, now - 1, session_user, 0);
  IF p_attribute = 'reset' THEN
    IF h.o_rule <> 'least-served' THEN
      PERFORM fairlead._refuse(format('change: reset: the policy of cluster %L counts nothing that '
        'could be reset', p_cluster));
    ELSIF p_target IS DISTINCT FROM p_cluster THEN
      PERFORM fairlead._refuse(format('change: target of a reset: found %L, allowed: %s', p_target,
        p_cluster));
    ELSIF coalesce(p_value, '') NOT IN ('', 'true') THEN
      PERFORM fairlead._refuse(format('change: value of a reset: found %L, allowed: nothing, or '
        'true', p_value));
    END IF;
    h.o_state := fairlead._reset(h.o_rule, h.o_definition, h.o_state);
  ELSE
    PERFORM fairlead._check_target(h.o_definition, p_target);
    keys := ARRAY (SELECT k FROM jsonb_object_keys(h.o_definition #> '{shared,objects,0,1}') AS k
      WHERE k <> 'name' ORDER BY array_position(in_sql, k), k);
    IF p_attribute IS NULL OR p_attribute <> ALL (keys) THEN
      PERFORM fairlead._refuse(format('change: attribute: found %L, allowed for destination:%s: %s',
        p_attribute, p_target, array_to_string(keys, ', ')));
    ELSIF p_attribute <> ALL (in_sql) OR (p_attribute, p_value) = ('state', 'failed') THEN
      PERFORM fairlead._refuse(format('change: found %s, which plain SQL does not change, allowed: '
        '%s; the library can', concat_ws(' ', p_attribute, p_value),
        (SELECT string_agg(k, ', ') FROM unnest(keys) AS k WHERE k = ANY (in_sql))), 'FL005');
    END IF;
    value := fairlead._value(p_attribute, p_value);
    SELECT x_definition, x_state INTO h.o_definition, h.o_state
      FROM fairlead._changed(h.o_rule, h.o_definition, h.o_state, p_target, p_attribute, value);
  END IF;
  PERFORM fairlead._begin(h.o_id, h.o_definition, h.o_state, h.o_turn, now, now, session_user,
    p_target, jsonb_build_object('attribute', p_attribute, 'value', value));
END $$;

-- Add a destination: a [[destination]] of the cluster's file, as JSON.
CREATE OR REPLACE FUNCTION fairlead._add(p_cluster text, p_table jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  now bigint := fairlead._now();
  h record;
  r jsonb;
  found_name text := p_table ->> 'name';
  template jsonb;
  wrong text;
  each jsonb;
  place text;
BEGIN
  SELECT * INTO h FROM fairlead._held(p_cluster, now - 1, session_user, 0);
  template := h.o_definition #> '{shared,objects,0,1}';
  SELECT k INTO wrong FROM jsonb_object_keys(p_table) AS k WHERE NOT template ? k
    ORDER BY k LIMIT 1;
  IF coalesce(found_name, '') = '' THEN
    PERFORM fairlead._refuse('destination: name: found nothing, allowed: a text that is not empty');
  ELSIF EXISTS (SELECT 1 FROM jsonb_array_elements(h.o_definition #> '{shared,objects}') AS o
      WHERE o #>> '{1,name}' = found_name) THEN
    PERFORM fairlead._refuse(format('destination: found %L twice in cluster %L, allowed: once',
      found_name, p_cluster));
  ELSIF wrong IS NOT NULL THEN
    PERFORM fairlead._refuse(format('destination %L: %s: found a key that its policy does not read, '
      'allowed: %s', found_name, wrong, (SELECT string_agg(k, ', ' ORDER BY k)
        FROM jsonb_object_keys(template) AS k)));
  ELSIF h.o_definition #> '{file,policy}' = '"msmq"' AND NOT p_table ? 'weight' THEN
    PERFORM fairlead._refuse(format('destination %L: weight: found nothing, allowed: an integer '
      'from 0 to 9223372036854775807', found_name));
  END IF;
  -- what every destination has; the policy's own keys only where the others have them
  SELECT jsonb_object_agg(k, coalesce(
      CASE WHEN k = 'name' THEN p_table -> k
        WHEN p_table ? k THEN fairlead._value(k, p_table ->> k) END,
      '{"readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up",
        "draining": false, "weight": 1, "capacity": 0}'::jsonb -> k))
    INTO each FROM jsonb_object_keys(template) AS k WHERE k <> 'present';
  SELECT (count(*) FILTER (WHERE h.o_rule = 'circular' OR m.name COLLATE "C" < found_name))::text
    INTO place FROM fairlead._members(h.o_rule, h.o_definition) m;
  each := each || '{"present": false}';  -- it joins when it is known
  h.o_definition := jsonb_insert(h.o_definition, '{file,destination,-1}', each, true);
  each := each || '{"speed": "1"}';
  h.o_definition := jsonb_insert(h.o_definition, '{shared,objects,-1}',
    jsonb_build_array(jsonb_build_array('destination', found_name, ''), each), true);
  h.o_definition := jsonb_insert(h.o_definition, ARRAY['ids', place], (
    SELECT to_jsonb(max(d.id) + 1) FROM fairlead.destinations d WHERE d.cluster = h.o_id));
  r := h.o_state #> '{rules,0,1}';
  SELECT r || coalesce(jsonb_object_agg(k.key, jsonb_insert(r -> k.key, ARRAY[place], k.value)),
      '{}') INTO r
    FROM jsonb_each(jsonb_build_object('count', 0, 'weight', each -> 'weight',
      'tie', -(each ->> 'weight')::numeric, 'ring', 1, 'ready', 0, 'held', 0, 'capacity', 0,
      'connected', 0, 'speed', 1000)) AS k WHERE r ? k.key;
  h.o_state := jsonb_set(h.o_state, '{rules,0,1}', r);
  SELECT x_definition, x_state INTO h.o_definition, h.o_state
    FROM fairlead._changed(h.o_rule, h.o_definition, h.o_state, found_name, 'present',
      fairlead._value('present', coalesce(p_table ->> 'present', 'true')));
  PERFORM fairlead._begin(h.o_id, h.o_definition, h.o_state, h.o_turn, now, now, session_user,
    found_name, jsonb_build_object('attribute', 'added', 'value', p_table));
END $$;

CREATE OR REPLACE FUNCTION fairlead._remove(p_cluster text, p_target text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  now bigint := fairlead._now();
  h record;
  r jsonb;
  at text;
  place text;
BEGIN
  SELECT * INTO h FROM fairlead._held(p_cluster, now - 1, session_user, 0);
  PERFORM fairlead._check_target(h.o_definition, p_target);
  IF jsonb_array_length(h.o_definition #> '{shared,objects}') = 1 THEN
    PERFORM fairlead._refuse('destination: found none, allowed: at least one [[destination]]');
  END IF;
  SELECT x_definition, x_state INTO h.o_definition, h.o_state
    FROM fairlead._changed(h.o_rule, h.o_definition, h.o_state, p_target, 'present', 'false');
  SELECT (o.at - 1)::text INTO at
    FROM jsonb_array_elements(h.o_definition #> '{shared,objects}') WITH ORDINALITY AS o (each, at)
    WHERE o.each #>> '{1,name}' = p_target;
  SELECT (m.place - 1)::text INTO place FROM fairlead._members(h.o_rule, h.o_definition) m
    WHERE m.name = p_target;
  h.o_definition := h.o_definition #- ARRAY['shared', 'objects', at]
    #- ARRAY['file', 'destination', at] #- ARRAY['ids', place];
  r := h.o_state #> '{rules,0,1}';
  SELECT r || coalesce(jsonb_object_agg(k, (r -> k) - place::integer), '{}') INTO r
    FROM unnest('{count,weight,tie,ring,ready,held,capacity,connected,speed}'::text[]) AS k
    WHERE r ? k;
  h.o_state := jsonb_set(h.o_state, '{rules,0,1}', r);
  PERFORM fairlead._begin(h.o_id, h.o_definition, h.o_state, h.o_turn, now, now, session_user,
    p_target, '{"attribute": "removed", "value": null}');
END $$;

-- Change an attribute of a destination, from the next choice on, for everybody.
CREATE OR REPLACE FUNCTION fairlead.change(
  cluster text, target text, attribute text, value text DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT fairlead._change(cluster, target, attribute, value)
$$;

-- Count everybody as not served.
CREATE OR REPLACE FUNCTION fairlead.reset(cluster text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog AS $$
  SELECT fairlead._change(cluster, cluster, 'reset', NULL)
$$;

-- -------- machines

-- The destinations of all clusters as they are now. `sent` counts since the last reset. Change
-- weight, enabled, present, draining, state, address or queue; insert and delete: it counts from the
-- next choice on.
CREATE OR REPLACE VIEW fairlead.machines WITH (security_invoker = true) AS
SELECT c.name AS cluster, o.name, nullif(o.each ->> 'address', '') AS address,
  (o.each ->> 'weight')::bigint AS weight, (o.each ->> 'enabled')::boolean AS enabled,
  (o.each ->> 'present')::boolean AS present, (o.each ->> 'draining')::boolean AS draining,
  o.each ->> 'state' AS state, nullif(o.each ->> 'queue', '') AS queue,
  coalesce((n.sent -> o.name)::bigint, 0) AS sent,
  coalesce((n.sent -> o.name)::numeric / n.total, 0)::double precision AS share
FROM fairlead.clusters c
JOIN fairlead.versions v ON v.cluster = c.id AND v.version = c.version
LEFT JOIN fairlead.stretches s ON s.cluster = c.id AND s.first = c.first AND s.version = c.version
  AND c.state IS NULL
CROSS JOIN LATERAL (SELECT v.definition::jsonb AS plain, coalesce(c.state, s.state)::jsonb AS state,
  CASE WHEN c.allocation = 'ticket' THEN
    (SELECT coalesce(max(q.last_value) + 1, 0) - c.first FROM pg_catalog.pg_sequences q
      WHERE q.schemaname = 'fairlead' AND q.sequencename = 'tickets_' || c.id)
    ELSE c.taken END AS taken OFFSET 0) p
CROSS JOIN LATERAL (SELECT sum(x.sent) AS total,
  jsonb_object_agg(d.name, x.sent) FILTER (WHERE p.plain -> 'ids' @> to_jsonb(x.id)) AS sent
  FROM fairlead._sent(p.state, CASE WHEN c.state IS NULL THEN s.choices[:p.taken] END) x
    JOIN fairlead.destinations d ON d.cluster = c.id AND d.id = x.id) n
CROSS JOIN LATERAL (SELECT e.each #>> '{1,name}' AS name, e.each -> 1 AS each
  FROM jsonb_array_elements(p.plain #> '{shared,objects}') AS e (each)
  WHERE e.each #>> '{0,0}' = 'destination') o;

CREATE OR REPLACE FUNCTION fairlead._machine() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  was jsonb;
  becomes jsonb;
  fixed text[] := '{cluster,name,sent,share}';
  k text;
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM fairlead._remove(OLD.cluster, OLD.name);
    RETURN OLD;
  END IF;
  becomes := jsonb_strip_nulls(to_jsonb(NEW));
  IF TG_OP = 'INSERT' THEN
    IF becomes ?| '{sent,share}' THEN
      PERFORM fairlead._refuse('machines: found a value for sent or share, allowed: none; they are '
        'counted');
    END IF;
    PERFORM fairlead._add(NEW.cluster, becomes - 'cluster');
    RETURN NEW;
  END IF;
  was := to_jsonb(OLD);
  becomes := to_jsonb(NEW);
  FOREACH k IN ARRAY fixed LOOP
    IF was -> k IS DISTINCT FROM becomes -> k THEN
      PERFORM fairlead._refuse(format('machines: found a change of %s, allowed: of weight, enabled, '
        'present, draining, state, address and queue', k));
    END IF;
  END LOOP;
  FOR k IN SELECT x.key FROM jsonb_each(becomes) AS x
      WHERE x.value IS DISTINCT FROM was -> x.key
      ORDER BY array_position('{weight,enabled,present,draining,state,address,queue}', x.key) LOOP
    PERFORM fairlead._change(NEW.cluster, NEW.name, k, becomes ->> k);
  END LOOP;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER machines INSTEAD OF INSERT OR UPDATE OR DELETE ON fairlead.machines
FOR EACH ROW EXECUTE FUNCTION fairlead._machine();


DELETE FROM fairlead.schema;

INSERT INTO fairlead.bindings (cluster, key, destination) VALUES
  ('3', '["on-group", "g0"]', 'a'),
  ('3', '["on-group", "g1"]', 'b');

INSERT INTO fairlead.clusters (id, name, allocation, rule, reset_every, reset_due, due, version, stamp, first, taken, revision, state) OVERRIDING SYSTEM VALUE VALUES
  ('1', 'busy', 'exact', '', '0', NULL, NULL, '0', '37ccd787683b3156', '0', '7', '2905148558592059801', '{"rules": [[[], {"pending": [4, 3], "speed": [1000, 1000], "cursor": [1], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [[[], 7]], "failed": [], "sent": [[1, 4], [2, 3]]}'),
  ('2', 'pool', 'exact', 'least-served', '0', NULL, NULL, '2', '75f499ce3685fa06', '8', '1', '2756068785368853171', NULL),
  ('3', 'ring', 'exact', '', '0', NULL, NULL, '0', 'bae06790e2d4bdbe', '0', '7', '552960419514661132', '{"rules": [[[], {"ring": [1, 1], "ready": [3, 4], "held": [1, 1], "capacity": [0, 0], "connected": [1, 1], "speed": [1000, 1000], "tick": [4], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [[[], 7]], "failed": [], "sent": [[1, 4], [2, 3]]}'),
  ('4', 'tickets', 'ticket', 'least-served', '0', NULL, NULL, '0', 'b3a54632b5ac8c99', '0', '0', '3014725242778122469', NULL);

INSERT INTO fairlead.completions (id, cluster, destination, part, version) OVERRIDING SYSTEM VALUE VALUES
  ('1', '1', '1', '[]', '0');

INSERT INTO fairlead.dead (id, queue, died, reason, attempt, group_name, tenant, priority, key, cost, type, conversation, format, body) VALUES
  ('22', '4', '1795422514472497', 'it is bad', '1', 'x', '', NULL, 'm-22', '1', NULL, NULL, '1', E'\\x626164');

INSERT INTO fairlead.declared (kind, name, definition) VALUES
  ('contract', 'Orders', '{"initiator": ["Order"], "target": ["Confirmation"], "any": []}'),
  ('message_type', 'Order', '{"validation": "json", "schema": null}'),
  ('message_type', 'Confirmation', '{"validation": "none", "schema": null}'),
  ('service', 'Shop', '{"queue": "shop", "contracts": ["Orders"], "max_readers": 10}'),
  ('service', 'Client', '{"queue": "client", "contracts": [], "max_readers": 1}');

INSERT INTO fairlead.delayed (id, queue, due, group_name, tenant, priority, key, expires, cost, type, conversation, format, body) VALUES
  ('9', '1', '1895422514434104', 'customer-1', '', NULL, 'm-9', NULL, '1', NULL, NULL, '1', E'\\x6c61746572');

INSERT INTO fairlead.destinations (cluster, id, name, address, queue) VALUES
  ('1', '1', 'x', NULL, NULL),
  ('1', '2', 'y', NULL, NULL),
  ('2', '2', 'DEV2', NULL, NULL),
  ('2', '1', 'DEV1', NULL, NULL),
  ('3', '1', 'a', NULL, NULL),
  ('3', '2', 'b', NULL, NULL),
  ('4', '1', 't1', NULL, NULL),
  ('4', '2', 't2', NULL, NULL);

INSERT INTO fairlead.endpoints (id, handle, dialog, side, service, far_service, contract, queue, group_name, state, sent, began, lifetime, bound) VALUES
  ('80', 'ed59b9dc9f8f8d29ea6ab9a6c9681996', '80', '0', 'Client', 'Shop', 'Orders', 'client', 'd-80/i', '1', '1', '1795422514593459', NULL, NULL),
  ('81', '213bfe7aedd45f65499d76978ba48def', '80', '1', 'Shop', 'Client', 'Orders', 'shop', 'd-80/t', '1', '1', '1795422514595726', NULL, NULL),
  ('83', '423cd1b2a61761408d75de28522ed553', '83', '0', 'Client', 'Shop', 'Orders', 'client', 'd-80/i', '1', '1', '1795422514599974', NULL, NULL),
  ('84', 'd3fada2b4f8831c386897b925a4bcd9e', '83', '1', 'Shop', 'Client', 'Orders', 'shop', 'd-83/t', '1', '0', '1795422514601726', NULL, NULL),
  ('88', 'fcc25536038c910d24d3b549a75a68f0', '88', '0', 'Client', 'Shop', 'Orders', 'client', 'd-88/i', '3', '2', '1795422514617006', NULL, NULL),
  ('89', '6cad90b4b21d4906a16a801a4b9f60f5', '88', '1', 'Shop', 'Client', 'Orders', 'shop', 'd-88/t', '1', '0', '1795422514618976', NULL, NULL);

INSERT INTO fairlead.files (cluster, loaded) VALUES
  ('1', '{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "x", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "y", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "busy", "options": {}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "fewest-pending", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}'),
  ('2', '{"allocation": "exact", "file": {"destination": [{"address": "", "capacity": 0, "enabled": true, "name": "DEV1", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 100}, {"address": "", "capacity": 0, "enabled": true, "name": "DEV2", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 200}], "name": "pool", "options": {"affinity": "none", "newcomer": "catch-up"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "msmq", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}'),
  ('3', '{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "a", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "b", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "ring", "options": {"affinity": "group"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "round-robin", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}'),
  ('4', '{"allocation": "ticket", "file": {"destination": [{"address": "", "capacity": 0, "enabled": true, "name": "t1", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 2}, {"address": "", "capacity": 0, "enabled": true, "name": "t2", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 1}], "name": "tickets", "options": {"affinity": "none", "newcomer": "catch-up"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "msmq", "store": {"allocation": "ticket", "reset_every": 0}}, "reset_every": 0}');

INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, priority, entered, number, head, arrived, was_priority, was_entered, was_number, was_turn, token, holder, taken, deadline, releases, failures, not_before) VALUES
  ('1', '1', 'customer-0', '', '0', '1', '1', '1', '-1', '0', '0', '1', '1795422514426518', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('10', '1', 'customer-9', '', '0', '1', '1', '10', '-1', '0', '0', '10', '1795422514435931', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('11', '2', 'a', '', '0', '1', '1795422574440365', '11', '-1', '0', '0', '11', '1795422514440365', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('12', '2', 'b', '', '0', '1', '1795422334440797', '12', '3', '1795422514440797', '12', '12', '1795422514440797', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('15', '3', 'g1', 'red', '1', '1', '1', '15', '-1', '0', '0', '15', '1795422514445974', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('16', '3', 'g2', 'blue', '1', '1', '1', '16', '-1', '0', '0', '16', '1795422514446353', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('17', '3', 'g3', 'red', '1', '1', '1', '17', '-1', '0', '0', '17', '1795422514446665', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('2', '1', 'customer-1', '', '0', '2', '-200', '5', '-1', '0', '0', '2', '1795422514429579', '200', '1795422514431312', '5', '0', '30', '1', '1795422514477348', '1795422574477348', '0', '0', NULL),
  ('26', '4', 'y', '', '0', '3', '1', '26', '-1', '0', '0', '26', '1795422514473842', '-1', '0', '0', '0', NULL, NULL, '1795422514474402', NULL, '1', '0', '1805422514476182'),
  ('3', '1', 'customer-2', '', '0', '1', '1', '3', '-1', '0', '0', '3', '1795422514430209', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('46', '6', NULL, '', '0', '1', '1', '46', '-1', '0', '0', '46', '1795422514521287', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('51', '5', NULL, '', '0', '1', '1', '51', '-1', '0', '0', '51', '1795422514530932', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('56', '6', NULL, '', '0', '1', '1', '56', '-1', '0', '0', '56', '1795422514539459', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('61', '5', NULL, '', '0', '1', '1', '61', '-1', '0', '0', '61', '1795422514548469', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('66', '6', NULL, '', '0', '1', '1', '66', '-1', '0', '0', '66', '1795422514556977', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('7', '1', NULL, '', '0', '1', '1', '7', '-1', '0', '0', '7', '1795422514433001', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('71', '5', NULL, '', '0', '1', '1', '71', '-1', '0', '0', '71', '1795422514565120', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('8', '1', NULL, '', '0', '1', '1', '8', '-1', '0', '0', '8', '1795422514433382', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('81', '7', 'd-80/t', '', '0', '2', '-7', '82', '-1', '0', '0', '81', '1795422514595726', '7', '1795422514598417', '82', '0', '85', '1', '1795422514607409', '1795422574607409', '0', '0', NULL),
  ('84', '7', 'd-83/t', '', '0', '1', '1', '84', '-1', '0', '0', '84', '1795422514601726', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('87', '8', 'd-80/i', '', '0', '1', '1', '87', '-1', '0', '0', '87', '1795422514614324', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL),
  ('89', '7', 'd-88/t', '', '0', '1', '1', '89', '-1', '0', '0', '89', '1795422514618976', '-1', '0', '0', '0', NULL, NULL, NULL, NULL, '0', '0', NULL);

INSERT INTO fairlead.holders (id, host, pid, name, since, stopping) OVERRIDING SYSTEM VALUE VALUES
  ('1', 'app-1', '3852', 'app-1:3852', '1795422514447109', '0');

INSERT INTO fairlead.journal (id, transaction, time, kind, queue, group_name, key, tenant, priority, cost, type, attempt, token, actor, lease, detail, cluster, version, stream, destination, address, outcome, sequence, said) VALUES
  ('1', '754', '1795422514426518', 'sent', 'orders', 'customer-0', 'o-0', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('10', '763', '1795422514435931', 'sent', 'orders', 'customer-9', 'm-10', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('11', '765', '1795422514440365', 'sent', 'aged', 'a', 'm-11', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('12', '766', '1795422514440797', 'sent', 'aged', 'b', 'm-12', '', '3', '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('13', '767', '1795422514441461', 'raised', 'aged', 'a', '', '', '5', NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('14', '769', '1795422514445423', 'sent', 'shared', 'g0', 'm-14', 'blue', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('15', '770', '1795422514445974', 'sent', 'shared', 'g1', 'm-15', 'red', NULL, '2', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('16', '771', '1795422514446353', 'sent', 'shared', 'g2', 'm-16', 'blue', NULL, '3', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('17', '772', '1795422514446665', 'sent', 'shared', 'g3', 'm-17', 'red', NULL, '4', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('19', '775', '1795422514456615', 'taken', 'shared', 'g0', '', 'blue', NULL, '1', NULL, '1', '18', 'app-1:3852', '1795422574456615', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('2', '755', '1795422514429579', 'sent', 'orders', 'customer-1', 'o-1', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('21', '776', '1795422514463600', 'accepted', 'shared', 'g0', 'm-14', 'blue', NULL, '1', NULL, NULL, '18', 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('22', '778', '1795422514468617', 'sent', 'small', 'x', 'm-22', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('24', '779', '1795422514469727', 'taken', 'small', 'x', '', '', NULL, '1', NULL, '1', '23', 'app-1:3852', '1795422574469727', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('25', '780', '1795422514472497', 'rejected', 'small', 'x', 'm-22', '', NULL, '1', NULL, '1', '23', 'app-1:3852', NULL, 'it is bad', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('26', '781', '1795422514473842', 'sent', 'small', 'y', 'm-26', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('28', '782', '1795422514474402', 'taken', 'small', 'y', '', '', NULL, '1', NULL, '1', '27', 'app-1:3852', '1795422574474402', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('29', '783', '1795422514475972', 'released', 'small', 'y', '', '', NULL, '1', NULL, '1', '27', 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('3', '756', '1795422514430209', 'sent', 'orders', 'customer-2', 'o-2', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('31', '784', '1795422514477348', 'taken', 'orders', 'customer-1', '', '', '200', '2', NULL, '1', '30', 'app-1:3852', '1795422574477348', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('32', '785', '1795422514480928', 'raised', 'orders', 'customer-1', '', '', '9', NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('33', '786', '1795422514482344', 'sent', 'orders', 'customer-1', 'm-33', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('34', '787', '1795422514487592', 'loaded', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, '{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "x", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "y", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "busy", "options": {}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "fewest-pending", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}', 'busy', '0', NULL, NULL, NULL, NULL, NULL, NULL),
  ('35', '787', '1795422514490946', 'loaded', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, '{"allocation": "exact", "file": {"destination": [{"address": "", "capacity": 0, "enabled": true, "name": "DEV1", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 100}, {"address": "", "capacity": 0, "enabled": true, "name": "DEV2", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 200}], "name": "pool", "options": {"affinity": "none", "newcomer": "catch-up"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "msmq", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}', 'pool', '0', NULL, NULL, NULL, NULL, NULL, NULL),
  ('36', '787', '1795422514493444', 'loaded', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, '{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "a", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "b", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "ring", "options": {"affinity": "group"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "round-robin", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}', 'ring', '0', NULL, NULL, NULL, NULL, NULL, NULL),
  ('37', '787', '1795422514495945', 'loaded', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, '{"allocation": "ticket", "file": {"destination": [{"address": "", "capacity": 0, "enabled": true, "name": "t1", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 2}, {"address": "", "capacity": 0, "enabled": true, "name": "t2", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 1}], "name": "tickets", "options": {"affinity": "none", "newcomer": "catch-up"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "msmq", "store": {"allocation": "ticket", "reset_every": 0}}, "reset_every": 0}', 'tickets', '0', NULL, NULL, NULL, NULL, NULL, NULL),
  ('38', '788', '1795422514499575', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '0', 'pool', 'DEV2', NULL, 'routed', '0', NULL),
  ('39', '789', '1795422514500954', 'decided', '', 'g0', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'ring', '0', 'ring', 'a', NULL, 'routed', '0', '{"group": "g0"}'),
  ('4', '757', '1795422514430772', 'sent', 'orders', 'customer-0', 'o-3', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('40', '790', '1795422514506455', 'decided', '', '', 'p-0', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'busy', '0', 'busy', 'x', NULL, 'routed', '0', NULL),
  ('41', '790', '1795422514509405', 'sent', 'x', '', 'p-0', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('42', '791', '1795422514514378', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'tickets', '0', 'tickets', 't1', NULL, 'routed', '0', NULL),
  ('43', '792', '1795422514515099', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '0', 'pool', 'DEV1', NULL, 'routed', '1', NULL),
  ('44', '793', '1795422514515797', 'decided', '', 'g1', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'ring', '0', 'ring', 'b', NULL, 'routed', '1', '{"group": "g1"}'),
  ('45', '794', '1795422514519545', 'decided', '', '', 'p-1', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'busy', '0', 'busy', 'y', NULL, 'routed', '1', NULL),
  ('46', '794', '1795422514521287', 'sent', 'y', '', 'p-1', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('47', '795', '1795422514524982', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'tickets', '0', 'tickets', 't2', NULL, 'routed', '1', NULL),
  ('48', '796', '1795422514525542', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '0', 'pool', 'DEV2', NULL, 'routed', '2', NULL),
  ('49', '797', '1795422514526247', 'decided', '', 'g0', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'bound', 'ring', '0', 'ring', 'a', NULL, 'routed', '2', '{"group": "g0"}'),
  ('5', '758', '1795422514431312', 'sent', 'orders', 'customer-1', 'o-4', '', '200', '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('50', '798', '1795422514529444', 'decided', '', '', 'p-2', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'busy', '0', 'busy', 'x', NULL, 'routed', '2', NULL),
  ('51', '798', '1795422514530932', 'sent', 'x', '', 'p-2', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('52', '799', '1795422514534529', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'tickets', '0', 'tickets', 't1', NULL, 'routed', '2', NULL),
  ('53', '800', '1795422514535007', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '0', 'pool', 'DEV2', NULL, 'routed', '3', NULL),
  ('54', '801', '1795422514535582', 'decided', '', 'g1', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'bound', 'ring', '0', 'ring', 'b', NULL, 'routed', '3', '{"group": "g1"}'),
  ('55', '802', '1795422514538322', 'decided', '', '', 'p-3', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'busy', '0', 'busy', 'y', NULL, 'routed', '3', NULL),
  ('56', '802', '1795422514539459', 'sent', 'y', '', 'p-3', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('57', '803', '1795422514542857', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'tickets', '0', 'tickets', 't1', NULL, 'routed', '3', NULL),
  ('58', '804', '1795422514543948', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '0', 'pool', 'DEV1', NULL, 'routed', '4', NULL),
  ('59', '805', '1795422514544578', 'decided', '', 'g0', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'bound', 'ring', '0', 'ring', 'a', NULL, 'routed', '4', '{"group": "g0"}'),
  ('6', '759', '1795422514432183', 'sent', 'orders', 'customer-2', 'o-5', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('60', '806', '1795422514547366', 'decided', '', '', 'p-4', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'busy', '0', 'busy', 'x', NULL, 'routed', '4', NULL),
  ('61', '806', '1795422514548469', 'sent', 'x', '', 'p-4', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('62', '807', '1795422514551766', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'tickets', '0', 'tickets', 't2', NULL, 'routed', '4', NULL),
  ('63', '808', '1795422514552260', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '0', 'pool', 'DEV2', NULL, 'routed', '5', NULL),
  ('64', '809', '1795422514552886', 'decided', '', 'g1', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'bound', 'ring', '0', 'ring', 'b', NULL, 'routed', '5', '{"group": "g1"}'),
  ('65', '810', '1795422514555902', 'decided', '', '', 'p-5', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'busy', '0', 'busy', 'y', NULL, 'routed', '5', NULL),
  ('66', '810', '1795422514556977', 'sent', 'y', '', 'p-5', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('67', '811', '1795422514560080', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'tickets', '0', 'tickets', 't1', NULL, 'routed', '5', NULL),
  ('68', '812', '1795422514560518', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '0', 'pool', 'DEV2', NULL, 'routed', '6', NULL),
  ('69', '813', '1795422514561079', 'decided', '', 'g0', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'bound', 'ring', '0', 'ring', 'a', NULL, 'routed', '6', '{"group": "g0"}'),
  ('7', '760', '1795422514433001', 'sent', 'orders', '', 'm-7', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('70', '814', '1795422514563977', 'decided', '', '', 'p-6', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'busy', '0', 'busy', 'x', NULL, 'routed', '6', NULL),
  ('71', '814', '1795422514565120', 'sent', 'x', '', 'p-6', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('72', '815', '1795422514568212', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'tickets', '0', 'tickets', 't1', NULL, 'routed', '6', NULL),
  ('73', '816', '1795422514569210', 'changed', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, '{"attribute": "enabled", "value": false}', 'pool', '1', NULL, 'DEV1', NULL, NULL, NULL, NULL),
  ('74', '817', '1795422514576012', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '1', 'pool', 'DEV2', NULL, 'routed', '7', NULL),
  ('75', '818', '1795422514576721', 'changed', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, '{"attribute": "enabled", "value": true}', 'pool', '2', NULL, 'DEV1', NULL, NULL, NULL, NULL),
  ('76', '819', '1795422514581814', 'decided', '', '', '', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, 'pool', '2', 'pool', 'DEV1', NULL, 'routed', '8', NULL),
  ('78', '820', '1795422514583482', 'taken', 'x', '', 'p-0', '', NULL, '1', NULL, '1', '77', 'app-1:3852', '1795422574583482', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('79', '821', '1795422514584743', 'accepted', 'x', '', 'p-0', '', NULL, '1', NULL, NULL, '77', 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('8', '761', '1795422514433382', 'sent', 'orders', '', 'm-8', '', NULL, '1', 'bytes', NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('80', '823', '1795422514593459', 'begun', 'client', 'd-80/i', 'd-80/i', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'Client to Shop, contract Orders', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('81', '824', '1795422514595726', 'sent', 'shop', 'd-80/t', 'd-80/i/0', '', NULL, '1', 'Order', NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('82', '825', '1795422514598417', 'raised', 'shop', 'd-80/t', '', '', '7', NULL, NULL, NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('83', '826', '1795422514599974', 'begun', 'client', 'd-80/i', 'd-83/i', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'Client to Shop, contract Orders', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('84', '827', '1795422514601726', 'sent', 'shop', 'd-83/t', 'd-83/i/0', '', NULL, '1', 'Order', NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('86', '828', '1795422514607409', 'taken', 'shop', 'd-80/t', '', '', '7', '1', NULL, '1', '85', 'app-1:3852', '1795422574607409', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('87', '829', '1795422514614324', 'sent', 'client', 'd-80/i', 'd-80/t/0', '', NULL, '1', 'Confirmation', NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('88', '830', '1795422514617006', 'begun', 'client', 'd-88/i', 'd-88/i', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'Client to Shop, contract Orders', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('89', '831', '1795422514618976', 'sent', 'shop', 'd-88/t', 'd-88/i/0', '', NULL, '1', 'Order', NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('9', '762', '1795422514434104', 'sent', 'orders', 'customer-1', 'm-9', '', NULL, '1', NULL, NULL, NULL, 'app-1:3852', NULL, 'due 1895422514434104', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('90', '832', '1795422514622090', 'ended', 'client', 'd-88/i', 'd-88/i', '', NULL, NULL, NULL, NULL, NULL, 'app-1:3852', NULL, 'with error 7: no', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('91', '832', '1795422514623138', 'sent', 'shop', 'd-88/t', 'd-88/i/1', '', NULL, '1', 'Error', NULL, NULL, 'app-1:3852', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

INSERT INTO fairlead.message_ids (queue, key, at, digest) VALUES
  ('-1', 'p-6', '1795422514563509', '3035cb6fafdc8cd7735f83ed51e60219a7c7bb51cb3ad1d00494c25633bf9c15'),
  ('-1', 'p-1', '1795422514518951', '69fe3dd9b3d92448468cc52aa91e2fbd4bbadb410eee8ef94a0f00c85f60eeef'),
  ('-1', 'p-5', '1795422514555437', '853d9db5742f56877c60877ff0c3eb952abf631d4a7d9230819cfff6249df8a2'),
  ('-1', 'p-2', '1795422514528850', '6172f099c6fbd72831a58646a09f93987e81c9dbd8b63e3bdb4f9cc4e8a4a48c'),
  ('-1', 'p-4', '1795422514546928', '9665a4b6b0c9032217067463373ab82910e8ef794f8eba1fc065822f2ae09404'),
  ('-1', 'p-3', '1795422514537828', '6102112886b1177f73c3cae073dd7202c1f1bdf5605a8d75b1a079a7cde3c21d'),
  ('-1', 'p-0', '1795422514505760', '9b5c944fe5a32027ea1247b0924bf982cf86dbe15aec22d1166a13decb93b04a'),
  ('1', 'o-0', '1795422514426518', '9b5c944fe5a32027ea1247b0924bf982cf86dbe15aec22d1166a13decb93b04a'),
  ('1', 'o-1', '1795422514429579', '69fe3dd9b3d92448468cc52aa91e2fbd4bbadb410eee8ef94a0f00c85f60eeef'),
  ('1', 'o-2', '1795422514430209', '6172f099c6fbd72831a58646a09f93987e81c9dbd8b63e3bdb4f9cc4e8a4a48c'),
  ('1', 'o-3', '1795422514430772', '6102112886b1177f73c3cae073dd7202c1f1bdf5605a8d75b1a079a7cde3c21d'),
  ('1', 'o-4', '1795422514431312', '9665a4b6b0c9032217067463373ab82910e8ef794f8eba1fc065822f2ae09404'),
  ('1', 'o-5', '1795422514432183', '853d9db5742f56877c60877ff0c3eb952abf631d4a7d9230819cfff6249df8a2'),
  ('5', 'p-4', '1795422514548469', '9665a4b6b0c9032217067463373ab82910e8ef794f8eba1fc065822f2ae09404'),
  ('5', 'p-0', '1795422514509405', '9b5c944fe5a32027ea1247b0924bf982cf86dbe15aec22d1166a13decb93b04a'),
  ('5', 'p-6', '1795422514565120', '3035cb6fafdc8cd7735f83ed51e60219a7c7bb51cb3ad1d00494c25633bf9c15'),
  ('5', 'p-2', '1795422514530932', '6172f099c6fbd72831a58646a09f93987e81c9dbd8b63e3bdb4f9cc4e8a4a48c'),
  ('6', 'p-1', '1795422514521287', '69fe3dd9b3d92448468cc52aa91e2fbd4bbadb410eee8ef94a0f00c85f60eeef'),
  ('6', 'p-3', '1795422514539459', '6102112886b1177f73c3cae073dd7202c1f1bdf5605a8d75b1a079a7cde3c21d'),
  ('6', 'p-5', '1795422514556977', '853d9db5742f56877c60877ff0c3eb952abf631d4a7d9230819cfff6249df8a2');

INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, expires, cost, type, conversation, format, body) VALUES
  ('-91', '7', '89', 'd-88/i/1', '1795422514623138', NULL, '1', 'Error', '89', '2', E'\\x7b22636f6465223a372c226465736372697074696f6e223a226e6f227d'),
  ('1', '1', '1', 'o-0', '1795422514426518', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a307d'),
  ('10', '1', '10', 'm-10', '1795422514435931', '1895422514435931', '1', NULL, NULL, '1', E'\\x6e6f742077616e746564'),
  ('11', '2', '11', 'm-11', '1795422514440365', NULL, '1', NULL, NULL, '2', E'\\x31'),
  ('12', '2', '12', 'm-12', '1795422514440797', NULL, '1', NULL, NULL, '2', E'\\x32'),
  ('15', '3', '15', 'm-15', '1795422514445974', NULL, '2', NULL, NULL, '2', E'\\x31'),
  ('16', '3', '16', 'm-16', '1795422514446353', NULL, '3', NULL, NULL, '2', E'\\x32'),
  ('17', '3', '17', 'm-17', '1795422514446665', NULL, '4', NULL, NULL, '2', E'\\x33'),
  ('2', '1', '2', 'o-1', '1795422514429579', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a317d'),
  ('26', '4', '26', 'm-26', '1795422514473842', NULL, '1', NULL, NULL, '1', E'\\x616761696e'),
  ('3', '1', '3', 'o-2', '1795422514430209', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a327d'),
  ('33', '1', '2', 'm-33', '1795422514482344', NULL, '1', NULL, NULL, '1', E'\\x6d65616e7768696c65'),
  ('4', '1', '1', 'o-3', '1795422514430772', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a337d'),
  ('46', '6', '46', 'p-1', '1795422514521287', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a317d'),
  ('5', '1', '2', 'o-4', '1795422514431312', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a347d'),
  ('51', '5', '51', 'p-2', '1795422514530932', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a327d'),
  ('56', '6', '56', 'p-3', '1795422514539459', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a337d'),
  ('6', '1', '3', 'o-5', '1795422514432183', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a357d'),
  ('61', '5', '61', 'p-4', '1795422514548469', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a347d'),
  ('66', '6', '66', 'p-5', '1795422514556977', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a357d'),
  ('7', '1', '7', 'm-7', '1795422514433001', NULL, '1', NULL, NULL, '1', E'\\x616c6f6e65'),
  ('71', '5', '71', 'p-6', '1795422514565120', NULL, '1', NULL, NULL, '2', E'\\x7b226e223a367d'),
  ('8', '1', '8', 'm-8', '1795422514433382', NULL, '1', 'bytes', NULL, '0', E'\\x00ff'),
  ('81', '7', '81', 'd-80/i/0', '1795422514595726', NULL, '1', 'Order', '81', '2', E'\\x7b226e223a317d'),
  ('84', '7', '84', 'd-83/i/0', '1795422514601726', NULL, '1', 'Order', '84', '2', E'\\x7b226e223a327d'),
  ('87', '8', '87', 'd-80/t/0', '1795422514614324', NULL, '1', 'Confirmation', '80', '1', E'\\x796573'),
  ('89', '7', '89', 'd-88/i/0', '1795422514618976', NULL, '1', 'Order', '89', '2', E'\\x7b226e223a337d');

INSERT INTO fairlead.notices (id, queue, group_id, kind, number, tenant, priority, at, cost, turn, placed) OVERRIDING SYSTEM VALUE VALUES
  ('2', '2', '11', 'raised', '13', '', '5', '1795422514441461', NULL, NULL, '0'),
  ('7', '3', '14', 'settled', '20', 'blue', NULL, NULL, '0', '14', '0'),
  ('8', '1', '2', 'raised', '32', '', '9', '1795422514480928', NULL, NULL, '0');

INSERT INTO fairlead.published (queue, key, cluster, destination, part, version) VALUES
  ('5', 'p-2', '1', '1', '[]', '0'),
  ('5', 'p-4', '1', '1', '[]', '0'),
  ('5', 'p-6', '1', '1', '[]', '0'),
  ('6', 'p-1', '1', '2', '[]', '0'),
  ('6', 'p-3', '1', '2', '[]', '0'),
  ('6', 'p-5', '1', '2', '[]', '0');

INSERT INTO fairlead.queues (id, name, discipline, default_priority, step, weights, fair, tag_clock, lined, works, max_waiting, max_failures, completing, enabled, poison, by_library, remembered) OVERRIDING SYSTEM VALUE VALUES
  ('1', 'orders', 'priority', '100', '0', '{}', '0', '', '0', '0', NULL, '5', '0', '1', 'dead-letters', '0', '604800000000'),
  ('2', 'aged', 'priority', '100', '60000000', '{}', '0', '', '0', '0', NULL, '5', '0', '1', 'dead-letters', '0', '604800000000'),
  ('3', 'shared', 'priority', '100', '0', '{"blue": 1, "red": 2}', '2', '1000000000000000000000000000000000000000', '2', '1', NULL, '5', '0', '1', 'dead-letters', '0', '604800000000'),
  ('4', 'small', 'priority', '100', '0', '{}', '0', '', '0', '0', '3', '1', '0', '1', 'dead-letters', '0', '604800000000'),
  ('5', 'x', 'priority', '100', '0', '{}', '0', '', '0', '0', NULL, '5', '1', '1', 'dead-letters', '0', '604800000000'),
  ('6', 'y', 'priority', '100', '0', '{}', '0', '', '0', '0', NULL, '5', '1', '1', 'dead-letters', '0', '604800000000'),
  ('7', 'shop', 'priority', '100', '0', '{}', '0', '', '0', '0', NULL, '5', '0', '1', 'dead-letters', '1', '604800000000'),
  ('8', 'client', 'priority', '100', '0', '{}', '0', '', '0', '0', NULL, '5', '0', '1', 'dead-letters', '1', '604800000000');

INSERT INTO fairlead.schema (version, store, declared, journal_keep, pruned_transaction, pruned_id) VALUES
  ('1', '267d3988-5c03-4c9a-b223-79cb10978e91', '1', '2592000000000', '0', '0');

INSERT INTO fairlead.stretches (cluster, first, version, at, number, state, choices) VALUES
  ('1', '0', '0', '1795422514487592', '34', '{"rules": [[[], {"pending": [0, 0], "speed": [1000, 1000], "cursor": [0], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [], "failed": [], "sent": []}', NULL),
  ('2', '0', '0', '1795422514490946', '35', '{"rules": [[[], {"count": [0, 0], "weight": [100, 200], "tie": [-100, -200], "setting": [1, -1, 0]}]], "untouched": null, "sequences": [[[], 0]], "failed": [], "sent": []}', '{2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2}'),
  ('2', '7', '1', '1795422514569210', '73', '{"rules": [[[], {"count": [2, 5], "weight": [100, 200], "tie": [-100, -200], "setting": [1, -1, 0]}]], "untouched": null, "sequences": [[[], 7]], "failed": [], "sent": [[1, 2], [2, 5]]}', '{2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2}'),
  ('2', '8', '2', '1795422514576721', '75', '{"rules": [[[], {"count": [2, 6], "weight": [100, 200], "tie": [-100, -200], "setting": [1, -1, 0]}]], "untouched": null, "sequences": [[[], 8]], "failed": [], "sent": [[1, 2], [2, 6]]}', '{1,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,1,2}'),
  ('3', '0', '0', '1795422514493444', '36', '{"rules": [[[], {"ring": [1, 1], "ready": [1, 2], "held": [0, 0], "capacity": [0, 0], "connected": [1, 1], "speed": [1000, 1000], "tick": [2], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [], "failed": [], "sent": []}', NULL),
  ('4', '0', '0', '1795422514495945', '37', '{"rules": [[[], {"count": [0, 0], "weight": [2, 1], "tie": [-2, -1], "setting": [1, -1, 0]}]], "untouched": null, "sequences": [[[], 0]], "failed": [], "sent": []}', '{1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1,2,1,1}');

INSERT INTO fairlead.tenants (queue, name, tag, turn, works, lined) VALUES
  ('3', 'blue', '1000000000000000000000000000000000000002', '18', '1', '1'),
  ('3', 'red', '1000000000000000000000000000000000000000', '15', '0', '1');

INSERT INTO fairlead.versions (cluster, version, stamp, at, definition) VALUES
  ('1', '0', '37ccd787683b3156', '1795422514487592', '{"file": {"policy": "fewest-pending", "name": "busy", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "x", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}, {"name": "y", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], "options": {}}, "shared": {"version": 0, "objects": [[["destination", "x", ""], {"name": "x", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], [["destination", "y", ""], {"name": "y", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}]], "pending": [], "paces": []}, "ids": [1, 2], "ahead": false, "level": false}'),
  ('2', '0', '26e76a8aa0448479', '1795422514490946', '{"file": {"policy": "msmq", "name": "pool", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "DEV1", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}, {"name": "DEV2", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}], "options": {"newcomer": "catch-up", "affinity": "none"}}, "shared": {"version": 0, "objects": [[["destination", "DEV1", ""], {"name": "DEV1", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}], [["destination", "DEV2", ""], {"name": "DEV2", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}]], "pending": []}, "ids": [1, 2], "ahead": true, "level": false}'),
  ('2', '1', '93821063829ab869', '1795422514569210', '{"file": {"policy": "msmq", "name": "pool", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "DEV1", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}, {"name": "DEV2", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}], "options": {"newcomer": "catch-up", "affinity": "none"}}, "shared": {"version": 1, "objects": [[["destination", "DEV1", ""], {"name": "DEV1", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 100, "enabled": false, "capacity": 0}], [["destination", "DEV2", ""], {"name": "DEV2", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}]], "pending": []}, "ids": [1, 2], "ahead": true, "level": false}'),
  ('2', '2', '75f499ce3685fa06', '1795422514576721', '{"file": {"policy": "msmq", "name": "pool", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "DEV1", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}, {"name": "DEV2", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}], "options": {"newcomer": "catch-up", "affinity": "none"}}, "shared": {"version": 2, "objects": [[["destination", "DEV1", ""], {"name": "DEV1", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}], [["destination", "DEV2", ""], {"name": "DEV2", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}]], "pending": []}, "ids": [1, 2], "ahead": true, "level": false}'),
  ('3', '0', 'bae06790e2d4bdbe', '1795422514493444', '{"file": {"policy": "round-robin", "name": "ring", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "a", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}, {"name": "b", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], "options": {"affinity": "group"}}, "shared": {"version": 0, "objects": [[["destination", "a", ""], {"name": "a", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], [["destination", "b", ""], {"name": "b", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}]], "pending": [], "paces": []}, "ids": [1, 2], "ahead": false, "level": false}'),
  ('4', '0', 'b3a54632b5ac8c99', '1795422514495945', '{"file": {"policy": "msmq", "name": "tickets", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "ticket", "reset_every": 0}, "destination": [{"name": "t1", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 2, "enabled": true, "capacity": 0}, {"name": "t2", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 1, "enabled": true, "capacity": 0}], "options": {"newcomer": "catch-up", "affinity": "none"}}, "shared": {"version": 0, "objects": [[["destination", "t1", ""], {"name": "t1", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 2, "enabled": true, "capacity": 0}], [["destination", "t2", ""], {"name": "t2", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 1, "enabled": true, "capacity": 0}]], "pending": []}, "ids": [1, 2], "ahead": true, "level": false}');

SELECT setval('fairlead.clusters_id_seq', 4);

SELECT setval('fairlead.completions_id_seq', 1);

SELECT setval('fairlead.holders_id_seq', 1);

SELECT setval('fairlead.notices_id_seq', 9);

SELECT setval('fairlead.numbers', 91);

SELECT setval('fairlead.queues_id_seq', 8);

CREATE SEQUENCE fairlead.tickets_4 MINVALUE 0 START 0;

SELECT setval('fairlead.tickets_4', 6);
