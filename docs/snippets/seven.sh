fairlead explain --cluster pool.toml --count 7
