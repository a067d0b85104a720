fairlead explain --cluster plant.toml --message quue=ORDERS
