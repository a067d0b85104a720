fairlead check composed.toml
