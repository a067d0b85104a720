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

-- By what others see that a lease holder lives: the process of its session at the server, which holds an
-- advisory lock of this key. Every login may take advisory locks, but none as that process.
ALTER TABLE fairlead.lease_holders ADD COLUMN session BIGINT;
ALTER TABLE fairlead.lease_holders ADD COLUMN alive BIGINT;

-- Whatever door an event comes by, its names are short.
ALTER TABLE fairlead.journal ADD CONSTRAINT journal_names CHECK (greatest(length(queue), length(group_name),
  length(key), length(tenant), length(type), length(actor), length(stream)) <= 2000) NOT VALID;

-- What happened to clusters: whoever chooses needs it, and nothing that was said of messages in queues.
CREATE VIEW fairlead._cluster_events WITH (security_barrier = true) AS
SELECT id, kind, key, cluster, version, stream, destination, address, outcome, sequence, detail, said
FROM fairlead.journal WHERE cluster IS NOT NULL;

UPDATE fairlead.schema SET version = 13;
