"""How often messages were given in vain, as a server remembers it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.serve.node import tries
from fairlead.serve.node.tries import Tried, Tries


def held(group: int) -> Any:
    return SimpleNamespace(id=group, attempt=2)


def test_what_goes_back_twice_takes_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "MOST", 10)
    found = Tries()
    for group in range(20):
        for _ in range(2):  # settled in a transaction, which then failed
            found.gave_back(group, Tried(1, 0, {7: 3}))
        assert found.taken(held(group)).of(7) == 3


def test_the_groups_that_came_back_first_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "MOST", 10)
    found = Tries()
    for group in range(6):
        found.gave_back(group, Tried(1, 0, {7: 3}))
    assert [found.taken(held(group)).of(7) for group in (0, 1, 5)] == [1, 3, 3]
