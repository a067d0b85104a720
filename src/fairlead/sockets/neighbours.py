"""What devices say to each other beside requests: who they are, and how much they can take.

They say it in frames that have more hops than any request may have. Every other program of the
Scalability Protocols drops such a frame without a word, so it can be sent to anybody. No I/O here.

How much: a device that has workers says how many requests it would have received in all if whoever
it tells sent as many as its workers can begin with at once. Whoever sends counts his own. So
nothing is sent twice or too often because a word was on its way.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from fairlead.sockets.wire import HIGHEST_TTL, WORD, request_id

MARK: Final = b"fairlead" * ((HIGHEST_TTL + 1) * WORD.size // 8) + request_id(0)
"""What such a frame begins with: words of devices, one more than there may be, and an id."""
LONGEST: Final = 1024
"""Bytes that such a frame may have; a socket that takes less in a message says nothing."""
UNLIMITED: Final = -1


class Word(NamedTuple):
    """What a device says."""

    device: str
    """Which one it is; another one each time it is started."""
    works: bool = False
    """Whether workers are connected to it, here or behind other devices than whom it tells."""
    total: int = UNLIMITED
    """Requests that it would have received in all; -1: as many as come."""

    def frame(self) -> bytes:
        """As it goes over the wire."""
        return MARK + json.dumps(self).encode()


def heard(frame: bytes) -> Word | None:
    """What a device has said; None where this is no word of a device of this version."""
    try:
        device, works, total = json.loads(frame[len(MARK) : LONGEST])
    except (ValueError, TypeError):
        return None
    if not isinstance(device, str) or not isinstance(works, bool) or not isinstance(total, int):
        return None
    return Word(device, works, total)


class Neighbour:
    """A device behind this one, as far as is known."""

    __slots__ = ("at", "word")

    def __init__(self, word: Word, at: float) -> None:
        """It has said this, at a time on the monotonic clock."""
        self.word = word
        self.at = at
        """When it said something for the latest time."""

    def room(self, sent: int) -> int:
        """How many requests it can begin with beside those that it was sent; -1: any number."""
        if self.word.total == UNLIMITED:
            return UNLIMITED
        return max(0, self.word.total - sent)


def sum_of(rooms: list[int]) -> int:
    """All of these rooms together."""
    return UNLIMITED if UNLIMITED in rooms else sum(rooms)
