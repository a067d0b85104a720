"""How often messages were given in vain, as a server remembers it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.serve.node import delivery_counts
from fairlead.serve.node.delivery_counts import DeliveryCounts, GroupDeliveries
from fairlead.serve.node.group_delivery import GroupDelivery
from fairlead.serve.wire.events import ACCEPTED, Outcome
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import Given
from fairlead.store.queues.taken_group import TakenGroup


def held(group: int) -> Any:
    return SimpleNamespace(id=group, attempt=2)


def test_what_goes_back_twice_takes_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_counts, "MOST", 10)
    found = DeliveryCounts()
    for group in range(20):
        for _ in range(2):  # settled in a transaction, which then failed
            found.gave_back(group, GroupDeliveries(1, 0, {7: 3}))
        assert found.taken(held(group)).of(7) == 3


def test_the_groups_that_came_back_first_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_counts, "MOST", 10)
    found = DeliveryCounts()
    for group in range(6):
        found.gave_back(group, GroupDeliveries(1, 0, {7: 3}))
    assert [found.taken(held(group)).of(7) for group in (0, 1, 5)] == [1, 3, 3]


@pytest.mark.parametrize("ends", [True, False], ids=["its link ends", "its link wants no more"])
def test_what_was_given_before_is_known_though_only_others_of_its_group_were_done(
    ends: bool,
) -> None:
    known = DeliveryCounts()
    known.gave_back(1, GroupDeliveries(0, 0, {1: 1, 2: 1}))
    messages = [Received(str(k), k, None, "kim", "", 1, 0.0, k) for k in (1, 2, 3)]

    def taken(attempt: int, found: list[Received]) -> GroupDelivery:
        group = TakenGroup(1, "kim", "", 0, attempt, 7, 0, 0, (0, 0), found)
        return GroupDelivery("jobs", group, known, raises=False)

    holding = taken(2, [*messages])
    assert [holding.tries_of(each) for each in messages] == [1, 1, 0]
    holding.give()
    holding.ended(Given(1, "1", 1), Outcome(ACCEPTED))
    if ends:
        holding.gone([], None, "", "")
    (end,) = holding.last()
    assert (end.end.kind, end.end.redelivers) == ("accepted", True)
    holding = taken(2, messages[1:])
    assert [holding.tries_of(each) for each in messages[1:]] == [1, 0]
