fairlead dispatch --of farm --store sqlite:///farm.db --out again --no-report
