-- The journal: what happened, event by event.

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
  run BIGINT,                                -- of many messages, with which it came
  said TEXT,                                 -- JSON: what the message said that was decided about
  login TEXT DEFAULT session_user,           -- who was logged in; by itself, of whoever writes
  -- Whatever door an event comes by, its names are short.
  CONSTRAINT journal_names CHECK (greatest(length(queue), length(group_name), length(key), length(tenant),
    length(type), length(actor), length(stream)) <= 2000)
);
CREATE INDEX journal_published ON fairlead.journal (cluster, key)
  WHERE cluster IS NOT NULL AND key <> '';
CREATE INDEX journal_settled ON fairlead.journal (token)
  WHERE token IS NOT NULL AND kind <> 'taken';
CREATE INDEX journal_switched ON fairlead.journal (queue, id) WHERE kind = 'switched-off';
CREATE INDEX journal_transaction ON fairlead.journal (transaction, id);

-- Whoever reads the journal is told what is missing, however it was deleted. An epoch's events are
-- before those of the next one, whatever their transactions.
CREATE FUNCTION fairlead._pruned() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  last record;
BEGIN
  SELECT g.transaction, g.id INTO last FROM gone g
    ORDER BY fairlead._epoch(g.id) DESC, g.transaction DESC, g.id DESC LIMIT 1;
  UPDATE fairlead.schema SET pruned_transaction = last.transaction, pruned_id = last.id
    WHERE (fairlead._epoch(pruned_id), pruned_transaction, pruned_id)
      < (fairlead._epoch(last.id), last.transaction, last.id);
  RETURN NULL;
END $$;
CREATE TRIGGER pruned AFTER DELETE ON fairlead.journal REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION fairlead._pruned();

-- A restored backup begins a new epoch of the journal: the numbers of transactions start anew there,
-- and what happened after the backup is gone. The first epoch is not listed.
CREATE TABLE fairlead.epochs (
  first BIGINT PRIMARY KEY,                  -- the number of the event with which it begins
  began BIGINT NOT NULL
);
