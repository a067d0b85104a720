fairlead explain --cluster own.toml --message region=east --count 4
