fairlead declare schedules.toml --store sqlite:///reports.db
fairlead schedules --store sqlite:///reports.db | cut --characters 1-55
fairlead schedules nightly --ticks 2 --store sqlite:///reports.db | cut --characters 12-
fairlead schedules heartbeat --pause --store sqlite:///reports.db
