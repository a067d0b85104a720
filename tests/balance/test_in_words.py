"""A cluster in words: what of its destinations is special."""

from typing import Any

from fairlead import Cluster
from fairlead.balance.in_words import in_words

HUB: dict[str, Any] = {
    "queue_manager": {"name": "HUB", "clusters": ["C"]},
    "remote": [{"name": "M", "suspended": True}, {"name": "N"}],
    "channel": [
        {"name": "TO.M", "queue_manager": "M", "weight": 25, "state": "retrying"},
        {"name": "TO.N", "queue_manager": "N", "clusters": ["C", "D"]},
    ],
}
NEWS = {"name": "A", "subject": "/news"}


def conditions(policy: str, **tables: Any) -> dict[str, str]:
    found = in_words(Cluster.of(policy, **tables))
    return {each.name: each.condition for each in found.destinations}


def test_what_differs_from_the_defaults_is_told_as_the_file_has_it() -> None:
    working = [{"name": "A", "readers": 4, "speed": 2.5}, {"name": "B", "present": False}]
    assert conditions("fewest-pending", destination=working) == {
        "A": "readers 4, speed 2.5",
        "B": "present false",
    }
    peers = [{"name": "A", "capacity": 3, "priority": 2}, {"name": "B", "state": "down"}]
    assert conditions("nanomsg", destination=peers) == {
        "A": "priority 2, capacity 3",
        "B": "state down",
    }
    subscribers = [{**NEWS, "readers": 2, "connected": "warm"}]
    assert conditions("smartsockets", subscriber=subscribers) == {"A": "warm, readers 2"}


def test_a_weight_is_told_once() -> None:
    tables = {"destination": [{"name": "A", "weight": 3}, {"name": "B", "weight": 0}]}
    assert conditions("msmq", **tables) == {"A": "", "B": "weight 0"}
    assert in_words(Cluster.of("msmq", **tables)).destinations[0].weight == 3


def test_a_channel_is_told_with_its_queue_manager() -> None:
    assert conditions("ibm-mq", **HUB) == {
        "TO.M": "to M (suspended true), state retrying, weight 25",
        "TO.N": "to N, clusters C;D",
        "local": "",
    }
