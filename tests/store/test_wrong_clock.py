"""A clock that was wrong once does not pin the store: the next event has the right time again."""

from collections.abc import Callable

import pytest

from fairlead import Store

Open = Callable[..., Store]
CENTURIES = 10_000_000_000
"""Seconds."""


@pytest.mark.parametrize("by", [3_700, CENTURIES])
def test_one_event_of_the_future_changes_no_later_time(url: str, opened: Open, by: int) -> None:
    now = [1_000_000_000.0]
    store = opened(url, clock=lambda: now[0])
    store.send("q", 1, group="a")
    now[0] += by
    store.send("q", 2, group="b")
    now[0] -= by - 5
    store.send("q", 3, group="c")
    store.send_many("q", [{"body": 4, "group": "d"}])
    times = [event.time - 1_000_000_000 for event in store.journal()]
    assert times == [0, by, 5, 5]
    now[0] += 10
    assert store.queues()[0].oldest == 15
    store.set_retention(1)
    now[0] += 200_000
    assert store.take("q") is not None
    store.prune(86_400)
    left = [(event.kind, event.time - 1_000_000_000) for event in store.journal()]
    assert left == [*([("sent", by)] if by == CENTURIES else []), ("taken", 200_015)]


def test_a_clock_that_goes_back_a_little_changes_no_order(url: str, opened: Open) -> None:
    now = [1_000_000_000.0]
    store = opened(url, clock=lambda: now[0])
    store.set_order("q", "priority", ageing=10)
    store.send("q", "first", group="a", priority=5)
    now[0] -= 3_500
    store.send("q", "second", group="b", priority=5)
    store.prioritise("q", "b", 5)
    got = []
    while work := store.take("q"):
        got += [message.body for message in work]
        work.accept()
    assert got == ["first", "second"]
    times = [event.time for event in store.journal()]
    assert times == sorted(times)
