from fairlead import load_clusters
from fairlead.config.scenarios import load_scenarios

for scenario in load_scenarios("what-if.toml", load_clusters("pool.toml")):
    (cluster,) = scenario.clusters
    gpu = cluster.tables.destination[2]
    print(f"{scenario.name}: weight {gpu.weight}, speed {gpu.speed}, readers {gpu.readers}", end="; ")
    print(f"{len(scenario.changes)} changes; messages × {scenario.scale_rate}", end="; ")
    print(cluster.tables.order.discipline)
