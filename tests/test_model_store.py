"""Histories of a store through the plain model and through every door, each step compared."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.model import doors_process, doors_sql
from tests.model.doors_cli import OnCommandLine
from tests.model.doors_process import TwoProcesses, TwoProcessesOnPostgreSQL
from tests.model.doors_sql import InSQL
from tests.model.doors_store import (
    InSteps,
    OnLoops,
    OnLoopsOnPostgreSQL,
    OnPostgreSQL,
    StoreDoor,
)
from tests.model.draws import Seeded, Shrinking
from tests.model.driver import play
from tests.model.store_worlds import StoreWorld

Door = Callable[[Any], Any]
ALIVE = frozenset({"crashes"})
"""Nobody is killed where all doors are in one process."""
DOORS: dict[str, tuple[list[Door], frozenset[str], int]] = {
    "on SQLite": ([StoreDoor], ALIVE, 40),
    "on PostgreSQL": ([OnPostgreSQL], ALIVE, 10),
    "in steps and on loops": ([InSteps, OnLoops], ALIVE, 5),
    "on loops on PostgreSQL": ([OnLoopsOnPostgreSQL], ALIVE, 5),
    "on the command line": ([OnCommandLine], ALIVE, 2),
    "in SQL": ([InSQL], ALIVE | doors_sql.WITHOUT, 5),
    "two processes": ([TwoProcesses], doors_process.WITHOUT, 2),
    "two processes on PostgreSQL": ([TwoProcessesOnPostgreSQL], doors_process.WITHOUT, 2),
}
"""Doors that play a history together, what it has not, and how many histories there are."""
STEPS = 60
HISTORIES = [
    pytest.param(name, 100 * place + seed, id=f"{name}-{100 * place + seed}")
    for place, (name, (_, _, seeds)) in enumerate(DOORS.items())
    for seed in range(seeds)
]
"""Each door has seeds of its own."""


@pytest.mark.costly
@pytest.mark.parametrize(("name", "seed"), HISTORIES)
def test_a_history_of_a_seed(name: str, seed: int) -> None:
    doors, without, _ = DOORS[name]
    draws = Seeded(seed)
    play(StoreWorld(draws, without), draws, doors, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
@pytest.mark.parametrize("name", DOORS)
def test_histories_of_many_seeds(name: str, tenth: int) -> None:
    doors, without, seeds = DOORS[name]
    for seed in range(1_000 + tenth * seeds, 1_000 + (tenth + 1) * seeds):
        draws = Seeded(seed)
        play(StoreWorld(draws, without), draws, doors, STEPS)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_history_that_shrinks(data: st.DataObject) -> None:
    draws = Shrinking(data)
    play(StoreWorld(draws, ALIVE), draws, [StoreDoor], draws.whole(1, 40))
