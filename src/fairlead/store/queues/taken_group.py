"""A group in the hands of a reader: what he asked for, and what was read of it at once."""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct, field

from fairlead.store.queues.received import Received

PAGE: Final = 100
"""So many messages of a group are read at once."""


class Claim(NamedTuple):
    """Who takes, what, and for how long."""

    holder: int
    lease: int
    """Microseconds."""
    name: str | None = None
    """Of the group to be taken; None: the best."""
    most: int = 1
    actor: str = ""
    conversation: int | None = None
    """The end of which alone messages are wanted, of the group that is named."""
    page: int = PAGE
    """So many messages of a group are read at once."""


class TakenGroup(Struct, weakref=True):
    """A group in the hands of a reader."""

    id: int
    group: str
    """Its name; "" for a message that is a group of its own."""
    tenant: str
    priority: int
    attempt: int
    token: int
    taken: int
    deadline: int
    key: tuple[int, int]
    """Its place."""
    messages: list[Received] = field(default_factory=list)
    """Those that were read at once."""
    cost: int = 0
    only: int | None = None
    """The end of which alone messages are given."""
    speaks: bool = False
    """Whether some of its messages were said in conversations."""
    told: float | None = None
    """When the server last told how the ends of its conversations stand, by `time.monotonic`;
    None: no server tells, so each look asks."""
    page: int = PAGE
    """So many of its messages are read at once."""
    client: str = ""
    """For whom a server holds it; whoever looks is told when the lease is renewed."""
    max_seconds: int | None = None
    """For so long its reader may keep one message, where somebody has looked; None: any time."""
