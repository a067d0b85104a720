"""The rule by hand, and in all engines."""

from pathlib import Path

import pyarrow as pa

from fairlead import Balancer, Change, load_clusters, route

CLUSTERS = load_clusters(Path(__file__).with_name("pool.toml"))
REGIONS = ["", "east", "west", "", "east", "east", "", "west", "", "east"]
CHANGES = [Change("east-spot", "price", 4, 4), Change("west", "state", "down", 7)]
# Spent before each message (east-spot, east, west), and who is cheapest after it:
WANTED = [
    "east-spot",  # 0 0 0: 1 3 2
    "east-spot",  # 1 0 0: 2 3
    "west",  # 2 0 0: 2
    "east-spot",  # 2 0 2: 3 3 4
    "east",  # 3 0 2, east-spot costs 4 now: 7 3
    "east",  # 3 3 2: 7 6
    "west",  # 3 6 2: 7 9 4
    None,  # west is down
    "east-spot",  # 3 6 4: 7 9
    "east",  # 7 6 4: 11 9
]


def messages() -> pa.Table:
    n = len(REGIONS)
    return pa.table({"id": [f"m{k}" for k in range(n)], "time": range(n), "region": REGIONS})


def test_live() -> None:
    balancer = Balancer(CLUSTERS)
    found = []
    for k, region in enumerate(REGIONS):
        balancer.apply([change for change in CHANGES if change.time == k])
        found.append(balancer.choose({"region": region}).destination)
    assert found == WANTED


def test_compiled() -> None:
    assert route(messages(), CLUSTERS, CHANGES)["destination"].to_pylist() == WANTED


def test_a_decision_explains_itself() -> None:
    why = str(Balancer(CLUSTERS).choose({"region": "east"}).explain())
    assert "dropped west: region is 'west', the message's is 'east'" in why
    assert "1. east-spot: price 1, spent 0" in why
    assert "cheapest prefers east-spot to east" in why
