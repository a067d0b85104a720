"""Who gets a message: the model = the live balancer, step by step = every engine, as a whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests import engines
from tests.model.deciding_worlds import World, a_world
from tests.model.doors_deciding import Journaled, Live
from tests.model.doors_deciding_store import InPostgreSQL, InStore, one_cluster
from tests.model.doors_tables import (
    dispatched,
    expected,
    expected_attempts,
    replayed,
    told,
)
from tests.model.draws import Draws, Seeded, Shrinking
from tests.model.driver import Step, follow, play
from tests.model.history_worlds import History, a_history, worked_on
from tests.replay.engines import Kernel, table

LIVE = [Live, Journaled]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.costly
@pytest.mark.parametrize("first", range(0, 600, 150))
def test_the_live_balancer(first: int) -> None:
    for seed in range(first, first + 150):
        draws = Seeded(seed)
        play(a_world(draws), draws, LIVE, 50)


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=SLOW, deadline=None)
def test_the_live_balancer_and_the_shortest_history(data: st.DataObject) -> None:
    draws = Shrinking(data)
    play(a_world(draws), draws, LIVE, 12)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 30_000, 2_000))
def test_the_live_balancer_for_long(first: int) -> None:
    for seed in range(first, first + 2_000):
        draws = Seeded(seed)
        play(a_world(draws), draws, LIVE, 80)


@pytest.mark.costly
@pytest.mark.parametrize("door", [InStore, InPostgreSQL])
def test_a_store(door: Callable[[Any], Any]) -> None:
    for seed in range(25):
        draws = Seeded(seed)
        play(one_cluster(draws), draws, [door], 25)


@pytest.mark.slow
@pytest.mark.parametrize("door", [InStore, InPostgreSQL])
def test_a_store_for_long(door: Callable[[Any], Any]) -> None:
    for seed in range(10_000, 10_200):
        draws = Seeded(seed)
        play(one_cluster(draws), draws, [door], 40)


def a_replay(draws: Draws) -> History:
    return worked_on(draws, a_history(draws))


def histories(draw: Callable[[Draws], History], first: int, end: int) -> list[History]:
    found = [draw(Seeded(seed)) for seed in range(first, end)]
    return [history for history in found if history[1]]


def check_route(first: int, end: int) -> None:
    for history in histories(a_history, first, end):
        assert engines.compiled(*history) == expected(history), history


def check_kernel(first: int, end: int) -> None:
    for history in histories(a_replay, first, end):
        found = Kernel(*history, interpreted=True).through()
        assert found == expected_attempts(history), history


@pytest.mark.costly
@pytest.mark.parametrize("first", range(0, 1_500, 300))
def test_a_table_in_memory(first: int) -> None:
    check_route(first, first + 300)


@pytest.mark.costly
@pytest.mark.parametrize("first", range(0, 800, 160))
def test_the_kernel_of_replays(first: int) -> None:
    check_kernel(first, first + 160)


def test_a_replay_of_a_table() -> None:
    for history in histories(a_replay, 0, 60):
        assert table(*history) == expected_attempts(history), history


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 26_000, 4_000))
def test_tables_and_replays_for_long(first: int) -> None:
    check_route(first, first + 4_000)
    check_kernel(first, first + 4_000)
    for history in histories(a_replay, first, first + 400):
        assert table(*history) == expected_attempts(history), history


def check_command(folder: Path, engine: str, first: int, end: int) -> None:
    """Many histories as clusters of one table, which one command decides, and one replays."""
    decided = histories(a_history, first, end)
    for history, found in zip(decided, dispatched(folder, decided, engine), strict=True):
        assert found == expected(history), history
    worked = histories(a_replay, first, end)
    for history, attempts in zip(worked, replayed(folder, worked, engine), strict=True):
        assert attempts == told(expected_attempts(history)), history


@pytest.mark.costly
@pytest.mark.parametrize("first", range(0, 250, 125))
def test_the_command_line_in_memory(first: int, tmp_path: Path) -> None:
    check_command(tmp_path, "memory", first, first + 125)


@pytest.mark.slow
def test_the_command_line_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    check_command(tmp_path, "spark", 0, 60)


@pytest.mark.slow
def test_the_command_line_on_spark_for_long(spark: SparkSession, tmp_path: Path) -> None:
    check_command(tmp_path, "spark", 1_000, 1_500)


# --- where two features meet: what was found, as short as it is --------------------------------


def change(target: str, attribute: str, value: Any, time: int = 0) -> Step:
    one = {"target": target, "attribute": attribute, "value": value, "time": time * 1_000_000}
    return Step("apply", {"changes": [one]})


def chosen(times: int) -> list[Step]:
    return [Step("choose", {"message": {}})] * times


def at(*seconds: int) -> list[Step]:
    return [Step("at", {"time": second * 1_000_000}) for second in seconds]


A, B = {"name": "a"}, {"name": "b"}
TO_ONE = {"choose": "ready-ring", "eliminate": ["disabled"]}
LEVELS = {"eliminate": ["down", "weight-zero", "worse-priority"], "choose": "least-served"}
CROSSINGS: dict[str, tuple[dict[str, Any], list[Step]]] = {
    "what it got at a small part of its weight is no debt when that is whole": (
        {
            "policy": "weighted",
            "options": {"slow_start": 10, "slow_start_min": 1},
            "destination": [A, {**B, "present": False}],
        },
        [*chosen(100), change("b", "present", True, 10), *chosen(3), *at(15, 20), *chosen(9)],
    ),
    "an up counts at once where nobody else is there": (
        {"policy": "hot-standby", "options": {"failback_delay": 60}, "destination": [A, B]},
        [
            *(change(name, "state", "down", 10) for name in "ab"),
            change("a", "state", "up", 20),
            *chosen(1),
            change("b", "state", "up", 30),
            change("a", "state", "failed", 31),
            *chosen(1),
        ],
    ),
    "who gets another priority is a newcomer there": (
        {"policy": LEVELS, "destination": [A, {**B, "priority": 9}]},
        [*chosen(20), change("b", "priority", 8), *chosen(4)],
    ),
    "a level in panic uses whole weights, also of who starts slowly": (
        {
            "policy": "priority-failover",
            "options": {"slow_start": 60, "panic_threshold": 100, "overprovisioning": 100},
            "destination": [A, {**B, "present": False}, {"name": "c"}],
        },
        [change("b", "present", True), *chosen(3), change("c", "state", "down"), *chosen(5)],
    ),
    "who failed while busy, and is not watched, has room": (
        {"policy": TO_ONE, "destination": [{**A, "capacity": 1}]},
        [*chosen(2), change("a", "state", "failed"), *chosen(2)],
    ),
}


@pytest.mark.parametrize("name", CROSSINGS)
def test_a_crossing(name: str) -> None:
    cluster, steps = CROSSINGS[name]
    follow(World([{**cluster, "name": "c"}]), LIVE, steps)
