fairlead check priority-failover.toml | tail -n 7
