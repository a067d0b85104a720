fairlead explain --cluster weighted.toml --count 8
