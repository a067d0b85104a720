fairlead replay calls.csv -c desks.toml --column "service_time=tokens / 100" \
  --column "group=id" --engine memory --no-report --out waited
