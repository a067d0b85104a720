"""Whose message is received next: in turn among the sources of the best priority that has one.

Sixteen rings, as `ready-ring` has them, of sources that are ready when they have something: the
head of the best ring gives one item and goes to the tail, as long as it has more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class MessageSource(Generic[T]):
    """Where messages come from, and those that nobody has taken yet."""

    __slots__ = ("held", "items", "priority")

    def __init__(self, priority: int) -> None:
        """`priority`: 1 (best) to 16."""
        self.priority = priority
        self.items: deque[T] = deque()
        self.held = 0
        """Bytes of them."""


class Sources(Generic[T]):
    """The rings; a source stands in one exactly as long as it has something."""

    def __init__(self, size: Callable[[T], int]) -> None:
        """Nobody has anything. `size`: bytes of an item."""
        self.held = 0
        """Bytes of all items."""
        self.count = 0
        """How many there are."""
        self._size = size
        self._rings: dict[int, deque[MessageSource[T]]] = {}
        """By priority; none is empty."""

    def put(self, source: MessageSource[T], items: list[T]) -> None:
        """A source has more; it stands at the tail of its ring if it had nothing."""
        if items and not source.items:
            self._rings.setdefault(source.priority, deque()).append(source)
        source.items.extend(items)
        self._count(source, sum(map(self._size, items)), len(items))

    def _count(self, source: MessageSource[T], more: int, number: int) -> None:
        self.count += number
        source.held += more
        self.held += more

    def take(self) -> tuple[MessageSource[T], T] | None:
        """The next item, and whose it is; None if nobody has any."""
        if not self._rings:
            return None
        best = min(self._rings)
        ring = self._rings[best]
        source = ring.popleft()
        item = source.items.popleft()
        self._count(source, -self._size(item), -1)
        if source.items:
            ring.append(source)
        elif not ring:
            del self._rings[best]
        return source, item

    def drop(self, source: MessageSource[T]) -> None:
        """Nobody is to take what a source has."""
        if source.items:
            self._count(source, -source.held, -len(source.items))
            source.items.clear()
            ring = self._rings[source.priority]
            ring.remove(source)
            if not ring:
                del self._rings[source.priority]

    def put_back(self, source: MessageSource[T], item: T) -> None:
        """An item was not taken after all: it is the first of its source."""
        if source.items:
            source.items.appendleft(item)
            self._count(source, self._size(item), 1)
        else:
            self.put(source, [item])
