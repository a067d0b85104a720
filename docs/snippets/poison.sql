CREATE TABLE weights (id text PRIMARY KEY, grams integer NOT NULL);
SELECT fairlead.send('scales', '250', "group" => 'kim', id => 's-1');
SELECT fairlead.send('scales', 'heavy', "group" => 'mia', id => 's-2');

CREATE FUNCTION weigh_next() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  work record;
BEGIN
  SELECT * INTO work FROM fairlead.take('scales', most => 1);
  IF NOT FOUND THEN
    RETURN 'nothing waits';
  END IF;
  BEGIN  -- a savepoint
    INSERT INTO weights VALUES (work.id, work.body_text::integer);
  EXCEPTION WHEN OTHERS THEN  -- back to it: the row is undone, and the work is still in this transaction's hands
    PERFORM fairlead.settle(work.token, 'released', reason => SQLERRM);
    RETURN 'failed';
  END;
  PERFORM fairlead.settle(work.token, given => ARRAY[work.number]);
  RETURN 'weighed';
END $$;

SELECT weigh_next();
SELECT weigh_next() FROM generate_series(1, 5);
SELECT weigh_next();
SELECT id, attempt, reason FROM fairlead.dead_letters WHERE queue = 'scales';
