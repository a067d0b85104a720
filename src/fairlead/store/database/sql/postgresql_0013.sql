-- Version 13: guaranteed messages whose publishers are told what became of them, and that go to others
-- where their receivers fail.

-- Guaranteed messages that were published.
CREATE TABLE fairlead.guaranteed (
  id BIGINT PRIMARY KEY,                     -- the number of the event of their first decision
  cluster BIGINT NOT NULL,
  key TEXT NOT NULL,                         -- the message's id, where its publisher gave one
  sequence BIGINT NOT NULL,
  said TEXT NOT NULL,                        -- JSON: what decides who gets it, as it was when it was published
  delivery TEXT NOT NULL,                    -- some, all
  copies BIGINT NOT NULL,
  at BIGINT NOT NULL,                        -- when it was published, or last found to be waited for
  due BIGINT                                 -- by when it is to be acknowledged; NULL: at any time
);
CREATE INDEX guaranteed_at ON fairlead.guaranteed (at);

-- What became of their copies: a row is written for each, and none is changed.
CREATE TABLE fairlead.acknowledgements (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  guaranteed BIGINT NOT NULL,
  outcome TEXT NOT NULL,                     -- acknowledged, nack
  reason TEXT
);
CREATE INDEX acknowledgements_guaranteed ON fairlead.acknowledgements (guaranteed);

ALTER TABLE fairlead.published ADD COLUMN guaranteed BIGINT;
-- Whether others have theirs whatever becomes of this copy: it is not routed again.
ALTER TABLE fairlead.published ADD COLUMN shared BIGINT NOT NULL DEFAULT 0;
CREATE INDEX published_guaranteed ON fairlead.published (guaranteed) WHERE guaranteed IS NOT NULL;

-- A body's format has a bit more: it was given to another receiver before.
CREATE OR REPLACE VIEW fairlead.dead_letters WITH (security_invoker = true) AS
SELECT q.name AS queue, d.id AS number, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
  d.reason, d.attempt, timestamptz 'epoch' + d.died * interval '1 microsecond' AS died, d.cost, d.type,
  CASE WHEN d.format & 3 > 0 THEN convert_from(b.body, 'UTF8') END AS body_text, b.body
FROM fairlead.queues q CROSS JOIN LATERAL (
  SELECT x.* FROM fairlead.dead x WHERE x.queue = q.id ORDER BY x.id) d
CROSS JOIN LATERAL (SELECT CASE WHEN d.format & 4 = 0 THEN d.body
  ELSE substr(d.body, 1 + (d.format >> 4 & 268435455)::integer, (d.format >> 32 & 268435455)::integer) END AS body) b;

CREATE OR REPLACE VIEW fairlead.delayed_messages WITH (security_invoker = true) AS
SELECT q.name AS queue, d.key AS id, d.group_name AS in_group, d.tenant, d.priority,
  timestamptz 'epoch' + d.due * interval '1 microsecond' AS due,
  timestamptz 'epoch' + d.expires * interval '1 microsecond' AS expires, d.cost, d.type,
  CASE WHEN d.format & 3 > 0 THEN convert_from(b.body, 'UTF8') END AS body_text, b.body
FROM fairlead.queues q CROSS JOIN LATERAL (
  SELECT x.* FROM fairlead.delayed x WHERE x.queue = q.id
    AND NOT (x.conversation IS NOT NULL AND x.type = 'Error')  -- the end of a lifetime
  ORDER BY x.due, x.id) d
CROSS JOIN LATERAL (SELECT CASE WHEN d.format & 4 = 0 THEN d.body
  ELSE substr(d.body, 1 + (d.format >> 4 & 268435455)::integer, (d.format >> 32 & 268435455)::integer) END AS body) b;

UPDATE fairlead.schema SET version = 13;
