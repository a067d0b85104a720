"""Pending updates: what senders, operators and settlers leave for the next reader.

They never wait for a reader. A row stands for each update: it is inserted, and whoever takes
work next, or settles the group, applies it and deletes it, in the order of the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairlead.store.database.port import Database
from fairlead.store.queues.settings import Queue

RAISED: Final = "raised"
"""A group was raised; without a priority: it has items again, and is to be placed anew."""
JOINED: Final = "joined"
"""A group of a tenant can be taken."""
CHARGED: Final = "charged"
"""A message came for a group that is worked on."""
SETTLED: Final = "settled"
"""A group was accepted or rejected; `cost` of what is left, `placed`: whether it can be taken."""
RELEASED: Final = "released"
"""A group was given back; `cost` of all of it, and the tenant's `turn` before it was taken."""


class PendingUpdate(NamedTuple):
    """One of them; what does not belong to its kind is left out."""

    kind: str
    number: int
    """Of the event that it follows from."""
    group_id: int
    tenant: str
    priority: int | None = None
    at: int | None = None
    cost: int | None = None
    turn: int | None = None
    placed: int = 0


def add_pending(database: Database, queue: Queue, updates: Sequence[PendingUpdate]) -> None:
    """Leave them for the next reader, in this transaction."""
    if updates:
        database.many("add_pending_update", updates, queue=queue.id)
