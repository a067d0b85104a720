fairlead explain --cluster plant.toml --count 24
