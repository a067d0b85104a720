"""How the work on a group ended, as whoever had it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
RELEASE: Final = "released"
KEPT: Final = "its group stays with its reader"
"""In the event of a message that is done, and not the last one of its group's turn."""


class Given(Struct):
    """A message that a reader was given."""

    number: int
    key: str
    cost: int


class Settlement(Struct):
    """How the work on a group ended."""

    kind: str
    """accepted, rejected, released."""
    id: int
    """The group's."""
    token: int
    group: str
    given: Sequence[Given] = ()
    dead: Mapping[int, str] = {}
    """Numbers of messages that are rejected → why, where the rest is accepted."""
    reason: str = ""
    delay: int | None = None
    """Microseconds until a released group can be taken again; None: as its queue is set."""
    failed: str = ""
    """Why the release is a failure: error, lease, process; "" where it is none."""
    done: int = 0
    """So many of what was given, from the first, are accepted, though the rest is released."""
    partly: bool = False
    """Whether only one conversation of the group was read: the rest keeps the group's place."""
    keep: bool = False
    """Whether the group stays with its reader: what was given is done, and he goes on."""
    redelivers: bool = False
    """Whether what is left may have been given before: then its attempts are counted on."""
