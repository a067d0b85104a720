"""A message in the hands of a reader, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from fairlead.store.queues.bodies import REDELIVERED, envelope_of, read
from fairlead.store.queues.endpoints import Endpoint


class Received(Struct, frozen=True):
    """What a reader is given, before it is known through whom he can answer."""

    id: str
    body: Any
    type: str | None
    group: str
    tenant: str
    cost: int
    sent: float
    number: int
    end: Endpoint | None = None
    """The receiver's end, where it was said in a conversation."""
    envelope: bytes | None = None
    """In what the body came, where a program of another kind sent it."""
    redelivered: bool = False
    """Whether it was sent to another destination before, which has failed."""
    unreadable: str = ""
    """Why `body` is its bytes, and not what was sent; "" where it is that."""
    format: int = 0
    """Of what is kept of it."""


class Stored(NamedTuple):
    """A message as it is read."""

    group_id: int
    id: int
    key: str
    arrived: int
    expires: int | None
    cost: int
    type: str | None
    conversation: int | None
    format: int
    body: bytes


def received(row: Stored, group: str, tenant: str, end: Endpoint | None = None) -> Received:
    """A row as its reader gets it."""
    body, unreadable = read(row.format, row.body)
    return Received(
        row.key,
        body,
        row.type,
        group,
        tenant,
        row.cost,
        row.arrived / 1_000_000,
        row.id,
        end,
        envelope_of(row.format, row.body),
        bool(row.format & REDELIVERED),
        unreadable,
        row.format,
    )


def readable(messages: Iterable[Received]) -> list[Received]:
    """What can be given; the rest stays in its group, and the next take buries it."""
    return [message for message in messages if not message.unreadable]
