fairlead explain waited/desks --id c12
