CREATE TABLE orders (id text PRIMARY KEY, customer text NOT NULL);

CREATE FUNCTION send_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fairlead.send('placed', to_jsonb(new), "group" => new.customer);
  RETURN NULL;
END $$;
CREATE TRIGGER placed AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION send_order();

INSERT INTO orders VALUES ('o-7', 'kim');
SELECT in_group, body_text FROM fairlead.take('placed');
