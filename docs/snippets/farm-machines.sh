fairlead machines add farm DEV4 weight=50 address=10.0.0.4 --store sqlite:///farm.db > /dev/null
fairlead machines weight farm DEV1 300 --store sqlite:///farm.db
fairlead machines next farm --store sqlite:///farm.db
