"""The peers of a socket: what is known of each, and what users see of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypedDict

from fairlead.sockets.endpoints import SocketEndpoint
from fairlead.sockets.pipe import Pipe

NAME, PRIORITY = "name", "priority"
PEER: Final = "#"
"""Between an endpoint's name and the number of a peer that is connected to it."""
IGNORED: Final = "ignored"
UP, BUSY, DOWN, NOBODY = "up", "busy", "down", "nobody"


@dataclass(slots=True, eq=False)
class SocketPeer:
    """One peer of a socket: of an endpoint that connects, or one of those that connected here."""

    name: str
    source: SocketEndpoint
    pipe: Pipe | None = None
    full: bool = False
    """Whether enough for it waits for the transport."""
    heavy: bool = False
    """Whether so many bytes for it wait."""
    busy: bool = False
    """Whether the policy was notified that it takes nothing for now."""
    draining: bool = False
    """Whether it gets nothing new, and may still have something."""
    level: int | None = None
    """Its priority, if it is one of those that can be chosen as far as is known."""
    counters: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, times: int = 1) -> None:
        """One more of something."""
        self.counters[what] = self.counters.get(what, 0) + times


class Attributes(TypedDict, total=False):
    """What can be said of an endpoint, as far as its policy reads it.

    A policy of one's own may read more.
    """

    priority: int
    """1 (best) to 16."""
    capacity: int
    """Messages that a peer may have at once; 0: any number."""
    weight: int
    enabled: bool
    draining: bool
    """Whether it gets nothing new."""


class EndpointState(NamedTuple):
    """How it stands with one peer, or with an endpoint that has none."""

    name: str
    """Of the destination or endpoint; of a peer that connected here with `#` and a number."""
    address: str
    """Of the endpoint."""
    state: str
    """`up`, `busy`, `down`; `suspended`: it hangs; `nobody`: bound, and no peer is there;
    `disabled`, `draining` or `weight-zero`: connected, and gets nothing new, as its table says;
    `drained`: it has nothing any more, either.

    A bound endpoint is `down`, beside its peers, while it can accept no more of them.
    """
    waiting: int
    """Messages that the transport has not taken."""
    trouble: str
    """Why there is no connection, or nothing is sent by it; where peers come, why one was ended."""
    held: int = 0
    """Requests that it has, and has not replied to; of a requester at a device, those of it."""

    def in_words(self) -> str:
        """In an error line."""
        more = self.trouble or (f"{self.waiting} waiting" if self.state == BUSY else "")
        return f"{self.name} {self.state}" + (f" ({more})" if more else "")
