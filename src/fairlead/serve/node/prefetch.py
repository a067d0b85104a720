"""How much of a queue is taken at once: as much as is wanted, and no more bytes than have room.

Nobody knows how large messages are before they are read. So it begins with one message, and goes on
by the largest of late.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.store.queues.taken_group import PAGE

GROUPS: Final = 500
"""So many groups at most."""
ROOM: Final = 4 * 1024 * 1024
"""So many bytes, about."""
GROWTH: Final = 4
"""So many times as many groups as were found last."""
LESS: Final = 0.99
"""By so much the largest message counts for less with each that follows."""


class PrefetchPortion(NamedTuple):
    """What is asked for."""

    groups: int
    page: int
    """Messages of each, at most."""


class Prefetch:
    """Those of one queue."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._largest = float(ROOM)
        """Bytes of a message, of late."""
        self._length = 1.0
        """Messages of a group, on the average of late."""
        self._most = 1

    def next(self, wanted: int) -> PrefetchPortion:
        """What to ask for, where so many messages are wanted."""
        room = max(int(ROOM / max(self._largest, 1.0)), 1)
        groups = int(min(wanted, room) / self._length)
        groups = max(1, min(groups, GROUPS, self._most))
        return PrefetchPortion(groups, self.page(room // groups))

    def page(self, room: int | None = None) -> int:
        """So many messages of one group may be read at once."""
        room = int(ROOM / max(self._largest, 1.0)) if room is None else room
        return max(1, min(room, PAGE))

    def found(self, messages: list[int]) -> None:
        """So many messages of each group were found."""
        for count in messages:
            self._length += (min(count, PAGE) - self._length) / 20
        self._most = max(1, GROWTH * len(messages))

    def sent(self, size: int) -> None:
        """A message has so many bytes."""
        self._largest = max(float(size), LESS * self._largest)
