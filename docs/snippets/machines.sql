SELECT * FROM fairlead.next_destination('Bangkok');
SELECT count(fairlead.next_destination('Bangkok')) FROM generate_series(1, 99);
SELECT name, weight, enabled, sent FROM fairlead.machines WHERE cluster = 'Bangkok' ORDER BY name;

-- what an administrator does; it counts from the next choice on
UPDATE fairlead.machines SET enabled = false WHERE cluster = 'Bangkok' AND name = 'DEV3';
INSERT INTO fairlead.machines (cluster, name, weight) VALUES ('Bangkok', 'DEV4', 50);
SELECT fairlead.reset('Bangkok');
SELECT destination FROM fairlead.next_destination('Bangkok');
DELETE FROM fairlead.machines WHERE cluster = 'Bangkok' AND name = 'DEV4';

-- choose, and send to the queue of that destination, in one step
SELECT destination, sequence FROM fairlead.publish('Bangkok', 'pack a lamp'::text, "group" => 'kim');
SELECT in_group, body_text FROM fairlead.take('DEV1');

-- what was decided, and by whom it was changed
SELECT kind, destination, sequence, detail FROM fairlead.journal
WHERE cluster = 'Bangkok' AND (kind = 'changed' OR sequence > 99) ORDER BY id;
