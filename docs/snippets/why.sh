fairlead explain outage --id c09
