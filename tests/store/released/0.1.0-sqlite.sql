-- A store on SQLite as version 0.1.0 of Fairlead made and left it. One reader holds work and is gone.
BEGIN TRANSACTION;
CREATE TABLE fairlead_bindings (
  cluster INTEGER NOT NULL,
  key TEXT NOT NULL,                         -- JSON: how it is bound, and to whom
  destination TEXT NOT NULL,
  PRIMARY KEY (cluster, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_bindings" VALUES(3,'["on-group", "g0"]','a');
INSERT INTO "fairlead_bindings" VALUES(3,'["on-group", "g1"]','b');
CREATE TABLE fairlead_clusters (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  allocation TEXT NOT NULL,                  -- exact, ticket
  rule TEXT NOT NULL,                        -- that plain SQL knows: least-served, circular, first-by-name
  reset_every INTEGER NOT NULL,              -- microseconds; 0: never
  reset_due INTEGER,
  due INTEGER,                               -- when the next change is due of itself
  version INTEGER NOT NULL,
  stamp TEXT NOT NULL,                       -- of the version; never used twice
  first INTEGER NOT NULL,                    -- the turn with which the running stretch begins
  taken INTEGER NOT NULL,                    -- choices since
  revision INTEGER NOT NULL,                 -- of the state; never used twice
  state TEXT                                 -- JSON; NULL: that of the stretch, so many choices on
) STRICT;
INSERT INTO "fairlead_clusters" VALUES(1,'busy','exact','',0,NULL,NULL,0,'ddb5c357b3bb87fe',0,7,1689400045793890317,'{"rules": [[[], {"pending": [4, 3], "speed": [1000, 1000], "cursor": [1], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [[[], 7]], "failed": [], "sent": [[1, 4], [2, 3]]}');
INSERT INTO "fairlead_clusters" VALUES(2,'pool','exact','least-served',0,NULL,NULL,2,'fbf0ae8cca95cbb0',8,1,3304278686063808202,NULL);
INSERT INTO "fairlead_clusters" VALUES(3,'ring','exact','',0,NULL,NULL,0,'29f1ff06a1291aec',0,7,2762800443861251421,'{"rules": [[[], {"ring": [1, 1], "ready": [3, 4], "held": [1, 1], "capacity": [0, 0], "connected": [1, 1], "speed": [1000, 1000], "tick": [4], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [[[], 7]], "failed": [], "sent": [[1, 4], [2, 3]]}');
CREATE TABLE fairlead_completions (
  id INTEGER PRIMARY KEY,
  cluster INTEGER NOT NULL,
  destination INTEGER NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version INTEGER NOT NULL
) STRICT;
INSERT INTO "fairlead_completions" VALUES(1,1,1,'[]',0);
CREATE TABLE fairlead_dead (
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  died INTEGER NOT NULL,
  reason TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority INTEGER,
  key TEXT NOT NULL,
  cost INTEGER NOT NULL,
  type TEXT,
  conversation INTEGER,
  format INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
INSERT INTO "fairlead_dead" VALUES(21,4,1795422455252904,'it is bad',1,'x','',NULL,'m-21',1,NULL,NULL,1,X'626164');
CREATE TABLE fairlead_declared (
  kind TEXT NOT NULL,                        -- message_type, contract, service
  name TEXT NOT NULL,
  definition TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_declared" VALUES('contract','Orders','{"initiator": ["Order"], "target": ["Confirmation"], "any": []}');
INSERT INTO "fairlead_declared" VALUES('message_type','Confirmation','{"validation": "none", "schema": null}');
INSERT INTO "fairlead_declared" VALUES('message_type','Order','{"validation": "json", "schema": null}');
INSERT INTO "fairlead_declared" VALUES('service','Client','{"queue": "client", "contracts": [], "max_readers": 1}');
INSERT INTO "fairlead_declared" VALUES('service','Shop','{"queue": "shop", "contracts": ["Orders"], "max_readers": 10}');
CREATE TABLE fairlead_delayed (
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  due INTEGER NOT NULL,
  group_name TEXT,
  tenant TEXT NOT NULL,
  priority INTEGER,
  key TEXT NOT NULL,
  expires INTEGER,
  cost INTEGER NOT NULL,
  type TEXT,
  conversation INTEGER,
  format INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
INSERT INTO "fairlead_delayed" VALUES(9,1,1895422455233901,'customer-1','',NULL,'m-9',NULL,1,NULL,NULL,1,X'6C61746572');
CREATE TABLE fairlead_destinations (
  cluster INTEGER NOT NULL,
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  address TEXT,
  queue TEXT,                                -- to which is published; NULL: the one of its name
  PRIMARY KEY (cluster, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_destinations" VALUES(1,1,'x',NULL,NULL);
INSERT INTO "fairlead_destinations" VALUES(1,2,'y',NULL,NULL);
INSERT INTO "fairlead_destinations" VALUES(2,1,'DEV1',NULL,NULL);
INSERT INTO "fairlead_destinations" VALUES(2,2,'DEV2',NULL,NULL);
INSERT INTO "fairlead_destinations" VALUES(3,1,'a',NULL,NULL);
INSERT INTO "fairlead_destinations" VALUES(3,2,'b',NULL,NULL);
CREATE TABLE fairlead_endpoints (
  id INTEGER PRIMARY KEY,                    -- the number of the event with which it began
  handle TEXT NOT NULL UNIQUE,               -- random: who knows it acts as this end
  dialog INTEGER NOT NULL,                   -- a number that both ends have
  side INTEGER NOT NULL,                     -- 0 of the initiator, 1 of the target
  service TEXT NOT NULL,
  far_service TEXT NOT NULL,
  contract TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  state INTEGER NOT NULL DEFAULT 1,          -- 1 open, 2 failed: it can only be ended, 3 ended
  sent INTEGER NOT NULL DEFAULT 0,           -- messages of this end
  began INTEGER NOT NULL,
  lifetime INTEGER,                          -- when the dialog is over, whatever is said
  bound INTEGER                              -- the end to which this one is forwarded, of another dialog
) STRICT;
INSERT INTO "fairlead_endpoints" VALUES(67,'4479c0dd358a2010aa32406f7fd37bab',67,0,'Client','Shop','Orders','client','d-67/i',1,1,1795422455315656,NULL,NULL);
INSERT INTO "fairlead_endpoints" VALUES(68,'d27c0c084f3a5e85911ebdc988c50994',67,1,'Shop','Client','Orders','shop','d-67/t',1,1,1795422455320073,NULL,NULL);
INSERT INTO "fairlead_endpoints" VALUES(70,'fc84db7f258e98fafc256c871234e46d',70,0,'Client','Shop','Orders','client','d-67/i',1,1,1795422455323600,NULL,NULL);
INSERT INTO "fairlead_endpoints" VALUES(71,'9d81a5ad67a241f1d8df6a758279163c',70,1,'Shop','Client','Orders','shop','d-70/t',1,0,1795422455324249,NULL,NULL);
INSERT INTO "fairlead_endpoints" VALUES(74,'c1f754ea6d9798cb4b3892249ec1f657',74,0,'Client','Shop','Orders','client','d-74/i',3,2,1795422455326919,NULL,NULL);
INSERT INTO "fairlead_endpoints" VALUES(75,'e699d9da72de04d924b2297247fb4fff',74,1,'Shop','Client','Orders','shop','d-74/t',1,0,1795422455327728,NULL,NULL);
CREATE TABLE fairlead_files (
  cluster INTEGER PRIMARY KEY,
  loaded TEXT NOT NULL                       -- JSON: the file, and how it counts
) STRICT;
INSERT INTO "fairlead_files" VALUES(1,'{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "x", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "y", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "busy", "options": {}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "fewest-pending", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}');
INSERT INTO "fairlead_files" VALUES(2,'{"allocation": "exact", "file": {"destination": [{"address": "", "capacity": 0, "enabled": true, "name": "DEV1", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 100}, {"address": "", "capacity": 0, "enabled": true, "name": "DEV2", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 200}], "name": "pool", "options": {"affinity": "none", "newcomer": "catch-up"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "msmq", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}');
INSERT INTO "fairlead_files" VALUES(3,'{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "a", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "b", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "ring", "options": {"affinity": "group"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "round-robin", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}');
CREATE TABLE fairlead_groups (
  id INTEGER PRIMARY KEY,                    -- the number with which it began
  queue INTEGER NOT NULL,
  name TEXT,                                 -- NULL: a message that is a group of its own
  tenant TEXT NOT NULL,
  fair INTEGER NOT NULL,                     -- whether its queue has tenants
  state INTEGER NOT NULL,                    -- 1 ready, 2 held by a reader, 3 parked
  k1 INTEGER NOT NULL,                       -- the key: its place, the lowest first
  k2 INTEGER NOT NULL,
  priority INTEGER NOT NULL DEFAULT -1,      -- to what it was raised; -1: it was not
  entered INTEGER NOT NULL DEFAULT 0,
  number INTEGER NOT NULL DEFAULT 0,
  head INTEGER NOT NULL,                     -- the first message that waits; 0: none does
  arrived INTEGER NOT NULL,                  -- when that arrived
  was_priority INTEGER NOT NULL DEFAULT -1,  -- with what it was taken, for a release
  was_entered INTEGER NOT NULL DEFAULT 0,
  was_number INTEGER NOT NULL DEFAULT 0,
  was_turn INTEGER NOT NULL DEFAULT 0,
  token INTEGER,                             -- of the reader that holds it
  holder INTEGER,
  taken INTEGER,
  deadline INTEGER,
  releases INTEGER NOT NULL DEFAULT 0,       -- since it was last accepted or rejected
  failures INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER                         -- state 3: when it is ready again
) STRICT;
INSERT INTO "fairlead_groups" VALUES(1,1,'customer-0','',0,1,1,1,-1,0,0,1,1795422455220722,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(2,1,'customer-1','',0,2,-200,5,-1,0,0,2,1795422455223057,200,1795422455230845,5,0,27,1,1795422455261087,1795422515261087,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(3,1,'customer-2','',0,1,1,3,-1,0,0,3,1795422455224055,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(7,1,NULL,'',0,1,1,7,-1,0,0,7,1795422455232632,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(8,1,NULL,'',0,1,1,8,-1,0,0,8,1795422455233292,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(10,1,'customer-9','',0,1,1,10,-1,0,0,10,1795422455234583,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(11,2,'a','',0,1,1795422515236602,11,-1,0,0,11,1795422455236602,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(12,2,'b','',0,1,1795422275237336,12,3,1795422455237336,12,12,1795422455237336,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(15,3,'g1','red',1,1,1,15,-1,0,0,15,1795422455240308,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(16,3,'g2','blue',1,1,1,16,-1,0,0,16,1795422455241059,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(17,3,'g3','red',1,1,1,17,-1,0,0,17,1795422455241851,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(24,4,'y','',0,3,1,24,-1,0,0,24,1795422455253641,-1,0,0,0,NULL,NULL,1795422455254297,NULL,1,0,1805422455259487);
INSERT INTO "fairlead_groups" VALUES(40,6,NULL,'',0,1,1,40,-1,0,0,40,1795422455284132,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(44,5,NULL,'',0,1,1,44,-1,0,0,44,1795422455287045,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(48,6,NULL,'',0,1,1,48,-1,0,0,48,1795422455289788,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(52,5,NULL,'',0,1,1,52,-1,0,0,52,1795422455292499,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(56,6,NULL,'',0,1,1,56,-1,0,0,56,1795422455295671,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(60,5,NULL,'',0,1,1,60,-1,0,0,60,1795422455299185,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(68,7,'d-67/t','',0,2,-7,69,-1,0,0,68,1795422455320073,7,1795422455322822,69,0,72,1,1795422455325077,1795422515325077,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(71,7,'d-70/t','',0,1,1,71,-1,0,0,71,1795422455324249,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(73,8,'d-67/i','',0,1,1,73,-1,0,0,73,1795422455326158,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
INSERT INTO "fairlead_groups" VALUES(75,7,'d-74/t','',0,1,1,75,-1,0,0,75,1795422455327728,-1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL);
CREATE TABLE fairlead_holders (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  name TEXT NOT NULL,
  since INTEGER NOT NULL,
  stopping INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "fairlead_holders" VALUES(1,'app-1',3675,'app-1:3675',1795422455242680,0);
CREATE TABLE fairlead_journal (
  id INTEGER PRIMARY KEY,                    -- the number of the event: the order of all of them
  time INTEGER NOT NULL,
  kind TEXT NOT NULL,
  queue TEXT NOT NULL,
  group_name TEXT NOT NULL,
  key TEXT NOT NULL,
  tenant TEXT NOT NULL,
  priority INTEGER,
  cost INTEGER,
  type TEXT,
  attempt INTEGER,
  token INTEGER,
  actor TEXT NOT NULL,
  lease INTEGER,
  detail TEXT,
  cluster TEXT,                              -- from here on: decisions, and what becomes of clusters
  version INTEGER,
  stream TEXT,
  destination TEXT,
  address TEXT,
  outcome TEXT,
  sequence INTEGER,
  said TEXT                                  -- JSON: what the message said that was decided about
) STRICT;
INSERT INTO "fairlead_journal" VALUES(1,1795422455220722,'sent','orders','customer-0','o-0','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(2,1795422455223057,'sent','orders','customer-1','o-1','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(3,1795422455224055,'sent','orders','customer-2','o-2','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(4,1795422455229616,'sent','orders','customer-0','o-3','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(5,1795422455230845,'sent','orders','customer-1','o-4','',200,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(6,1795422455231920,'sent','orders','customer-2','o-5','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(7,1795422455232632,'sent','orders','','m-7','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(8,1795422455233292,'sent','orders','','m-8','',NULL,1,'bytes',NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(9,1795422455233901,'sent','orders','customer-1','m-9','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,'due 1895422455233901',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(10,1795422455234583,'sent','orders','customer-9','m-10','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(11,1795422455236602,'sent','aged','a','m-11','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(12,1795422455237336,'sent','aged','b','m-12','',3,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(13,1795422455238087,'raised','aged','a','','',5,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(14,1795422455239461,'sent','shared','g0','m-14','blue',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(15,1795422455240308,'sent','shared','g1','m-15','red',NULL,2,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(16,1795422455241059,'sent','shared','g2','m-16','blue',NULL,3,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(17,1795422455241851,'sent','shared','g3','m-17','red',NULL,4,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(18,1795422455246109,'taken','shared','g0','','blue',NULL,1,NULL,1,18,'app-1:3675',1795422515246109,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(20,1795422455249290,'accepted','shared','g0','m-14','blue',NULL,1,NULL,NULL,18,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(21,1795422455251377,'sent','small','x','m-21','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(22,1795422455252213,'taken','small','x','','',NULL,1,NULL,1,22,'app-1:3675',1795422515252213,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(23,1795422455252904,'rejected','small','x','m-21','',NULL,1,NULL,1,22,'app-1:3675',NULL,'it is bad',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(24,1795422455253641,'sent','small','y','m-24','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(25,1795422455254297,'taken','small','y','','',NULL,1,NULL,1,25,'app-1:3675',1795422515254297,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(26,1795422455259487,'released','small','y','','',NULL,1,NULL,1,25,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(27,1795422455261087,'taken','orders','customer-1','','',200,2,NULL,1,27,'app-1:3675',1795422515261087,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(28,1795422455262602,'raised','orders','customer-1','','',9,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(29,1795422455263190,'sent','orders','customer-1','m-29','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(30,1795422455271630,'loaded','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "x", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "y", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "busy", "options": {}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "fewest-pending", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}','busy',0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(31,1795422455272713,'loaded','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'{"allocation": "exact", "file": {"destination": [{"address": "", "capacity": 0, "enabled": true, "name": "DEV1", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 100}, {"address": "", "capacity": 0, "enabled": true, "name": "DEV2", "present": true, "queue": "", "readers": 1, "speed": 1, "weight": 200}], "name": "pool", "options": {"affinity": "none", "newcomer": "catch-up"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "msmq", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}','pool',0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(32,1795422455273699,'loaded','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'{"allocation": "exact", "file": {"destination": [{"address": "", "draining": false, "enabled": true, "name": "a", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}, {"address": "", "draining": false, "enabled": true, "name": "b", "present": true, "queue": "", "readers": 1, "speed": 1, "state": "up"}], "name": "ring", "options": {"affinity": "group"}, "order": {"ageing": 0, "default_priority": 100, "discipline": "fifo", "weights": {}}, "policy": "round-robin", "store": {"allocation": "exact", "reset_every": 0}}, "reset_every": 0}','ring',0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(33,1795422455276272,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',0,'pool','DEV2',NULL,'routed',0,NULL);
INSERT INTO "fairlead_journal" VALUES(34,1795422455277452,'decided','','g0','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'ring',0,'ring','a',NULL,'routed',0,'{"group": "g0"}');
INSERT INTO "fairlead_journal" VALUES(35,1795422455279719,'decided','','','p-0','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'busy',0,'busy','x',NULL,'routed',0,NULL);
INSERT INTO "fairlead_journal" VALUES(36,1795422455280481,'sent','x','','p-0','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(37,1795422455281631,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',0,'pool','DEV1',NULL,'routed',1,NULL);
INSERT INTO "fairlead_journal" VALUES(38,1795422455282546,'decided','','g1','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'ring',0,'ring','b',NULL,'routed',1,'{"group": "g1"}');
INSERT INTO "fairlead_journal" VALUES(39,1795422455283825,'decided','','','p-1','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'busy',0,'busy','y',NULL,'routed',1,NULL);
INSERT INTO "fairlead_journal" VALUES(40,1795422455284132,'sent','y','','p-1','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(41,1795422455285049,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',0,'pool','DEV2',NULL,'routed',2,NULL);
INSERT INTO "fairlead_journal" VALUES(42,1795422455285708,'decided','','g0','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'bound','ring',0,'ring','a',NULL,'routed',2,'{"group": "g0"}');
INSERT INTO "fairlead_journal" VALUES(43,1795422455286757,'decided','','','p-2','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'busy',0,'busy','x',NULL,'routed',2,NULL);
INSERT INTO "fairlead_journal" VALUES(44,1795422455287045,'sent','x','','p-2','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(45,1795422455287914,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',0,'pool','DEV2',NULL,'routed',3,NULL);
INSERT INTO "fairlead_journal" VALUES(46,1795422455288519,'decided','','g1','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'bound','ring',0,'ring','b',NULL,'routed',3,'{"group": "g1"}');
INSERT INTO "fairlead_journal" VALUES(47,1795422455289504,'decided','','','p-3','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'busy',0,'busy','y',NULL,'routed',3,NULL);
INSERT INTO "fairlead_journal" VALUES(48,1795422455289788,'sent','y','','p-3','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(49,1795422455290691,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',0,'pool','DEV1',NULL,'routed',4,NULL);
INSERT INTO "fairlead_journal" VALUES(50,1795422455291234,'decided','','g0','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'bound','ring',0,'ring','a',NULL,'routed',4,'{"group": "g0"}');
INSERT INTO "fairlead_journal" VALUES(51,1795422455292214,'decided','','','p-4','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'busy',0,'busy','x',NULL,'routed',4,NULL);
INSERT INTO "fairlead_journal" VALUES(52,1795422455292499,'sent','x','','p-4','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(53,1795422455293377,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',0,'pool','DEV2',NULL,'routed',5,NULL);
INSERT INTO "fairlead_journal" VALUES(54,1795422455294071,'decided','','g1','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'bound','ring',0,'ring','b',NULL,'routed',5,'{"group": "g1"}');
INSERT INTO "fairlead_journal" VALUES(55,1795422455295326,'decided','','','p-5','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'busy',0,'busy','y',NULL,'routed',5,NULL);
INSERT INTO "fairlead_journal" VALUES(56,1795422455295671,'sent','y','','p-5','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(57,1795422455296853,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',0,'pool','DEV2',NULL,'routed',6,NULL);
INSERT INTO "fairlead_journal" VALUES(58,1795422455297660,'decided','','g0','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'bound','ring',0,'ring','a',NULL,'routed',6,'{"group": "g0"}');
INSERT INTO "fairlead_journal" VALUES(59,1795422455298887,'decided','','','p-6','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'busy',0,'busy','x',NULL,'routed',6,NULL);
INSERT INTO "fairlead_journal" VALUES(60,1795422455299185,'sent','x','','p-6','',NULL,1,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(61,1795422455300492,'changed','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'{"attribute": "enabled", "value": false}','pool',1,NULL,'DEV1',NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(62,1795422455304212,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',1,'pool','DEV2',NULL,'routed',7,NULL);
INSERT INTO "fairlead_journal" VALUES(63,1795422455305695,'changed','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'{"attribute": "enabled", "value": true}','pool',2,NULL,'DEV1',NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(64,1795422455308313,'decided','','','','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,'pool',2,'pool','DEV1',NULL,'routed',8,NULL);
INSERT INTO "fairlead_journal" VALUES(65,1795422455309529,'taken','x','','p-0','',NULL,1,NULL,1,65,'app-1:3675',1795422515309529,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(66,1795422455310668,'accepted','x','','p-0','',NULL,1,NULL,NULL,65,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(67,1795422455315656,'begun','client','d-67/i','d-67/i','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'Client to Shop, contract Orders',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(68,1795422455320073,'sent','shop','d-67/t','d-67/i/0','',NULL,1,'Order',NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(69,1795422455322822,'raised','shop','d-67/t','','',7,NULL,NULL,NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(70,1795422455323600,'begun','client','d-67/i','d-70/i','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'Client to Shop, contract Orders',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(71,1795422455324249,'sent','shop','d-70/t','d-70/i/0','',NULL,1,'Order',NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(72,1795422455325077,'taken','shop','d-67/t','','',7,1,NULL,1,72,'app-1:3675',1795422515325077,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(73,1795422455326158,'sent','client','d-67/i','d-67/t/0','',NULL,1,'Confirmation',NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(74,1795422455326919,'begun','client','d-74/i','d-74/i','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'Client to Shop, contract Orders',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(75,1795422455327728,'sent','shop','d-74/t','d-74/i/0','',NULL,1,'Order',NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(76,1795422455328787,'ended','client','d-74/i','d-74/i','',NULL,NULL,NULL,NULL,NULL,'app-1:3675',NULL,'with error 7: no',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "fairlead_journal" VALUES(77,1795422455328990,'sent','shop','d-74/t','d-74/i/1','',NULL,1,'Error',NULL,NULL,'app-1:3675',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE fairlead_message_ids (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_message_ids" VALUES(-1,'p-0',1795422455279602,'9b5c944fe5a32027ea1247b0924bf982cf86dbe15aec22d1166a13decb93b04a');
INSERT INTO "fairlead_message_ids" VALUES(-1,'p-1',1795422455283720,'69fe3dd9b3d92448468cc52aa91e2fbd4bbadb410eee8ef94a0f00c85f60eeef');
INSERT INTO "fairlead_message_ids" VALUES(-1,'p-2',1795422455286656,'6172f099c6fbd72831a58646a09f93987e81c9dbd8b63e3bdb4f9cc4e8a4a48c');
INSERT INTO "fairlead_message_ids" VALUES(-1,'p-3',1795422455289412,'6102112886b1177f73c3cae073dd7202c1f1bdf5605a8d75b1a079a7cde3c21d');
INSERT INTO "fairlead_message_ids" VALUES(-1,'p-4',1795422455292117,'9665a4b6b0c9032217067463373ab82910e8ef794f8eba1fc065822f2ae09404');
INSERT INTO "fairlead_message_ids" VALUES(-1,'p-5',1795422455295222,'853d9db5742f56877c60877ff0c3eb952abf631d4a7d9230819cfff6249df8a2');
INSERT INTO "fairlead_message_ids" VALUES(-1,'p-6',1795422455298787,'3035cb6fafdc8cd7735f83ed51e60219a7c7bb51cb3ad1d00494c25633bf9c15');
INSERT INTO "fairlead_message_ids" VALUES(1,'o-0',1795422455220722,'9b5c944fe5a32027ea1247b0924bf982cf86dbe15aec22d1166a13decb93b04a');
INSERT INTO "fairlead_message_ids" VALUES(1,'o-1',1795422455223057,'69fe3dd9b3d92448468cc52aa91e2fbd4bbadb410eee8ef94a0f00c85f60eeef');
INSERT INTO "fairlead_message_ids" VALUES(1,'o-2',1795422455224055,'6172f099c6fbd72831a58646a09f93987e81c9dbd8b63e3bdb4f9cc4e8a4a48c');
INSERT INTO "fairlead_message_ids" VALUES(1,'o-3',1795422455229616,'6102112886b1177f73c3cae073dd7202c1f1bdf5605a8d75b1a079a7cde3c21d');
INSERT INTO "fairlead_message_ids" VALUES(1,'o-4',1795422455230845,'9665a4b6b0c9032217067463373ab82910e8ef794f8eba1fc065822f2ae09404');
INSERT INTO "fairlead_message_ids" VALUES(1,'o-5',1795422455231920,'853d9db5742f56877c60877ff0c3eb952abf631d4a7d9230819cfff6249df8a2');
INSERT INTO "fairlead_message_ids" VALUES(5,'p-0',1795422455280481,'9b5c944fe5a32027ea1247b0924bf982cf86dbe15aec22d1166a13decb93b04a');
INSERT INTO "fairlead_message_ids" VALUES(5,'p-2',1795422455287045,'6172f099c6fbd72831a58646a09f93987e81c9dbd8b63e3bdb4f9cc4e8a4a48c');
INSERT INTO "fairlead_message_ids" VALUES(5,'p-4',1795422455292499,'9665a4b6b0c9032217067463373ab82910e8ef794f8eba1fc065822f2ae09404');
INSERT INTO "fairlead_message_ids" VALUES(5,'p-6',1795422455299185,'3035cb6fafdc8cd7735f83ed51e60219a7c7bb51cb3ad1d00494c25633bf9c15');
INSERT INTO "fairlead_message_ids" VALUES(6,'p-1',1795422455284132,'69fe3dd9b3d92448468cc52aa91e2fbd4bbadb410eee8ef94a0f00c85f60eeef');
INSERT INTO "fairlead_message_ids" VALUES(6,'p-3',1795422455289788,'6102112886b1177f73c3cae073dd7202c1f1bdf5605a8d75b1a079a7cde3c21d');
INSERT INTO "fairlead_message_ids" VALUES(6,'p-5',1795422455295671,'853d9db5742f56877c60877ff0c3eb952abf631d4a7d9230819cfff6249df8a2');
CREATE TABLE fairlead_messages (
  id INTEGER PRIMARY KEY,                    -- its number: the order inside a group
  queue INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  key TEXT NOT NULL,                         -- the id that the user knows
  arrived INTEGER NOT NULL,
  expires INTEGER,
  cost INTEGER NOT NULL,
  type TEXT,
  conversation INTEGER,                      -- the receiver's end of it; NULL: a plain message
  format INTEGER NOT NULL,                   -- of the body: 0 bytes, 1 text, 2 JSON
  body BLOB NOT NULL
) STRICT;
INSERT INTO "fairlead_messages" VALUES(-77,7,75,'d-74/i/1',1795422455328990,NULL,1,'Error',75,2,X'7B22636F6465223A372C226465736372697074696F6E223A226E6F227D');
INSERT INTO "fairlead_messages" VALUES(1,1,1,'o-0',1795422455220722,NULL,1,NULL,NULL,2,X'7B226E223A307D');
INSERT INTO "fairlead_messages" VALUES(2,1,2,'o-1',1795422455223057,NULL,1,NULL,NULL,2,X'7B226E223A317D');
INSERT INTO "fairlead_messages" VALUES(3,1,3,'o-2',1795422455224055,NULL,1,NULL,NULL,2,X'7B226E223A327D');
INSERT INTO "fairlead_messages" VALUES(4,1,1,'o-3',1795422455229616,NULL,1,NULL,NULL,2,X'7B226E223A337D');
INSERT INTO "fairlead_messages" VALUES(5,1,2,'o-4',1795422455230845,NULL,1,NULL,NULL,2,X'7B226E223A347D');
INSERT INTO "fairlead_messages" VALUES(6,1,3,'o-5',1795422455231920,NULL,1,NULL,NULL,2,X'7B226E223A357D');
INSERT INTO "fairlead_messages" VALUES(7,1,7,'m-7',1795422455232632,NULL,1,NULL,NULL,1,X'616C6F6E65');
INSERT INTO "fairlead_messages" VALUES(8,1,8,'m-8',1795422455233292,NULL,1,'bytes',NULL,0,X'00FF');
INSERT INTO "fairlead_messages" VALUES(10,1,10,'m-10',1795422455234583,1895422455234583,1,NULL,NULL,1,X'6E6F742077616E746564');
INSERT INTO "fairlead_messages" VALUES(11,2,11,'m-11',1795422455236602,NULL,1,NULL,NULL,2,X'31');
INSERT INTO "fairlead_messages" VALUES(12,2,12,'m-12',1795422455237336,NULL,1,NULL,NULL,2,X'32');
INSERT INTO "fairlead_messages" VALUES(15,3,15,'m-15',1795422455240308,NULL,2,NULL,NULL,2,X'31');
INSERT INTO "fairlead_messages" VALUES(16,3,16,'m-16',1795422455241059,NULL,3,NULL,NULL,2,X'32');
INSERT INTO "fairlead_messages" VALUES(17,3,17,'m-17',1795422455241851,NULL,4,NULL,NULL,2,X'33');
INSERT INTO "fairlead_messages" VALUES(24,4,24,'m-24',1795422455253641,NULL,1,NULL,NULL,1,X'616761696E');
INSERT INTO "fairlead_messages" VALUES(29,1,2,'m-29',1795422455263190,NULL,1,NULL,NULL,1,X'6D65616E7768696C65');
INSERT INTO "fairlead_messages" VALUES(40,6,40,'p-1',1795422455284132,NULL,1,NULL,NULL,2,X'7B226E223A317D');
INSERT INTO "fairlead_messages" VALUES(44,5,44,'p-2',1795422455287045,NULL,1,NULL,NULL,2,X'7B226E223A327D');
INSERT INTO "fairlead_messages" VALUES(48,6,48,'p-3',1795422455289788,NULL,1,NULL,NULL,2,X'7B226E223A337D');
INSERT INTO "fairlead_messages" VALUES(52,5,52,'p-4',1795422455292499,NULL,1,NULL,NULL,2,X'7B226E223A347D');
INSERT INTO "fairlead_messages" VALUES(56,6,56,'p-5',1795422455295671,NULL,1,NULL,NULL,2,X'7B226E223A357D');
INSERT INTO "fairlead_messages" VALUES(60,5,60,'p-6',1795422455299185,NULL,1,NULL,NULL,2,X'7B226E223A367D');
INSERT INTO "fairlead_messages" VALUES(68,7,68,'d-67/i/0',1795422455320073,NULL,1,'Order',68,2,X'7B226E223A317D');
INSERT INTO "fairlead_messages" VALUES(71,7,71,'d-70/i/0',1795422455324249,NULL,1,'Order',71,2,X'7B226E223A327D');
INSERT INTO "fairlead_messages" VALUES(73,8,73,'d-67/t/0',1795422455326158,NULL,1,'Confirmation',67,1,X'796573');
INSERT INTO "fairlead_messages" VALUES(75,7,75,'d-74/i/0',1795422455327728,NULL,1,'Order',75,2,X'7B226E223A337D');
CREATE TABLE fairlead_notices (
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  kind TEXT NOT NULL,                        -- raised, joined, charged, settled, released
  number INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  priority INTEGER,
  at INTEGER,
  cost INTEGER,
  turn INTEGER,
  placed INTEGER
) STRICT;
INSERT INTO "fairlead_notices" VALUES(2,2,11,'raised',13,'',5,1795422455238087,NULL,NULL,0);
INSERT INTO "fairlead_notices" VALUES(3,3,14,'settled',19,'blue',NULL,NULL,0,14,0);
INSERT INTO "fairlead_notices" VALUES(4,1,2,'raised',28,'',9,1795422455262602,NULL,NULL,0);
CREATE TABLE fairlead_published (
  queue INTEGER NOT NULL,
  key TEXT NOT NULL,
  cluster INTEGER NOT NULL,
  destination INTEGER NOT NULL,
  part TEXT NOT NULL,                        -- JSON: which of the rule's states
  version INTEGER NOT NULL,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_published" VALUES(5,'p-2',1,1,'[]',0);
INSERT INTO "fairlead_published" VALUES(5,'p-4',1,1,'[]',0);
INSERT INTO "fairlead_published" VALUES(5,'p-6',1,1,'[]',0);
INSERT INTO "fairlead_published" VALUES(6,'p-1',1,2,'[]',0);
INSERT INTO "fairlead_published" VALUES(6,'p-3',1,2,'[]',0);
INSERT INTO "fairlead_published" VALUES(6,'p-5',1,2,'[]',0);
CREATE TABLE fairlead_queues (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  discipline TEXT NOT NULL DEFAULT 'priority',
  default_priority INTEGER NOT NULL DEFAULT 100,
  step INTEGER NOT NULL DEFAULT 0,           -- ageing: microseconds per step of priority
  weights TEXT NOT NULL DEFAULT '{}',        -- JSON: tenant -> weight
  fair INTEGER NOT NULL DEFAULT 0,           -- 0: no tenants; 1: since the last take; 2: in use
  tag_clock TEXT NOT NULL DEFAULT '',        -- the highest tag that was next so far
  lined INTEGER NOT NULL DEFAULT 0,          -- tenants that have a group that can be taken
  works INTEGER NOT NULL DEFAULT 0,          -- groups that are charged and not settled
  max_waiting INTEGER,                       -- messages; NULL: no limit
  max_failures INTEGER,                      -- of one group, then dead letters; NULL: no limit
  completing INTEGER NOT NULL DEFAULT 0,      -- whether a cluster waits for what is settled here
  enabled INTEGER NOT NULL DEFAULT 1,         -- 0: it is switched off, and gives nothing
  poison TEXT NOT NULL DEFAULT 'dead-letters',  -- off: too many failures switch it off
  by_library INTEGER NOT NULL DEFAULT 0,      -- 1: a service's, which plain SQL cannot take from
  remembered INTEGER NOT NULL                -- how long the id of a message is known
) STRICT;
INSERT INTO "fairlead_queues" VALUES(1,'orders','priority',100,0,'{}',0,'',0,0,NULL,5,0,1,'dead-letters',0,604800000000);
INSERT INTO "fairlead_queues" VALUES(2,'aged','priority',100,60000000,'{}',0,'',0,0,NULL,5,0,1,'dead-letters',0,604800000000);
INSERT INTO "fairlead_queues" VALUES(3,'shared','priority',100,0,'{"blue": 1, "red": 2}',2,'1000000000000000000000000000000000000000',2,1,NULL,5,0,1,'dead-letters',0,604800000000);
INSERT INTO "fairlead_queues" VALUES(4,'small','priority',100,0,'{}',0,'',0,0,3,1,0,1,'dead-letters',0,604800000000);
INSERT INTO "fairlead_queues" VALUES(5,'x','priority',100,0,'{}',0,'',0,0,NULL,5,1,1,'dead-letters',0,604800000000);
INSERT INTO "fairlead_queues" VALUES(6,'y','priority',100,0,'{}',0,'',0,0,NULL,5,1,1,'dead-letters',0,604800000000);
INSERT INTO "fairlead_queues" VALUES(7,'shop','priority',100,0,'{}',0,'',0,0,NULL,5,0,1,'dead-letters',1,604800000000);
INSERT INTO "fairlead_queues" VALUES(8,'client','priority',100,0,'{}',0,'',0,0,NULL,5,0,1,'dead-letters',1,604800000000);
CREATE TABLE fairlead_schema (
  version INTEGER NOT NULL,
  store TEXT NOT NULL,                       -- which store this is: a random name
  declared INTEGER NOT NULL DEFAULT 0,        -- how often services and the like were declared
  journal_keep INTEGER DEFAULT 2592000000000,  -- how long events are kept; NULL: for ever
  pruned INTEGER NOT NULL DEFAULT 0          -- the last event that was forgotten
) STRICT;
INSERT INTO "fairlead_schema" VALUES(1,'4733678c271ffd58d4e5d63af4ab1552',1,2592000000000,0);
CREATE TABLE fairlead_stretches (
  cluster INTEGER NOT NULL,
  first INTEGER NOT NULL,                    -- a turn
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,                        -- when it began
  number INTEGER NOT NULL,                   -- the latest event before it
  state TEXT NOT NULL,                       -- JSON, at its beginning
  choices TEXT,                              -- JSON: ids of destinations; NULL: not made ahead
  PRIMARY KEY (cluster, first, version)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_stretches" VALUES(1,0,0,1795422455271630,30,'{"rules": [[[], {"pending": [0, 0], "speed": [1000, 1000], "cursor": [0], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [], "failed": [], "sent": []}',NULL);
INSERT INTO "fairlead_stretches" VALUES(2,0,0,1795422455272713,31,'{"rules": [[[], {"count": [0, 0], "weight": [100, 200], "tie": [-100, -200], "setting": [1, -1, 0]}]], "untouched": null, "sequences": [[[], 0]], "failed": [], "sent": []}','[2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2]');
INSERT INTO "fairlead_stretches" VALUES(2,7,1,1795422455300492,61,'{"rules": [[[], {"count": [2, 5], "weight": [100, 200], "tie": [-100, -200], "setting": [1, -1, 0]}]], "untouched": null, "sequences": [[[], 7]], "failed": [], "sent": [[1, 2], [2, 5]]}','[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]');
INSERT INTO "fairlead_stretches" VALUES(2,8,2,1795422455305695,63,'{"rules": [[[], {"count": [2, 6], "weight": [100, 200], "tie": [-100, -200], "setting": [1, -1, 0]}]], "untouched": null, "sequences": [[[], 8]], "failed": [], "sent": [[1, 2], [2, 6]]}','[1, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2]');
INSERT INTO "fairlead_stretches" VALUES(3,0,0,1795422455273699,32,'{"rules": [[[], {"ring": [1, 1], "ready": [1, 2], "held": [0, 0], "capacity": [0, 0], "connected": [1, 1], "speed": [1000, 1000], "tick": [2], "due_at": [], "due_order": [], "due_who": [], "due_size": [0, 0]}]], "untouched": null, "sequences": [], "failed": [], "sent": []}',NULL);
CREATE TABLE fairlead_tenants (
  queue INTEGER NOT NULL,
  name TEXT NOT NULL,
  tag TEXT NOT NULL,                         -- a decimal number of 40 digits, so that it sorts
  turn INTEGER NOT NULL,
  works INTEGER NOT NULL,
  lined INTEGER NOT NULL,
  PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_tenants" VALUES(3,'blue','1000000000000000000000000000000000000002',18,1,1);
INSERT INTO "fairlead_tenants" VALUES(3,'red','1000000000000000000000000000000000000000',15,0,1);
CREATE TABLE fairlead_versions (
  cluster INTEGER NOT NULL,
  version INTEGER NOT NULL,
  stamp TEXT NOT NULL,
  at INTEGER NOT NULL,
  definition TEXT NOT NULL,                  -- JSON: the file, and its objects as they are now
  PRIMARY KEY (cluster, version)
) STRICT, WITHOUT ROWID;
INSERT INTO "fairlead_versions" VALUES(1,0,'ddb5c357b3bb87fe',1795422455271630,'{"file": {"policy": "fewest-pending", "name": "busy", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "x", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}, {"name": "y", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], "options": {}}, "shared": {"version": 0, "objects": [[["destination", "x", ""], {"name": "x", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], [["destination", "y", ""], {"name": "y", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}]], "pending": [], "paces": []}, "ids": [1, 2], "ahead": false, "level": false}');
INSERT INTO "fairlead_versions" VALUES(2,0,'9173f266b145fa28',1795422455272713,'{"file": {"policy": "msmq", "name": "pool", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "DEV1", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}, {"name": "DEV2", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}], "options": {"newcomer": "catch-up", "affinity": "none"}}, "shared": {"version": 0, "objects": [[["destination", "DEV1", ""], {"name": "DEV1", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}], [["destination", "DEV2", ""], {"name": "DEV2", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}]], "pending": []}, "ids": [1, 2], "ahead": true, "level": false}');
INSERT INTO "fairlead_versions" VALUES(2,1,'f3380e678d169f29',1795422455300492,'{"file": {"policy": "msmq", "name": "pool", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "DEV1", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}, {"name": "DEV2", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}], "options": {"newcomer": "catch-up", "affinity": "none"}}, "shared": {"version": 1, "objects": [[["destination", "DEV1", ""], {"name": "DEV1", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 100, "enabled": false, "capacity": 0}], [["destination", "DEV2", ""], {"name": "DEV2", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}]], "pending": []}, "ids": [1, 2], "ahead": true, "level": false}');
INSERT INTO "fairlead_versions" VALUES(2,2,'fbf0ae8cca95cbb0',1795422455305695,'{"file": {"policy": "msmq", "name": "pool", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "DEV1", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}, {"name": "DEV2", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}], "options": {"newcomer": "catch-up", "affinity": "none"}}, "shared": {"version": 2, "objects": [[["destination", "DEV1", ""], {"name": "DEV1", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 100, "enabled": true, "capacity": 0}], [["destination", "DEV2", ""], {"name": "DEV2", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "weight": 200, "enabled": true, "capacity": 0}]], "pending": []}, "ids": [1, 2], "ahead": true, "level": false}');
INSERT INTO "fairlead_versions" VALUES(3,0,'29f1ff06a1291aec',1795422455273699,'{"file": {"policy": "round-robin", "name": "ring", "order": {"discipline": "fifo", "default_priority": 100, "ageing": 0, "weights": {}}, "store": {"allocation": "exact", "reset_every": 0}, "destination": [{"name": "a", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}, {"name": "b", "present": true, "readers": 1, "speed": 1, "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], "options": {"affinity": "group"}}, "shared": {"version": 0, "objects": [[["destination", "a", ""], {"name": "a", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}], [["destination", "b", ""], {"name": "b", "present": true, "readers": 1, "speed": "1", "address": "", "queue": "", "enabled": true, "state": "up", "draining": false}]], "pending": [], "paces": []}, "ids": [1, 2], "ahead": false, "level": false}');
CREATE UNIQUE INDEX fairlead_groups_name ON fairlead_groups (queue, name) WHERE name IS NOT NULL;
CREATE INDEX fairlead_groups_ready ON fairlead_groups (queue, k1, k2) WHERE state = 1;
CREATE INDEX fairlead_groups_tenant ON fairlead_groups (queue, tenant, k1, k2)
  WHERE state = 1 AND fair = 1;
CREATE INDEX fairlead_groups_parked ON fairlead_groups (queue, not_before) WHERE state = 3;
CREATE INDEX fairlead_groups_held ON fairlead_groups (queue, deadline) WHERE state = 2;
CREATE INDEX fairlead_messages_group ON fairlead_messages (group_id, id);
CREATE INDEX fairlead_messages_conversation ON fairlead_messages (conversation, id)
  WHERE conversation IS NOT NULL;
CREATE INDEX fairlead_delayed_due ON fairlead_delayed (queue, due, id);
CREATE INDEX fairlead_delayed_conversation ON fairlead_delayed (conversation, id)
  WHERE conversation IS NOT NULL;
CREATE INDEX fairlead_dead_queue ON fairlead_dead (queue, id);
CREATE INDEX fairlead_message_ids_at ON fairlead_message_ids (at);
CREATE INDEX fairlead_notices_queue ON fairlead_notices (queue, id);
CREATE INDEX fairlead_notices_group ON fairlead_notices (group_id, id);
CREATE INDEX fairlead_tenants_next ON fairlead_tenants (queue, tag, turn) WHERE lined = 1;
CREATE INDEX fairlead_journal_published ON fairlead_journal (cluster, key)
  WHERE cluster IS NOT NULL AND key <> '';
CREATE INDEX fairlead_journal_settled ON fairlead_journal (token)
  WHERE token IS NOT NULL AND kind <> 'taken';
CREATE INDEX fairlead_journal_switched ON fairlead_journal (queue, id) WHERE kind = 'switched-off';
CREATE TRIGGER fairlead_pruned AFTER DELETE ON fairlead_journal BEGIN
  UPDATE fairlead_schema SET pruned = old.id WHERE pruned < old.id;
END;
CREATE INDEX fairlead_completions_cluster ON fairlead_completions (cluster, id);
CREATE UNIQUE INDEX fairlead_endpoints_dialog ON fairlead_endpoints (dialog, side);
CREATE INDEX fairlead_endpoints_service ON fairlead_endpoints (service, dialog);
CREATE INDEX fairlead_endpoints_ended ON fairlead_endpoints (dialog) WHERE state = 3;
COMMIT;
