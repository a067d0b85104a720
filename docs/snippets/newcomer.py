from fairlead import Balancer, Change, Cluster

MACHINES = [
    {"name": "DEV1", "weight": 100},
    {"name": "DEV2", "weight": 200},
    {"name": "DEV3", "weight": 50},
    {"name": "DEV4", "weight": 50, "present": False},
]

for newcomer in ("catch-up", "level"):
    balancer = Balancer(Cluster.of("msmq", options={"newcomer": newcomer}, destination=MACHINES))
    for _ in range(700):
        balancer.choose()
    balancer.apply(Change("DEV4", "present", True))
    choices = [balancer.choose().destination for _ in range(108)]
    in_a_row = next(k for k, name in enumerate(choices) if name != "DEV4")
    print(newcomer, in_a_row, *choices[in_a_row : in_a_row + 8])
