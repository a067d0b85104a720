fairlead explain farm --id p-3 --store sqlite:///farm.db
fairlead explain farm --id farm/2 --store sqlite:///farm.db
