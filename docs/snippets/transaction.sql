CREATE TABLE parcels (id text PRIMARY KEY);
SELECT fairlead.send('parcels', 'p-1');

BEGIN;
CREATE TEMP TABLE taken ON COMMIT DROP AS SELECT * FROM fairlead.take('parcels');
INSERT INTO parcels SELECT body_text FROM taken;
SELECT fairlead.send('vans', body_text) FROM taken;
SELECT fairlead.settle(token, given => array_agg(number)) FROM taken GROUP BY token;
COMMIT;

SELECT * FROM parcels;
