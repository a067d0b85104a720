"""A message whose body nobody can read is a dead letter by itself, before anybody is given it.

So whoever sends one does no harm to those whose messages stand beside it, and no reader fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.store.database.port import Database
from fairlead.store.queues.received import Received
from fairlead.store.queues.settings import Queue
from fairlead.store.queues.settlement import ACCEPTED, REJECTED, Given, Settlement
from fairlead.store.queues.settling import settle
from fairlead.store.queues.taken_group import TakenGroup


def are_readable(found: Sequence[TakenGroup]) -> bool:
    """Whether all that was read of these groups can be given."""
    return not any(message.unreadable for each in found for message in each.messages)


def bury_unreadable(
    database: Database, queue: Queue, found: Sequence[TakenGroup], actor: str
) -> list[TakenGroup]:
    """Groups that were just taken, without what cannot be read; those that have something to give.

    Raises StaleWorkError.
    """
    ends = [_buried(each, bad) for each in found if (bad := _unreadable(each))]
    if not ends:
        return list(found)
    settle(database, queue, ends, actor)
    for each in found:
        each.messages = [message for message in each.messages if not message.unreadable]
    return [each for each in found if each.messages]


def _unreadable(held: TakenGroup) -> list[Received]:
    return [message for message in held.messages if message.unreadable]


def _buried(held: TakenGroup, bad: Sequence[Received]) -> Settlement:
    """Where nothing else was read of the group, it is over with it: others take what is behind."""
    goes_on = len(bad) < len(held.messages)
    end = Settlement(
        *(ACCEPTED if goes_on else REJECTED, held.id, held.token, held.group),
        given=[Given(each.number, each.id, each.cost) for each in bad],
        keep=goes_on,
        partly=held.only is not None,
    )
    if goes_on:
        end.dead = {each.number: each.unreadable for each in bad}
    else:
        end.reason = bad[0].unreadable
    return end
