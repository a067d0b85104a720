fairlead diff again --of farm --store sqlite:///farm.db
