SELECT fairlead.send('orders', 'pack a lamp', "group" => 'kim');
SELECT fairlead.send('orders', '{"pack": "chair"}'::jsonb, "group" => 'kim', id => 'o-2');
SELECT fairlead.send('orders', '\x0001'::bytea, priority => 200, expires => interval '1 day');
SELECT fairlead.send('orders', 'pack a table', "group" => 'mia', delay => interval '1 hour');
SELECT fairlead.prioritise('orders', 'kim', 250);

-- take, look, accept
CREATE TEMP TABLE work AS SELECT * FROM fairlead.take('orders', lease => interval '5 minutes');
SELECT in_group, priority, attempt, id, body_text FROM work ORDER BY number;
SELECT fairlead.settle(token, given => array_agg(number)) FROM work GROUP BY token;

-- take and give back, because it failed
SELECT id, body, fairlead.settle(token, 'released', reason => 'the printer is out of paper',
                                 delay => interval '10 seconds')
FROM fairlead.take('orders');

-- nothing can be taken now: one message waits for its delay, the other is not due
SELECT count(*) FROM fairlead.take('orders');
