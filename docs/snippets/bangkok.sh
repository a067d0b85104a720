fairlead explain --cluster bangkok.toml --count 100 | tail -n 4
