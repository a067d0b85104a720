from fairlead import load_clusters
from fairlead.config.scenarios import load_scenarios

for scenario in load_scenarios("what-if.toml", load_clusters("pool.toml")):
    (cluster,) = scenario.clusters
    gpu = cluster.tables.destination[2]
    print(scenario.name)
    print(f"  gpu-3: weight {gpu.weight}, speed {gpu.speed}, readers {gpu.readers}")
    print(f"  {len(scenario.changes)} changes, each message {scenario.scale_rate} times")
