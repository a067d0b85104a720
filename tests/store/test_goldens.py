"""The golden cases of Service Broker's order, on both databases and in plain SQL.

They all hold, though a store's plain group ends when it is empty and settled, and a conversation of
the document only when it is ended: none of them raises a group that is through.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from fairlead import Store
from tests.order.service import MILLI, SECOND, Case, Started, cases, run, written_out
from tests.stores import SqlQueue, made_url

DAY = 24 * 3600


class Clock:
    """Each case has a day of its own: the time of a store never goes back."""

    day = 0
    now = 0

    def begin(self) -> None:
        """The next case."""
        self.day, self.now = self.day + 1, 0

    def __call__(self) -> Fraction:
        return Fraction(self.now, SECOND) + self.day * DAY


class Stored:
    """A queue of a store, as the tests speak to it."""

    def __init__(self, store: Store, clock: Clock, case: Case) -> None:
        self.store = store
        self.clock = clock
        self.name = case.name
        self.store.set_order(self.name, **case.order, weights=case.weights)

    def arrive(self, group: str, item: Any, now: int, **more: Any) -> None:
        self.clock.now = now
        self.store.send(self.name, item, group=group, **more)

    def prioritise(self, group: str, now: int, priority: int | None = None) -> bool:
        self.clock.now = now
        return self.store.prioritise(self.name, group, priority)

    def take(self, now: int) -> Any:
        self.clock.now = now
        return self.store.take(self.name, lease=DAY)

    def receive(self, work: Any) -> Any:
        message = next(work, None)
        return None if message is None else message.body

    def finish(self, work: Any) -> None:
        work.accept()

    def rollback(self, work: Any) -> None:
        work.release()


class InSql:
    """A queue of which everything is asked in plain SQL."""

    def __init__(self, case: Case) -> None:
        self.queue = SqlQueue(**case.order, weights=case.weights)

    def arrive(self, group: str, item: Any, now: int, **more: Any) -> None:
        self.queue.send(group or None, item, Fraction(now, SECOND), **more)

    def prioritise(self, group: str, now: int, priority: int | None = None) -> bool:
        return self.queue.prioritise(group, Fraction(now, SECOND), priority)

    def take(self, now: int) -> Any:
        return self.queue.take(Fraction(now, SECOND))

    def receive(self, work: Any) -> Any:
        return next(work, None)

    def finish(self, work: Any) -> None:
        work.accept()

    def rollback(self, work: Any) -> None:
        work.release()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Clock]]:
    clock = Clock()
    with Store.open(made_url(request.param), clock=clock) as store:
        yield store, clock


@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden(case: Case, shared: tuple[Store, Clock]) -> None:
    store, clock = shared
    clock.begin()
    check(case, run(Stored(store, clock, case), case))


@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden_in_plain_sql(case: Case) -> None:
    queue = InSql(case)
    try:
        check(case, run(queue, case))
    finally:
        queue.queue.close()


def check(case: Case, started: list[Started]) -> None:
    """Assert what the case expects."""
    if "taken" in case.expect:
        assert [each.item for each in started] == written_out(case.expect["taken"])
    if "started" in case.expect:
        lines = [f"{each.item} {each.at // MILLI} {each.reader}" for each in started]
        assert lines == case.expect["started"]
