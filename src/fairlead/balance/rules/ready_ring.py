"""Choose in turn among the peers that are ready, in the best ring that has one.

The rule of nanomsg's prioritised load balancing: a ring is a queue of ready peers. The head is
chosen; it comes back at the tail at once, or, if this message made it busy, when it has completed
one. So a ring is the order in which its peers became ready, and that is all that is kept: the
number of the latest event that put a peer at a tail.

`choose`, `completed` and `run_one` are written once, in the part of Python that Numba
compiles. A member is an index into the state's sequences. Live, where there can be a thousand
peers, a `ReadyHeap` finds the one that `choose` would.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from fairlead.balance.procedure import NONE
from fairlead.balance.rules.integers import INT64_END, Indexes, Ints
from fairlead.balance.rules.rule import ScheduledRule, Weighing
from fairlead.balance.rules.timed import DUE, TimedRule

OUT = 0  # State.ready of a peer that stands in no ring
RING, READY = "ring", "ready"  # what decides


class State(NamedTuple):
    """What the rule remembers, one entry a peer (`tick`: one for the whole rule)."""

    ring: Ints
    """The peer's priority, 1 (best) to 16."""
    ready: Ints
    """Number of the event that put the peer at the tail of its ring; 0: it is in no ring."""
    held: Ints
    """Messages handed over and not completed."""
    capacity: Ints
    """How many it may hold before it is busy; 0: no limit."""
    connected: Ints
    """1 or 0."""
    speed: Ints
    """Thousandths of the nominal speed."""
    tick: Ints
    """[number of the latest event]"""


def choose(s: State, members: Indexes, start: int, stop: int) -> int:
    """Choose among members[start:stop] and hand over one message; NONE if none is ready."""
    best = NONE
    for k in range(start, stop):
        i = members[k]
        if s.ready[i] == OUT:
            continue
        if best == NONE or before(s, i, best):
            best = i
    if best != NONE:
        served(s, best)
    return best


def before(s: State, i: int, j: int) -> bool:
    """Whether ready peer i is chosen before ready peer j."""
    if s.ring[i] != s.ring[j]:
        return s.ring[i] < s.ring[j]
    return s.ready[i] < s.ready[j]


def served(s: State, i: int) -> None:
    """Hand one message over to peer i: to the tail of its ring, or out of it if now busy."""
    s.held[i] += 1
    if s.capacity[i] > 0 and s.held[i] >= s.capacity[i]:
        s.ready[i] = OUT
    else:
        to_tail(s, i)


def to_tail(s: State, i: int) -> None:
    """Put peer i at the tail of its ring."""
    s.tick[0] += 1
    s.ready[i] = s.tick[0]


def completed(s: State, i: int) -> None:
    """Peer i has finished one of its messages; if it was busy, it is ready again."""
    if s.held[i] > 0:
        s.held[i] -= 1
    settle(s, i)


def returned(s: State, i: int) -> None:
    """Peer i holds one of its messages again that it had finished in vain."""
    s.held[i] += 1
    settle(s, i)


def settle(s: State, i: int) -> None:
    """Bring peer i into its ring, or out of it, as its connection and load ask for."""
    free = s.capacity[i] == 0 or s.held[i] < s.capacity[i]
    if s.connected[i] == 1 and free:
        if s.ready[i] == OUT:
            to_tail(s, i)
    else:
        s.ready[i] = OUT


