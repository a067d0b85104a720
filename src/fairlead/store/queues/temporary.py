"""Temporary queues in a store: what is sent to one is a group of a queue that has all of them.

A group of another queue says that it is there. So whoever has the database can send to it, and
nothing is left when it is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from fairlead.store.arguments import OWN
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settings import read_queue

TEMPORARY: Final = "temporary:"
"""So the addresses of queues begin that live as long as a link."""
MESSAGES: Final = f"{OWN}temporary"
"""The queue that has what is sent to these, each a group."""
THERE: Final = f"{OWN}temporary-links"
"""The queue whose work is the temporary queues that servers keep."""
KEPT: Final = 24 * 3600.0
"""Seconds after which a message expires that came just as its queue was removed."""


def is_there(database: Database, address: str, now: int | None) -> bool:
    """Whether there is a temporary queue of this address."""
    queue = read_queue(database, THERE, now)
    return queue is not None and bool(database.run("group_place", queue=queue.id, name=address))


def gone(address: str) -> str:
    """What is said of one that is not there."""
    return f"{address}: found a temporary queue that is gone, or never was"


def landing(
    database: Database, queue: str, message: OutgoingMessage, now: int | None
) -> tuple[str, OutgoingMessage]:
    """In which queue of the store a message is that is for a queue, and the message as it is there.

    `queue`: any; of a temporary one it is known that it is there.
    """
    if not queue.startswith(TEMPORARY):
        return queue, message
    last = time_of(database, now) + int(KEPT * 1_000_000)
    expires = last if message.expires is None else min(message.expires, last)
    return MESSAGES, replace(message, group=queue, expires=expires)


def landing_arguments(queue: str, message: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """In which queue of the store a message lies, and the arguments of `send_many` for it there.

    Its `expires` counts in seconds from now.
    """
    if not queue.startswith(TEMPORARY):
        return queue, {**message}
    expires = min(message.get("expires") or KEPT, KEPT)
    return MESSAGES, {**message, "group": queue, "expires": expires}
