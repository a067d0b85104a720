fairlead services --store sqlite:///talk.db
fairlead conversations --store sqlite:///talk.db | cut --characters 1-44
fairlead conversation d-1 --store sqlite:///talk.db | sed --quiet 5,7p
fairlead explain --queue workshop --first d-5 --second d-1 --store sqlite:///talk.db | tail --lines 1
fairlead explain --queue workshop --first d-1 --second d-5 --store sqlite:///talk.db | head --lines 1
