sed 's/weight = 4/weight = 1/' pool.toml > lighter.toml
fairlead dispatch calls.csv --cluster pool.toml --out as-is
fairlead dispatch calls.csv --cluster lighter.toml --out lighter
fairlead diff as-is lighter
