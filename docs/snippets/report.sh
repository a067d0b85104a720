fairlead dispatch calls.csv --cluster pool.toml --changes outage.csv --out reported
