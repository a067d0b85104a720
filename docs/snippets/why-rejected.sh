fairlead explain outage --id c10
