CREATE TABLE msmq_machines (
  server_name text, cluster text, queue_path text, number_requests_sent float NOT NULL DEFAULT 0,
  weight_factor float NOT NULL DEFAULT 100, enabled_status boolean NOT NULL,
  PRIMARY KEY (server_name, cluster));
INSERT INTO msmq_machines (server_name, cluster, queue_path, weight_factor, enabled_status) VALUES
  ('DEV1', 'Bangkok', 'DIRECT=OS:dev1\private$\orders', 100, true),
  ('DEV2', 'Bangkok', 'DIRECT=OS:dev2\private$\orders', 200, true),
  ('DEV3', 'Bangkok', 'DIRECT=OS:dev3\private$\orders', 50, true);

CREATE FUNCTION get_load_balanced_queue_name(of_cluster text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  chosen msmq_machines;
BEGIN
  SELECT * INTO chosen FROM msmq_machines WHERE cluster = of_cluster AND enabled_status
    ORDER BY number_requests_sent / weight_factor, weight_factor DESC LIMIT 1;
  -- another caller may be here, too, with the same machine
  UPDATE msmq_machines SET number_requests_sent = number_requests_sent + 1
    WHERE server_name = chosen.server_name AND cluster = of_cluster;
  RETURN chosen.queue_path;
END $$;

SELECT count(get_load_balanced_queue_name('Bangkok')) FROM generate_series(1, 100);
SELECT server_name, number_requests_sent FROM msmq_machines ORDER BY server_name;
