"""What an operator deletes: what waits in a queue, and queues themselves."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.errors import MessageError
from fairlead.store.arguments import OWN
from fairlead.store.database.port import Database
from fairlead.store.queues.purging import PurgedMessages, PurgePortion
from fairlead.store.queues.settings import Queue

WHY: Final = "an operator purged it"


class Purged(NamedTuple):
    """What a purge did."""

    deleted: int
    """Messages that waited, or were to arrive later, and are gone."""
    working: int
    """Messages of groups in the hands of readers: they stay."""
    of_conversations: int
    """Messages of conversations: they stay until their conversation ends."""


class Deleted(NamedTuple):
    """What was deleted with a queue."""

    messages: int
    """That waited, or were to arrive later."""
    dead: int
    """Dead letters."""


def check_is_users(queue: str) -> None:
    """Raises MessageError for a queue that servers keep for themselves."""
    if queue.startswith(OWN):
        raise MessageError(f"queue: found {queue!r}, allowed: one that is not the servers' own")


def begin(database: Database) -> PurgePortion:
    """Where a purge of what is there now begins."""
    (until,) = database.numbers(1)
    return PurgePortion(until)


def what_goes(database: Database, queue: Queue, which: PurgedMessages) -> int:
    """How many messages a purge would delete."""
    ((count,),) = database.run("what_goes", queue=queue.id, name=which.group, tenant=which.tenant)
    return int(count)


def what_stays(database: Database, queue: Queue, which: PurgedMessages) -> tuple[int, int]:
    """How many messages readers hold, and how many others are of conversations."""
    ((working, dialog_messages),) = database.run(
        "what_stays", queue=queue.id, name=which.group, tenant=which.tenant
    )
    return int(working), int(dialog_messages)
