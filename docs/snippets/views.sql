SELECT fairlead.send('orders', 'pack a lamp', "group" => 'kim', id => 'o-1');
SELECT fairlead.send('orders', 'pack a chair', "group" => 'mia', id => 'o-2');
SELECT fairlead.send('orders', 'pack a table', "group" => 'kim', id => 'o-3');
SELECT fairlead.prioritise('orders', 'mia', 250);

SELECT place, in_group, messages, priority, raised_to FROM fairlead.waiting WHERE queue = 'orders' LIMIT 20;
SELECT id, body_text FROM fairlead.take('orders');
SELECT place, in_group, messages, why FROM fairlead.waiting WHERE queue = 'orders' LIMIT 20;
SELECT in_group, priority, attempt, until - since FROM fairlead.held WHERE queue = 'orders';
SELECT queue, messages, ready, working, dead, enabled FROM fairlead.queue_status;
SELECT kind, in_group, id, priority FROM fairlead.events WHERE queue = 'orders' ORDER BY position LIMIT 5;
