fairlead explain --cluster permits.toml --count 6
