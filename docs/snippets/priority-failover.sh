fairlead check priority-failover.toml
