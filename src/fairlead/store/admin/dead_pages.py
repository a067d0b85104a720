"""Dead letters page by page: what is known of each, and the beginning of one's body."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.errors import MessageError
from fairlead.store.database.port import Database
from fairlead.store.queues.bodies import BYTES, JSON, KIND, TEXT, place_of_body
from fairlead.store.queues.settings import Queue

KINDS: Final = {BYTES: "bytes", TEXT: "text", JSON: "json"}


class DeadHead(NamedTuple):
    """A dead letter, without its body."""

    number: int
    """Its place among the dead letters."""
    id: str
    """The message's."""
    group: str
    """Its group's name; "" for a message that was sent without one."""
    tenant: str
    priority: int | None
    """With which it was taken for the last time; None if nobody had raised it."""
    reason: str
    """Why it is one."""
    attempt: int
    """In which it failed; 0: it was given to nobody."""
    died: float
    """When it became one, in seconds since 1970."""
    cost: int
    type: str | None
    size: int
    """Bytes of its body."""


class BodyPart(NamedTuple):
    """The beginning of a body, as it was sent."""

    kind: str
    """bytes | text | json."""
    beginning: bytes
    size: int
    """Bytes of all of it."""


def dead_heads(
    database: Database, queue: Queue, most: int, after: int, reason: str | None
) -> list[DeadHead]:
    """Dead letters behind a place, the oldest first; `reason`: with which theirs begins."""
    rows = database.run("dead_heads", queue=queue.id, after=after, most=most, reason=reason)
    heads = []
    for *row, format_, kept in rows:
        number, key, group, *more, died, cost, type_ = row
        size = place_of_body(format_, kept)[1]
        head = (number, key, group or "", *more, died / 1_000_000, cost, type_, size)
        heads.append(DeadHead._make(head))
    return heads


def dead_body(database: Database, queue: Queue, number: int, most: int) -> BodyPart:
    """The first bytes of a dead letter's body. Raises MessageError where there is none."""
    rows = database.run("dead_format", queue=queue.id, number=number)
    for format_, kept in rows:
        start, size = place_of_body(format_, kept)
        parts = database.run(
            "dead_body", queue=queue.id, number=number, start=start + 1, most=min(size, most)
        )
        for (part,) in parts:
            return BodyPart(KINDS[format_ & KIND], bytes(part), size)
    raise MessageError(
        f"number: found {number}, allowed: that of a dead letter of queue {queue.name!r}"
    )
