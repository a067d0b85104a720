"""The golden cases of Service Broker's order with eight callers, each with a store of its own.

What the callers do in turn is exactly as the golden says. What eight do at one moment is as a set:
which of them gets what, and which is first, is nobody's promise.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import pytest

from fairlead import Store
from tests.order.service import Case, Live, Started, cases, run
from tests.store.test_goldens import DAY, Clock, Stored, check
from tests.stores import made_url

CALLERS = 8


class Callers:
    """Threads; whoever is free does the next thing, with its own store."""

    def __init__(self, stores: list[Store]) -> None:
        self.stores = stores
        self._asked: SimpleQueue[Callable[[Store], None] | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, args=(store,)) for store in stores]
        for each in self._threads:
            each.start()

    def any(self, call: Callable[[Store], Any]) -> Any:
        """What one of them gets."""
        return self._do(1, call)[0]

    def every(self, count: int, call: Callable[[Store], Any]) -> list[Any]:
        """What so many of them get, each once, at one moment."""
        ready = threading.Barrier(count)

        def at_once(store: Store) -> Any:
            ready.wait()
            return call(store)

        return self._do(count, at_once)

    def close(self) -> None:
        for _ in self._threads:
            self._asked.put(None)
        for each in self._threads:
            each.join()

    def _do(self, count: int, call: Callable[[Store], Any]) -> list[Any]:
        done: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

        def answer(store: Store) -> None:
            try:
                done.put((True, call(store)))
            except Exception as error:  # noqa: BLE001 - raised by whoever has asked
                done.put((False, error))

        for _ in range(count):
            self._asked.put(answer)
        found = [done.get(timeout=60) for _ in range(count)]
        for succeeded, each in found:
            if not succeeded:
                raise each
        return [each for _, each in found]

    def _work(self, store: Store) -> None:
        while (call := self._asked.get()) is not None:
            call(store)


class InTurn(Stored):
    """A queue to which eight callers speak, one after another."""

    def __init__(self, callers: Callers, clock: Clock, case: Case) -> None:
        super().__init__(callers.stores[0], clock, case)
        self.callers = callers

    def arrive(self, group: str, item: Any, now: int, **more: Any) -> None:
        self.clock.now = now
        self.callers.any(lambda store: store.send(self.name, item, group=group, **more))

    def prioritise(self, group: str, now: int, priority: int | None = None) -> bool:
        self.clock.now = now
        done = self.callers.any(lambda store: store.prioritise(self.name, group, priority))
        return bool(done)

    def take(self, now: int) -> Any:
        self.clock.now = now
        return self.callers.any(lambda store: store.take(self.name, lease=DAY))

    def receive(self, work: Any) -> Any:
        return self.callers.any(lambda _: Stored.receive(self, work))

    def finish(self, work: Any) -> None:
        self.callers.any(lambda _: work.accept())

    def rollback(self, work: Any) -> None:
        self.callers.any(lambda _: work.release())


class Counted(Live):
    """The agenda, which counts how many groups are taken at each moment."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.order, case.weights)
        self.taken: Counter[int] = Counter()

    def take(self, now: int) -> Any:
        work = super().take(now)
        self.taken[now] += work is not None
        return work


class AtOnce(InTurn):
    """The same, but all readers that are free at one moment take at once."""

    def __init__(
        self, callers: Callers, clock: Clock, case: Case, wanted: dict[int, list[str]]
    ) -> None:
        """`wanted`: when -> the items with which readers begin then."""
        super().__init__(callers, clock, case)
        self.wanted = wanted
        self.taken: Counter[int] = Counter()
        self.free = CALLERS
        self.now = -1
        self.found: list[Any] = []

    def take(self, now: int) -> Any:
        if now != self.now:
            self.now = self.clock.now = now
            self.found = self._race()
            self.free -= len(self.found)
            self.taken[now] = len(self.found)
        return self.found.pop(0) if self.found else None

    def finish(self, work: Any) -> None:
        self.free += 1
        super().finish(work)

    def rollback(self, work: Any) -> None:
        self.free += 1
        super().rollback(work)

    def _race(self) -> list[Any]:
        """What they got, in the order in which one after another would have got it."""
        self.store.waiting(self.name, 0)  # acts on raises; while a reader does, others pass over
        works = self.callers.every(self.free, lambda store: store.take(self.name, lease=DAY))
        order = self.wanted[self.now] if any(works) else []
        return sorted(filter(None, works), key=lambda each: order.index(first(each)))


def first(work: Any) -> str:
    return str(work.held.messages[0].body)


def paced(case: Case) -> Case:
    """The case with eight readers, to whom everything comes when they are through with something.

    So many of them take at one moment. What is rolled back at a moment stays where it is.
    """
    rows = [
        each if case.rolled_back else {**each, "at": -(-each["at"] // case.service) * case.service}
        for each in case.rows
    ]
    return replace(case, name=f"{case.name}, by eight", readers=CALLERS, rows=rows)


def by_moment(started: list[Started]) -> dict[int, list[str]]:
    """When -> the items with which readers begin then."""
    found: dict[int, list[str]] = defaultdict(list)
    for each in started:
        found[each.at].append(each.item)
    return found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest) -> Iterator[tuple[Callers, Clock]]:
    clock, url = Clock(), made_url(request.param)
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.open(url, clock=clock)) for _ in range(CALLERS)]
        callers = Callers(stores)
        stack.callback(callers.close)
        yield callers, clock


@pytest.mark.parametrize("case", cases(), ids=str)
def test_eight_callers_in_turn_are_given_what_the_golden_says(
    case: Case, shared: tuple[Callers, Clock]
) -> None:
    callers, clock = shared
    clock.begin()
    check(case, run(InTurn(callers, clock, case), case))


@pytest.mark.parametrize("case", cases(), ids=str)
def test_eight_readers_that_take_at_one_moment_are_given_what_is_next(
    case: Case, shared: tuple[Callers, Clock]
) -> None:
    callers, clock = shared
    clock.begin()
    crowded = paced(case)
    model = Counted(crowded)
    wanted = run(model, crowded)
    queue = AtOnce(callers, clock, crowded, by_moment(wanted))
    assert run(queue, crowded) == wanted
    assert queue.taken == model.taken
