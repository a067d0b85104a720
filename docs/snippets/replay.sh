fairlead replay calls.csv -c pool.toml -c desks.toml \
  --column "service_time=tokens / 100" --column "group=id" --out replayed
fairlead whatif replayed/desks --promote c12 --at 2026-03-02T09:00:12Z
