"""Short histories of several readers and senders at one time, checked when they are over.

Each call is written down with a mark before it and one after it, so what was over before what began
is known. The journal says in which order the store saw it.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import pytest

from fairlead import Store
from tests.stores import made_url

THREADS, CALLS = 4, 12
GROUPS = ["", "", "a", "b", "c"]


@dataclass
class Call:
    """One call: when it began and ended, which group, and what it was about."""

    what: str
    began: int
    ended: int = 0
    group: str = ""
    items: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    token: int = 0


class History:
    """What several threads did, each with a store of its own."""

    def __init__(self, url: str, opened: Callable[..., Store], seed: int) -> None:
        self.stores = [opened(url) for _ in range(THREADS)]
        self.stores[0].set_order("q")
        self.marks = count(1)
        self.calls: list[Call] = []
        self.errors: list[BaseException] = []
        self.ready = threading.Barrier(THREADS)
        threads = [threading.Thread(target=self.thread, args=(seed, k)) for k in range(THREADS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert self.errors == []

    def thread(self, seed: int, place: int) -> None:
        try:
            self.works(Random(seed * THREADS + place), self.stores[place], place)  # noqa: S311
        except BaseException as error:
            self.errors.append(error)
            raise

    def works(self, random: Random, store: Store, place: int) -> None:
        self.ready.wait()
        work: Any = None
        taken = Call("take", 0)
        for step in range(CALLS):
            call = Call("", next(self.marks))
            if work is not None:
                call.what = random.choice(["accept", "accept", "release"])
                call.group, call.token = work.group or taken.items[0], work.token
                call.items = taken.items if call.what == "accept" else []
                getattr(work, call.what)()
                work = None
            elif random.random() < 0.5:
                name, item = random.choice(GROUPS), f"{place} {step}"
                call.what, call.group, call.items = "send", name or item, [item]
                store.send("q", item, group=name, id=item)
            else:
                work = store.take("q")
                call.what = "take"
                if work is not None:
                    messages = list(work)
                    call.items = [message.body for message in messages]
                    call.numbers = [message.number for message in messages]
                    call.group, call.token = work.group or call.items[0], work.token
                    taken = call
            call.ended = next(self.marks)
            self.calls.append(call)
        if work is not None:
            work.release()

    def of(self, what: str) -> list[Call]:
        return [call for call in self.calls if call.what == what]


def check_groups(history: History, store: Store) -> None:
    """One holder at a time; nothing lost, nothing twice; order in groups."""
    events = sorted(store.journal(), key=lambda event: event.position)
    sent: dict[str, list[str]] = defaultdict(list)
    done: dict[str, list[str]] = defaultdict(list)
    holder: dict[str, int | None] = {}
    for event in events:
        group = event.group or event.id
        if event.kind == "sent":
            sent[group].append(event.id)
        elif event.kind == "taken":
            assert holder.get(group) is None, "it was taken while somebody held it"
            holder[group] = event.token
        elif event.kind in ("accepted", "released"):
            assert holder[group] in (event.token, None)
            holder[group] = None
            if event.kind == "accepted":
                done[group].append(event.id)
    while store.queues()[0].messages:  # those of a group that is parked for a moment, too
        work = store.take("q", wait=1)
        assert work is not None
        messages = list(work)
        done[work.group or messages[0].id] += [message.id for message in messages]
        work.accept()
    assert {group: sorted(items) for group, items in done.items()} == {
        group: sorted(items) for group, items in sent.items()
    }
    place = {item: k for items in done.values() for k, item in enumerate(items)}
    for first in history.of("send"):
        for second in history.of("send"):
            if first.group == second.group and first.ended < second.began:
                assert place[first.items[0]] < place[second.items[0]]
    assert sorted(item for call in history.of("send") for item in call.items) == sorted(
        item for items in sent.values() for item in items
    )


def check_picks(history: History, store: Store) -> None:
    """Nobody took a group while a better one could be taken all the time."""
    numbers = {event.id: event.position for event in store.journal() if event.kind == "sent"}
    for take in history.of("take"):
        groups = {call.group for call in history.of("send")}
        for group in groups - {take.group}:
            best = best_place(history, group, take, numbers)
            if best is not None:
                assert take.numbers, f"{group} could be taken"
                assert take.numbers[0] < best, f"{group} was before {take.group}"


def best_place(history: History, group: str, take: Call, numbers: dict[str, int]) -> int | None:
    """The place that a group had for sure while somebody took another; None: perhaps none."""
    about = [call for call in history.calls if call.group == group]
    sends = [call for call in about if call.what == "send"]
    ends = [call for call in about if call.what in ("accept", "release")]
    if any(a.began < b.ended and b.began < a.ended for a in sends for b in ends):
        return None  # it may have been parked for a moment
    for each in (call for call in about if call.what == "take"):
        end = [call for call in ends if call.token == each.token]
        over = end[0].ended if end else None
        if each.began < take.ended and (over is None or over > take.began):
            return None  # somebody held it, or was about to
    gone = {item for call in ends if call.began < take.ended for item in call.items}
    left = [
        numbers[item]
        for call in sends
        if call.ended < take.began
        for item in call.items
        if item not in gone
    ]
    return max(left) if left else None


def check(dialect: str, opened: Callable[..., Store], seed: int) -> None:
    history = History(made_url(dialect), opened, seed)
    check_picks(history, history.stores[0])
    check_groups(history, history.stores[0])


@pytest.mark.parametrize("seed", range(12))
def test_a_history_is_one_that_the_promises_allow(
    dialect: str, opened: Callable[..., Store], seed: int
) -> None:
    check(dialect, opened, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_histories_are_such_that_the_promises_allow(
    dialect: str, opened: Callable[..., Store], seed: int
) -> None:
    check(dialect, opened, seed)
