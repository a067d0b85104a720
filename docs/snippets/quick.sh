fairlead check pool.toml
fairlead dispatch calls.csv --cluster pool.toml --out routed --format csv
fairlead explain routed --id c05
