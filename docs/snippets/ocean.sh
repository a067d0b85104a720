fairlead explain --cluster ocean.toml --count 10 | tail -n 5