def run_one(s: State, heap: Ints, out: Ints) -> None:
    """Choose len(out) times among the peers in `heap`, which must have no limit."""
    size = len(heap)
    for k in range(size // 2 - 1, -1, -1):
        sink(s, heap, k, size)
    for k in range(len(out)):
        out[k] = heap[0]
        served(s, heap[0])
        sink(s, heap, 0, size)


def sink(s: State, heap: Ints, place: int, size: int) -> None:
    """Move the peer at `place` down until nobody below it comes before it."""
    i = heap[place]
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and before(s, heap[below + 1], heap[below]):
            below += 1
        if not before(s, heap[below], i):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = i


COMPILED = (
    before,
    to_tail,
    settle,
    served,
    completed,
    returned,
    choose,
    sink,
    run_one,
)


# What follows runs between choices, in plain Python over lists, in every engine.


def new(rings: list[int], capacities: list[int], speeds: list[int]) -> State:
    """Nobody connected yet."""
    n = len(rings)
    return State(list(rings), [0] * n, [0] * n, list(capacities), [0] * n, list(speeds), [0])


def connect(s: State, i: int) -> None:
    """Peer i is there: to the tail of its ring, unless it still holds all it can."""
    s.connected[i] = 1
    settle(s, i)


def disconnect(s: State, i: int) -> None:
    """Peer i is gone; what was handed over stays with it."""
    s.connected[i] = 0
    settle(s, i)


def limit(s: State, i: int, capacity: int) -> None:
    """Give peer i another capacity."""
    s.capacity[i] = capacity
    settle(s, i)


def ready_now(s: State, members: list[int]) -> list[int]:
    """The ready peers of the best ring that has one, the head first."""
    ready = [i for i in members if s.ready[i] != OUT]
    best = min((s.ring[i] for i in ready), default=0)
    return sorted((i for i in ready if s.ring[i] == best), key=lambda i: s.ready[i])


def unlimited(s: State, members: list[int]) -> bool:
    """Whether no peer of these can become busy, so that the choices go round in a circle."""
    return all(s.capacity[i] == 0 for i in members)


def advance(s: State, members: list[int], n: int) -> None:
    """Choose n times among the same unlimited peers, without the n steps."""
    ring = ready_now(s, members)
    for place, i in enumerate(ring):
        times = max(0, -((place - n) // len(ring)))
        if times:
            s.held[i] += times
            s.ready[i] = s.tick[0] + place + (times - 1) * len(ring) + 1
    s.tick[0] += n if ring else 0


class ReadyHeap:
    """The ready peers of some members in the order of `before`, the next one on top of a heap.

    A choice through it need not look at each of them. What puts a peer at a tail elsewhere shows in
    `tick`, and a change of a ring, as of any attribute, brings other members: then it is out of
    date. A peer that has left its ring is found out when it would be next.
    """

    def __init__(self, s: State, members: tuple[int, ...]) -> None:
        """As it is now."""
        self._state = s
        self._members = members
        self._among = frozenset(members)
        self._heap = [(s.ring[i], s.ready[i], i) for i in members if s.ready[i] != OUT]
        heapify(self._heap)
        self._tick = s.tick[0]

    def holds(self, s: State, members: tuple[int, ...]) -> bool:
        """Whether it is of these members, and up to date."""
        return self._members is members and self._state is s and self._tick == s.tick[0]

    def choose(self) -> int:
        """As the function `choose`."""
        s, heap = self._state, self._heap
        while heap:
            ring, ready, i = heap[0]
            if s.ready[i] != ready:
                heappop(heap)
                continue
            served(s, i)
            if s.ready[i] == OUT:
                heappop(heap)
            else:
                heapreplace(heap, (ring, s.ready[i], i))
            self._tick = s.tick[0]
            return i
        return NONE

    def note(self, s: State, i: int) -> None:
        """Peer i may have come to a tail by the latest event; up to that, this was up to date."""
        if self._state is s and s.ready[i] == s.tick[0] == self._tick + 1:
            self._tick += 1
            if i in self._among:
                heappush(self._heap, (s.ring[i], s.ready[i], i))


class ReadyRing(TimedRule, ScheduledRule):
    """In turn among the ready peers of the best ring that has one."""

    name = "ready-ring"
    module = sys.modules[__name__]
    whole = (*DUE, "tick")

    def __init__(self, rings: list[int], capacities: list[int], speeds: list[int]) -> None:
        """`speeds` in thousandths of the nominal speed."""
        super().__init__()
        self.state = new(rings, capacities, speeds)
        self._queue = ReadyHeap(self.state, ())

    def choose(self, members: Sequence[int]) -> int:
        if not isinstance(members, tuple):  # a list can become another
            return choose(self.state, members, 0, len(members))
        if not self._queue.holds(self.state, members):
            self._queue = ReadyHeap(self.state, members)
        return self._queue.choose()

    def served(self, member: int) -> None:
        served(self.state, member)

    def completed(self, member: int) -> None:
        completed(self.state, member)
        self._queue.note(self.state, member)

    def skips(self, members: Sequence[int]) -> bool:
        return unlimited(self.state, list(members))

    def advance(self, members: Sequence[int], n: int) -> None:
        advance(self.state, list(members), n)

    def period(self, members: Sequence[int]) -> int:
        return max(1, len(ready_now(self.state, list(members))))

    def settled(self, members: Sequence[int]) -> bool:
        return self.skips(members)

    def heap(self, members: Sequence[int]) -> list[int]:
        return ready_now(self.state, list(members))

    def fits_int64(self, choices: int) -> bool:
        return int(self.state.tick[0]) + 2 * choices < INT64_END

    def compare(self, members: Sequence[int]) -> Weighing:
        s = self.state
        busy = [i for i in members if s.ready[i] == OUT]
        ready = [i for i in members if s.ready[i] != OUT]
        order = sorted(ready, key=lambda i: (s.ring[i], s.ready[i]))
        if len(order) < 2:
            return Weighing(order, busy)
        decided = RING if s.ring[order[0]] != s.ring[order[1]] else READY
        return Weighing(order, busy, decided)

    def failed(self, member: int) -> None:
        self.state.held[member] = 0
        settle(self.state, member)  # who is not watched is still there, and has room now
