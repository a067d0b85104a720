fairlead dispatch calls.csv -c pool.toml -o routed-here --engine memory
fairlead replay calls.csv -c pool.toml -c desks.toml -o replayed-here --engine memory \
  --column "service_time=tokens / 100" --column "group=id"
