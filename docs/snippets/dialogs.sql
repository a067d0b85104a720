CREATE TABLE asked (id text PRIMARY KEY, dialog text NOT NULL);
INSERT INTO asked SELECT 'o-1', fairlead.begin_dialog('Client', 'Shop');
SELECT fairlead.send_on(dialog, 'Order', '{"item": "lamp"}'::jsonb) FROM asked WHERE id = 'o-1';
SELECT fairlead.prioritise_dialog(dialog, 200) FROM asked WHERE id = 'o-1';

-- the shop: receive, answer, end and settle, all of it or nothing
BEGIN;
CREATE TEMP TABLE work ON COMMIT DROP AS SELECT * FROM fairlead.receive('shop');
SELECT in_group, priority, type, body_text FROM work ORDER BY number;
SELECT fairlead.send_on(conversation, 'Confirmation', body_text::jsonb ->> 'item') FROM work;
SELECT fairlead.end_dialog(conversation) FROM work;
SELECT fairlead.settle(token, given => array_agg(number)) FROM work GROUP BY token;
COMMIT;

-- the client: which order it was, its own row says
BEGIN;
CREATE TEMP TABLE work ON COMMIT DROP AS SELECT * FROM fairlead.receive('client');
SELECT asked.id, type, body_text FROM work JOIN asked ON dialog = conversation ORDER BY number;
SELECT fairlead.end_dialog(conversation) FROM work WHERE type IN ('EndDialog', 'Error');
SELECT fairlead.settle(token, given => array_agg(number)) FROM work GROUP BY token;
COMMIT;

SELECT count(*) FROM fairlead.conversations;
