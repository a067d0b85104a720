"""What happens on a connection, and what is said of links, as plain data."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec
from msgspec import Struct

ACCEPTED: Final = 0x24
REJECTED: Final = 0x25
RELEASED: Final = 0x26
MODIFIED: Final = 0x27
DECLARED: Final = 0x33
TRANSACTIONAL: Final = 0x34
SOLE: Final = "sole-connection-for-container"
"""A capability: who wants it is to be the only connection of its container."""


class Condition(Struct, frozen=True):
    """Why something ended, or was refused."""

    name: str
    description: str = ""
    field: str = ""
    """Of a connection: which field of its opening is at fault."""


class Terminus(Struct, frozen=True):
    """Where a link begins or ends."""

    address: str | None
    dynamic: bool = False
    durable: bool = False
    expires: str = "session"
    """When it is forgotten: link, session, connection, never."""
    copies: bool = False
    """Whether messages stay where they are: whoever reads them only looks."""
    coordinates: bool = False
    """Whether it is no address, but the coordinator of transactions."""
    filter: Any = None
    capabilities: tuple[str, ...] = ()
    absent: bool = False
    """Whether there is none: who attaches a link so wants to be told of what it was."""


class Link(Struct, eq=False):
    """A link that the peer has attached; the same object as long as it is."""

    number: int
    """Its own, on its connection."""
    name: str
    sends: bool
    """Whether we send on it: the peer receives."""
    source: Terminus
    target: Terminus
    properties: dict[Any, Any]
    settled: bool
    """Whether the peer wants all of it settled as it is sent."""
    session: int
    open: bool = False


def near(link: Link) -> Terminus:
    """That end of a link which is here."""
    return link.source if link.sends else link.target


class Outcome(Struct, frozen=True):
    """What became of a message."""

    kind: int
    """ACCEPTED, REJECTED, RELEASED or MODIFIED; 0: none, and it is settled."""
    failed: bool = False
    """Of MODIFIED: the delivery has failed."""
    elsewhere: bool = False
    """Of MODIFIED: it cannot be delivered here."""
    annotations: Any = None
    """Of MODIFIED: for the message."""
    condition: Condition | None = None
    """Of REJECTED: why."""
    transaction: bytes | None = None
    """In which transaction it is said."""


class Traffic(Struct):
    """How many messages have passed, on all connections of a server."""

    received: int = 0
    sent: int = 0
    answered: Counter[int] = msgspec.field(default_factory=Counter)
    """What senders were told, by kind."""
    settled: Counter[int] = msgspec.field(default_factory=Counter)
    """What receivers said, by kind."""


class Opened(Struct, frozen=True):
    """The peer has opened the connection."""

    container: str
    hostname: str
    """The virtual host that it wants."""
    properties: dict[Any, Any]
    desired: tuple[str, ...] = ()
    """Capabilities that it wants."""


class Attached(Struct, frozen=True):
    """The peer has attached a link; it wants to be answered."""

    link: Link


class Delivered(Struct, frozen=True):
    """A message has come, as its sections."""

    link: Link
    delivery: int
    """By which it is answered; 0: it is settled, and not answered."""
    sections: bytes
    transaction: bytes | None = None
    """To which it belongs."""


class Aborted(Struct, frozen=True):
    """The peer has broken off a message; its credit is used."""

    link: Link


class TooLarge(Struct, frozen=True):
    """A message has become larger than one may be; its link is to be detached."""

    link: Link


class Disposed(Struct, frozen=True):
    """The peer says what became of a message that it was sent."""

    link: Link
    delivery: int
    outcome: Outcome
    settled: bool
    """Whether it has forgotten it already; else it waits until we have."""


class Flowed(Struct, frozen=True):
    """The peer says how many messages it wants."""

    link: Link
    credit: int
    """So many more; below 0: more than the engine can count."""
    drain: bool
    """Whether it wants to have the rest of its credit back, if there is nothing."""


class Detached(Struct, frozen=True):
    """A link has ended: by itself, or with its session or connection."""

    link: Link
    closed: bool
    """Whether it is to be forgotten, too."""
    orderly: bool = True
    """Whether the peer said so; else it is gone."""
    condition: Condition | None = None
    """Why, where the peer said it."""


class Answered(Struct, frozen=True):
    """The peer has answered a link that was begun here; it is open, unless it is refused."""

    link: Link
    properties: dict[Any, Any]
    most: int
    """Bytes that a message may have; 0: any."""


class Closed(Struct, frozen=True):
    """The connection is over."""

    condition: Condition | None
    """Why, where it was not simply closed."""
    orderly: bool
    """Whether the peer closed it."""


Event = (
    Opened
    | Attached
    | Answered
    | Delivered
    | Aborted
    | TooLarge
    | Disposed
    | Flowed
    | Detached
    | Closed
)
