"""Rules that choose by a key of the message, and the number that stands for a key."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import Final, Self
from zlib import crc32

from fairlead.balance.rules.rule import Rule

NO_KEY: Final = -1
"""Instead of a key's number, where a message has no key."""
PLACES: Final = 1 << 32
"""From here on a number is a message's place in its stream; below, it is a key's CRC-32."""


def number_of(key: str, place: int) -> int:
    """The number by which a message is chosen for: of its key, else of its place in its stream."""
    return crc32(key.encode("utf-8", "surrogatepass")) if key else PLACES + place


class KeyedRule(Rule):
    """A rule that looks at a number of each message, and remembers nothing of what it chose.

    So there is nothing to skip or to make ahead, and any moment is like any other.
    """

    keyed = True
    key = PLACES
    """What `choose` and `compare` are asked for."""

    def for_key(self, key: int) -> Self:
        other = copy.copy(self)
        other.key = key
        return other

    @abstractmethod
    def choose_for(self, members: Sequence[int], key: int) -> int: ...

    def choose(self, members: Sequence[int]) -> int:
        return self.choose_for(members, self.key)

    def served(self, member: int) -> None:
        """Nothing is remembered."""
