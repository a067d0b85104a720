fairlead check no-flood.toml | grep slow
