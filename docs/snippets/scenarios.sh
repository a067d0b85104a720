fairlead replay calls.csv --cluster pool.toml --scenarios what-if.toml \
  --column "service_time=tokens / 100" --out what-if
