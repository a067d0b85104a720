fairlead send orders "pack 1" --group anna --id o1
fairlead send orders "pack 2" --group ben --id o2
fairlead send orders "pack 3" --group cleo --id o3
fairlead promote orders cleo --priority 200 | sed --quiet 1,2p
fairlead take orders
fairlead take orders --exec "grep --quiet paid"
fairlead peek orders
fairlead queues --json | cut --delimiter , --fields 1-4
