"""Messages that have come in part, of all peers of a socket together."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Peer = TypeVar("Peer", bound=Hashable)


class Unfinished(Generic[Peer]):
    """How much of them is held, and of whom. For the loop's thread.

    Whoever begins a message and does not end it holds memory for as long as he likes. So where all
    of it is more than a socket's `memory`, the message that was begun first goes, with its
    connection; one alone may be as long as a message may.
    """

    def __init__(self, memory: int) -> None:
        """`memory`: bytes that may be held."""
        self._memory: Final = memory
        self._all = 0
        self._of: Final[dict[Peer, int]] = {}
        """Those who have begun a message, the first one first."""

    def came(self, peer: Peer, held: int, *, anew: bool) -> Peer | None:
        """So many bytes are held of a peer's message now; whose connection is to end for that.

        `anew`: whether it is another message than before.
        """
        if anew or not held:
            self.forget(peer)
        if held:
            self._all += held - self._of.get(peer, 0)
            self._of[peer] = held
        if self._all > self._memory and len(self._of) > 1:
            return next(iter(self._of))
        return None

    def forget(self, peer: Peer) -> None:
        """A connection is over, or its message whole."""
        self._all -= self._of.pop(peer, 0)
