fairlead explain --cluster round-robin.toml --count 4
