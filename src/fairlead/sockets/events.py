"""What happened at a socket, as an operator asks for it the next morning: a line for each."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Final, NamedTuple

LOG: Final = logging.getLogger("fairlead.sockets.events")
LOG.addHandler(logging.NullHandler())  # unless a program sets up logging, nothing is printed

JOINED, LEFT = "joined", "left"
HANGS, RETURNED = "hangs", "returned"
DRAINING, DRAINED, RESUMED = "draining", "drained", "resumed"
FAILOVER, FAILBACK = "failover", "failback"
GAVE_UP = "gave-up"
BAD: Final = (HANGS, FAILOVER, GAVE_UP)
"""Those that are logged as warnings; that whoever sends here has left is none."""
SENDING: Final = ("PUSH", "REQ")


class SocketEvent(NamedTuple):
    """Something that happened."""

    time: float
    """Seconds since 1970."""
    socket: str
    """The protocol of this side: `PUSH`, `PULL`, `REQ`, `REP`. A device has a REP and a REQ."""
    kind: str
    """`joined`, `left`: a peer is connected, or no more; `hangs`, `returned`: a peer is suspended,
    or has spoken again; `draining`, `drained`, `resumed`: it gets nothing new, has nothing any
    more, gets work again; `failover`, `failback`: messages go to a worse priority from now on, or
    to a better one; `gave-up`: a message or request that nobody gets, or nobody answers."""
    peer: str
    """Its name: of the destination or endpoint; of one that connected here with `#` and a number.
    """
    address: str
    """Of the endpoint."""
    why: str
    """The cause, in words; "" for none."""
    number: int
    """Of messages that are sent elsewhere, or given up."""

    def in_words(self) -> str:
        """A line of `key=value`, without the time."""
        line = f"socket={self.socket} event={self.kind} peer={json.dumps(self.peer)}"
        if self.address != self.peer:
            line += f" address={self.address}"
        if self.number:
            line += f" number={self.number}"
        return line + (f" why={json.dumps(self.why)}" if self.why else "")


EventHandler = Callable[[SocketEvent], object]


def announce(event: SocketEvent, handler: EventHandler | None) -> None:
    """Log an event, and tell whoever wants to know. No lock is held."""
    bad = event.kind in BAD or (event.kind == LEFT and event.socket in SENDING)
    LOG.log(logging.WARNING if bad else logging.INFO, event.in_words())
    if handler is not None:
        handler(event)
