fairlead dispatch fairlead-demo/flights.csv --cluster hangars.toml --out turns \
  --column "id=concat_ws(' ', time_hour, carrier, flight, origin)" \
  --column "time=timestampadd(MINUTE, cast(minute AS INT), to_timestamp(time_hour))" \
  --column "group=nullif(tailnum, 'NA')"
