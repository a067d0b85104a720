"""A cluster in words: what of its destinations is special, and what is hardly meant."""

from typing import Any

import pytest

from fairlead import Cluster
from fairlead.balance.words.effective_policy import in_words, warnings

AB = [{"name": "A"}, {"name": "B"}]
HUB: dict[str, Any] = {
    "queue_manager": {"name": "HUB", "clusters": ["C"]},
    "remote": [{"name": "M", "suspended": True}, {"name": "N"}],
    "channel": [
        {"name": "TO.M", "queue_manager": "M", "weight": 25, "state": "retrying"},
        {"name": "TO.N", "queue_manager": "N", "clusters": ["C", "D"]},
    ],
}
SHUT = {"name": "SHUT", "queue_manager": "M", "put_enabled": False}
NEWS, WORK = {"name": "A", "subject": "/news"}, {"name": "A", "subject": "/work"}

UNTIL = "until a change, messages are"
RESTING = "in a replay nothing is ever started there"
NO_PUT = "no instance of the queue 'SHUT' is put-enabled"


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


@pytest.mark.parametrize(
    ("policy", "tables", "expected"),
    [
        ("round-robin", {"destination": AB}, []),
        (
            "weighted",
            {"destination": [{**each, "weight": 0} for each in AB]},
            [f"no destination can be chosen (weight-zero); {UNTIL} no-destination"],
        ),
        (
            "broadcast",
            {"destination": [{**each, "enabled": False} for each in AB]},
            [f"no destination can be chosen (disabled); {UNTIL} no-destination"],
        ),
        (
            "fewest-pending",
            {"destination": [{"name": "A", "readers": 0}, {"name": "B"}]},
            [f"readers is 0 at A: {RESTING}"],
        ),
        (
            "hot-standby",
            {"destination": [{**each, "readers": 0} for each in AB]},
            [f"readers is 0 at all destinations that can be chosen: {RESTING}"],
        ),
        ("ibm-mq", {**HUB, "queue": [{"name": "Q", "queue_manager": "M"}]}, []),
        ("ibm-mq", HUB, []),
        (
            "ibm-mq",
            {**HUB, "queue": [SHUT]},
            [f"the queue 'SHUT': no destination can be chosen ({NO_PUT}); {UNTIL} put-inhibited"],
        ),
        ("smartsockets", {"subscriber": [NEWS, {**WORK, "connected": "warm"}]}, []),
        (
            "smartsockets",
            {"subscriber": [NEWS, {**WORK, "present": False}]},
            [f"the subject '/work': no destination can be chosen (absent); {UNTIL} no-destination"],
        ),
        (
            {"eliminate": ["weight-zero", "other-region"], "choose": "least-served"},
            {"destination": [{**each, "weight": 0} for each in AB]},
            [],
        ),
    ],
)
def test_a_file_that_is_hardly_meant_gets_a_warning(
    policy: Any, tables: dict[str, Any], expected: list[str]
) -> None:
    assert warnings(Cluster.of(policy, **tables)) == expected
