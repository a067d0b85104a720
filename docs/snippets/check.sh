fairlead check pool.toml
