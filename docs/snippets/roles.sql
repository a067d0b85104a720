CREATE ROLE fairlead_sender;
CREATE ROLE fairlead_worker;
CREATE ROLE fairlead_administrator;
CREATE ROLE fairlead_viewer;
GRANT USAGE ON SCHEMA fairlead
  TO fairlead_sender, fairlead_worker, fairlead_administrator, fairlead_viewer;

-- sends and raises; reads no message
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.groups, fairlead.message_ids,
  fairlead.sleepers TO fairlead_sender;
GRANT SELECT (queue) ON fairlead.messages, fairlead.delayed TO fairlead_sender;
GRANT SELECT (id, time) ON fairlead.journal TO fairlead_sender;
GRANT INSERT ON fairlead.queues, fairlead.groups, fairlead.messages, fairlead.delayed,
  fairlead.notices, fairlead.message_ids, fairlead.journal TO fairlead_sender;
GRANT UPDATE (fair) ON fairlead.queues, fairlead.groups TO fairlead_sender;  -- locks need it
GRANT UPDATE (at, digest) ON fairlead.message_ids TO fairlead_sender;
GRANT USAGE ON SEQUENCE fairlead.numbers TO fairlead_sender;

-- begins dialogs and speaks in them
GRANT SELECT ON fairlead.declared TO fairlead_sender;
GRANT SELECT, INSERT, UPDATE ON fairlead.endpoints TO fairlead_sender;

-- chooses in clusters, and publishes; who chooses, counts
GRANT SELECT, INSERT, UPDATE ON fairlead.clusters, fairlead.destinations, fairlead.bindings
  TO fairlead_sender;
GRANT SELECT, INSERT ON fairlead.versions, fairlead.stretches, fairlead.published TO fairlead_sender;
GRANT SELECT, INSERT, DELETE ON fairlead.completions TO fairlead_sender;
GRANT SELECT (kind, key, cluster, version, stream, destination, address, outcome, sequence, detail,
  said) ON fairlead.journal TO fairlead_sender;
GRANT UPDATE (completing) ON fairlead.queues TO fairlead_sender;

-- takes and settles, too
GRANT fairlead_sender TO fairlead_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON fairlead.groups, fairlead.messages, fairlead.delayed,
  fairlead.notices, fairlead.tenants, fairlead.holders, fairlead.sleepers TO fairlead_worker;
GRANT UPDATE (fair, tag_clock, lined, works) ON fairlead.queues TO fairlead_worker;
GRANT SELECT, INSERT ON fairlead.dead TO fairlead_worker;
GRANT DELETE ON fairlead.published, fairlead.endpoints TO fairlead_worker;
GRANT SELECT ON fairlead.journal TO fairlead_worker;

-- sets queues, changes clusters, sends dead letters again, prunes
GRANT fairlead_worker TO fairlead_administrator;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fairlead TO fairlead_administrator;

-- looks: at what queues hold, at dead letters with their bodies, at dialogs, at the journal
GRANT SELECT ON fairlead.schema, fairlead.queues, fairlead.groups, fairlead.messages,
  fairlead.delayed, fairlead.dead, fairlead.journal, fairlead.sleepers, fairlead.declared,
  fairlead.endpoints TO fairlead_viewer;
