fairlead explain --cluster rendezvous.toml --message group=alice
