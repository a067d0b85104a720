from fairlead import Balancer, Cluster

balancer = Balancer(
    Cluster.of(
        "nanomsg",
        destination=[
            {"name": "A", "priority": 1, "capacity": 2},
            {"name": "B", "priority": 1, "capacity": 1},
            {"name": "L", "priority": 2},
        ],
    )
)

first = [balancer.choose() for _ in range(5)]
print(*(decision.destination for decision in first))

balancer.completed(first[0])  # A has finished one message
print(*(balancer.choose().destination for _ in range(2)))
