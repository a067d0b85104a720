"""What waits until somebody is ready: in order, and apart where the policy tells messages apart."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar
from typing import Protocol as Interface

from fairlead.balance.message import Message
from fairlead.sockets.ring import Hurdle, Lane, Ring

NOWHERE: Final = 0
"""Instead of the place of the first, where nobody is."""
FIRST: Final = 1 << 62
"""So much less is the place of what was sent before: it comes first."""
SPARE: Final = 16
"""Entries that a heap may have beside two for each lane."""


class QueuedItem(Interface):
    """A message that can wait in a lane."""

    lane: Lane
    """See `Ring.lane`."""
    message: Message


T = TypeVar("T", bound=QueuedItem)


class _LaneLine(Generic[T]):
    """What waits in one lane, each with its place among all."""

    __slots__ = ("again", "hurdle", "new")

    def __init__(self, hurdle: Hurdle) -> None:
        self.again: OrderedDict[T, int] = OrderedDict()
        self.new: OrderedDict[T, int] = OrderedDict()
        self.hurdle = hurdle

    @property
    def first(self) -> T:
        return next(iter(self.again or self.new))

    @property
    def place(self) -> int:
        """The place of the first that waits here; NOWHERE if nobody does."""
        return next(iter((self.again or self.new).values()), NOWHERE)

    def queue_of(self, item: T) -> OrderedDict[T, int] | None:
        return next((queue for queue in (self.again, self.new) if item in queue), None)


class SendLanes(Generic[T]):
    """Messages keep their order inside a lane; one lane does not hold up another.

    Lanes that wait for the same stand behind one hurdle: as long as the first of them is not taken,
    none is. So what an event costs does not grow with what waits, only with the hurdles.
    """

    def __init__(self, ring: Ring) -> None:
        """Nobody waits. `ring`: who says what a message waits for."""
        self.count = 0
        """How many wait."""
        self._ring = ring
        self._number = 0
        self._lines: dict[Lane, _LaneLine[T]] = {}
        self._hurdles: dict[Hurdle, list[tuple[int, Lane]]] = {}
        """Heaps of places. One counts where its lane stands here, and has this place first."""
        self._tried = False
        """Whether all hurdles were tried since `put` was called last for what was sent before."""
        self._moment = 0
        """The ring's when they were."""

    def holds(self, lane: Lane) -> bool:
        """Whether something waits in this lane."""
        return lane in self._lines

    def put(self, item: T, *, again: bool = False) -> None:
        """Let something wait at the end of its lane: it was offered, or something waits there.

        `again`: it was sent before, and goes before all that was not.
        """
        line = self._lines.get(item.lane)
        if line is None:
            line = self._lines[item.lane] = _LaneLine(self._ring.hurdle(item.message))
        self.count += 1
        self._number += 1
        before = line.place
        if again:
            line.again[item] = self._number - FIRST
            self._tried = False
        else:
            line.new[item] = self._number
        if line.place != before:
            self._stand(item.lane, line, line.hurdle)

    def drop(self, item: T) -> None:
        """It waits no more, if it did."""
        line = self._lines.get(item.lane)
        queue = line.queue_of(item) if line else None
        if line is None or queue is None:
            return
        before = line.place
        del queue[item]
        self.count -= 1
        if line.place == NOWHERE:
            del self._lines[item.lane]
        elif line.place != before:
            self._stand(item.lane, line, line.hurdle)

    def take_all(self) -> list[T]:
        """All that waited, which does no more."""
        items = [item for line in self._lines.values() for item in (*line.again, *line.new)]
        self._lines.clear()
        self._hurdles.clear()
        self.count = 0
        return items

    def offer(self, taken: Callable[[T], bool]) -> None:
        """Offer what waits, in order, as long as somebody takes it.

        It costs nothing where nothing has changed since nobody did.
        """
        while self._lines and not (self._tried and self._moment == self._ring.moment):
            self._tried = True
            if len(self._lines) == 1:  # as under every policy that reads nothing of messages
                self._try_one(taken)
            else:
                self._moment = self._try(taken)

    def _try_one(self, taken: Callable[[T], bool]) -> None:
        """The same for the only lane, sooner."""
        ((lane, line),) = self._lines.items()
        while queue := line.again or line.new:
            item = next(iter(queue))
            if not taken(item):
                self._stand(lane, line, self._ring.hurdle(item.message))
                break
            if queue.pop(item, None) is not None:
                self.count -= 1
        else:
            if self._lines.get(lane) is line:
                del self._lines[lane]
        self._moment = self._ring.moment

    def _try(self, taken: Callable[[T], bool]) -> int:
        """Once through all hurdles; returns the moment of the first at which nobody was ready.

        What is taken after that may have changed things there.
        """
        moment = 0
        tops = [(line.place, hurdle) for hurdle in [*self._hurdles] if (line := self._top(hurdle))]
        heapify(tops)
        while tops:
            _, hurdle = heappop(tops)
            line = self._top(hurdle)
            if line is None:
                continue
            item = line.first
            if taken(item):
                self.drop(item)
            else:
                moment = moment or self._ring.moment
                now = self._ring.hurdle(item.message)
                if now == hurdle:
                    continue
                self._stand(item.lane, line, now)
            following = self._top(hurdle)
            if following is not None:
                heappush(tops, (following.place, hurdle))
        return moment or self._ring.moment

    def _top(self, hurdle: Hurdle) -> _LaneLine[T] | None:
        """The line that is the first at a hurdle; None if there is no more."""
        heap = self._hurdles.get(hurdle, [])
        while heap:
            line = self._standing(hurdle, *heap[0])
            if line is not None:
                return line
            heappop(heap)
        self._hurdles.pop(hurdle, None)
        return None

    def _stand(self, lane: Lane, line: _LaneLine[T], hurdle: Hurdle) -> None:
        line.hurdle = hurdle
        heap = self._hurdles.setdefault(hurdle, [])
        heappush(heap, (line.place, lane))
        if len(heap) > 2 * len(self._lines) + SPARE:  # most have left without being served
            heap[:] = {entry for entry in heap if self._standing(hurdle, *entry)}
            heapify(heap)

    def _standing(self, hurdle: Hurdle, place: int, lane: Lane) -> _LaneLine[T] | None:
        line = self._lines.get(lane)
        stands = line is not None and line.hurdle == hurdle and line.place == place
        return line if stands else None
