fairlead dispatch calls.csv --cluster pool.toml --out routed --format csv
