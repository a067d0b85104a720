fairlead conversations --service Printer --store sqlite:///prints.db | cut --characters 1-50
fairlead explain --queue printer --first d-26 --second d-12 --store sqlite:///prints.db | tail --lines 1
