"""Histories of a store through the plain model and through every door, each step compared."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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

DOORS: list[list[Callable[[Any], Any]]] = [
    [StoreDoor, OnPostgreSQL],
    [InSteps, OnLoops],
    [OnLoopsOnPostgreSQL],
]
IDS = ["each database", "in steps and on loops", "on loops on PostgreSQL"]
STEPS = 60


@pytest.mark.parametrize("doors", DOORS, ids=IDS)
@pytest.mark.parametrize("seed", range(12))
def test_a_history_of_a_seed(seed: int, doors: list[Callable[[Any], Any]]) -> None:
    draws = Seeded(seed)
    play(StoreWorld(draws), draws, doors, STEPS)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_history_that_shrinks(data: st.DataObject) -> None:
    draws = Shrinking(data)
    play(StoreWorld(draws), draws, [StoreDoor], draws.whole(1, 40))
