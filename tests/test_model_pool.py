"""Waiting in one process: the model = the pool by its own clock = coroutines in one loop."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.model.doors_pool import Coroutines, OwnClock
from tests.model.draws import Seeded, Shrinking
from tests.model.driver import Step, follow, play
from tests.model.pool_worlds import PoolWorld, a_pool

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.costly
@pytest.mark.parametrize("first", range(0, 500, 100))
def test_the_pool(first: int) -> None:
    for seed in range(first, first + 100):
        draws = Seeded(seed)
        play(a_pool(draws), draws, [OwnClock], 60, look_each=2)


@pytest.mark.slow
def test_coroutines() -> None:
    for seed in range(1_000, 1_100):
        draws = Seeded(seed)
        play(a_pool(draws), draws, [Coroutines], 50, look_each=3)


@given(data=st.data())
@settings(max_examples=25, suppress_health_check=SLOW, deadline=None)
def test_the_pool_and_the_shortest_history(data: st.DataObject) -> None:
    draws = Shrinking(data)
    play(a_pool(draws), draws, [OwnClock], 12)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 18_000, 2_000))
def test_the_pool_for_long(first: int) -> None:
    for seed in range(first, first + 2_000):
        draws = Seeded(seed)
        play(a_pool(draws), draws, [OwnClock, Coroutines], 80)


# --- where two features meet: what was found, as short as it is --------------------------------


def asks(group: str = "", priority: int | None = None, **more: Any) -> Step:
    said = {"group": group, "tenant": "", "priority": priority, "timeout": None, "cost": 1}
    return Step("acquire", {**said, "said": {}, "id": "r", **more})


def failed(name: str) -> Step:
    one = {"target": name, "attribute": "state", "value": "failed", "time": 0}
    return Step("apply", {"changes": [one]})


FIRST = Step("leave", {"number": 0, "failed": False})
GIVES_UP = Step("give_up", {"number": 1})
CROSSINGS = {
    "who gives up takes the raise along": [
        *(asks(), asks("g", 200), GIVES_UP, asks("h"), asks("g")),
        *(Step("prioritise", {"group": "é", "priority": 1}), FIRST),
    ],
    "a raise stays while somebody of the group waits": [
        *(asks(), asks("g", 200), asks("g"), GIVES_UP, asks("h"), FIRST),
    ],
    "who waits for too long takes the raise along": [
        *(asks(), asks("g", 200, timeout=5), Step("at", {"time": 5}), asks("h"), asks("g"), FIRST),
    ],
    "what is released and finds nobody has not been decided": [asks(), asks(), failed("a")],
}
ONE = [{"name": "a", "readers": 1}]
RING = {"eliminate": ["down"], "choose": "ready-ring"}


@pytest.mark.parametrize("policy", ["round-robin", RING], ids=str)
@pytest.mark.parametrize("name", CROSSINGS)
def test_a_crossing(name: str, policy: Any) -> None:
    cluster = {"name": "c", "policy": policy, "order": {"discipline": "priority"}}
    follow(PoolWorld({**cluster, "destination": ONE}, ()), [OwnClock, Coroutines], CROSSINGS[name])
