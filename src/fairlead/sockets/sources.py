"""Whose message is received next: in turn among the sources of the best priority that has one."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from fairlead.balance.procedure import NONE
from fairlead.balance.rules import ready_ring

T = TypeVar("T")


class Source(Generic[T]):
    """Where messages come from, and those that nobody has taken yet."""

    __slots__ = ("index", "items", "priority")

    def __init__(self, priority: int) -> None:
        """`priority`: 1 (best) to 16."""
        self.priority = priority
        self.items: deque[T] = deque()
        self.index = NONE


class Sources(Generic[T]):
    """Sixteen rings of sources that have something, by the rule that also chooses among peers."""

    def __init__(self) -> None:
        """Nobody has anything."""
        self._columns: tuple[list[int], ...] = ([], [], [], [], [], [], [0])
        self._state = ready_ring.State(*self._columns)
        self._sources: list[Source[T]] = []
        self._having: list[int] = []
        self._free: list[int] = []

    def put(self, source: Source[T], items: list[T]) -> None:
        """A source has more; it stands at the tail of its ring if it had nothing."""
        source.items.extend(items)
        if source.index == NONE and items:
            i = source.index = self._place()
            self._sources[i] = source
            self._state.ring[i] = source.priority
            self._having.append(i)
            ready_ring.connect(self._state, i)

    def take(self) -> tuple[Source[T], T] | None:
        """The next item, and whose it is; None if nobody has any."""
        if not self._having:
            return None
        i = ready_ring.choose(self._state, self._having, 0, len(self._having))
        source = self._sources[i]
        item = source.items.popleft()
        if not source.items:
            ready_ring.disconnect(self._state, i)
            self._having.remove(i)
            self._free.append(i)
            source.index = NONE
        return source, item

    def put_back(self, source: Source[T], item: T) -> None:
        """An item was not taken after all: it is the first of its source."""
        source.items.appendleft(item)
        self.put(source, [])
        if source.index == NONE:
            rest = list(source.items)
            source.items.clear()
            self.put(source, rest)

    def _place(self) -> int:
        if self._free:
            return self._free.pop()
        for column in self._columns[:-1]:
            column.append(0)
        self._sources.append(Source(0))
        return len(self._sources) - 1
