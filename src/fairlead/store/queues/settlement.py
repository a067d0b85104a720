"""How the work on a group ended, as whoever had it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from fairlead.errors import StaleWorkError

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
    moved: bool = False
    """Whether what was before the rest is done: then the failures in a row are counted anew."""
    redelivers: bool = False
    """Whether what is left may have been given before: then its attempts are counted on."""


def stale(token: int) -> StaleWorkError:
    """What is raised for work that is not the reader's any more."""
    return StaleWorkError(
        f"work with token {token}: found that it is not this reader's any more (its lease was "
        "over, or it was taken back), allowed: to read, extend or settle what one holds"
    )


def portions(end: Settlement, sizes: Mapping[int, int], most: int) -> list[Settlement]:
    """The same in several, one after the other, each of messages of at most so many bytes.

    What a reader is done with is done, in however many transactions; what he gives back is given
    back at once. `sizes`: number of a message → bytes.
    """
    if end.kind == RELEASE or end.done:
        return [end]
    parts: list[list[Given]] = [[]]
    room = most
    for message in end.given:
        size = sizes.get(message.number, 0)
        if parts[-1] and size > room:
            parts.append([])
            room = most
        parts[-1].append(message)
        room -= size
    dead = (
        {message.number: end.reason for message in end.given} if end.kind == REJECTED else end.dead
    )
    first = [replace(end, kind=ACCEPTED, given=part, dead=dead, keep=True) for part in parts[:-1]]
    return [*first, replace(end, given=parts[-1])]
