from fairlead import Balancer, Cluster

REMOTE = [{"name": "A"}, {"name": "B"}]
ORDERS = [
    {"name": "ORDERS", "queue_manager": "A", "bind": "not-fixed"},
    {"name": "ORDERS", "queue_manager": "B"},
]


def first_choice(a: dict[str, object], b: dict[str, object]) -> None:
    channel = [
        {"name": "TO.A", "queue_manager": "A", **a},
        {"name": "TO.B", "queue_manager": "B", **b},
    ]
    cluster = Cluster.of(
        "ibm-mq",
        queue_manager={"name": "HUB", "clusters": ["PLANT"]},
        remote=REMOTE,
        channel=channel,
        queue=ORDERS,
    )
    decision = Balancer(cluster).choose({"queue": "ORDERS"})
    print(decision.destination)
    print(decision.explain())


first_choice({"rank": 1}, {"rank": 2, "state": "retrying"})
print()
first_choice({"priority": 9, "state": "retrying"}, {"priority": 1})
