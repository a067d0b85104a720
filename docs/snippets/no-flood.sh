fairlead check no-flood.toml
