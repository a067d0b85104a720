"""A message whose body nobody can read is a dead letter by itself, before anybody is given it.

So whoever sends one does no harm to those whose messages stand beside it, and no reader fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.store.queues.engine import QueueEngine
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import ACCEPTED, REJECTED, Given, Settlement
from fairlead.store.queues.taken_group import Claim, TakenGroup

MAX_ROUNDS: Final = 100
"""So often it is taken again in one transaction, where all that was taken could not be read."""


def take_readable(engine: QueueEngine, queue: str, claim: Claim) -> list[TakenGroup]:
    """The best groups of a queue, best first, with what can be read of them; in one transaction."""
    for _ in range(MAX_ROUNDS):
        groups, more = engine.take(queue, claim, in_portions=False)
        if groups and (kept := bury_unreadable(engine, queue, groups, claim.actor)):
            return kept
        if not (groups or more):
            return []
    return []


def take_portion(engine: QueueEngine, queue: str, claim: Claim) -> tuple[list[TakenGroup], bool]:
    """The same, but where much has to be put away first, that goes on in another transaction.

    Returns what was taken, and whether to go on: nothing was taken yet, and there may be something.
    """
    groups, more = engine.take(queue, claim, in_portions=True)
    kept = bury_unreadable(engine, queue, groups, claim.actor)
    return kept, more or (len(kept) < len(groups) and not kept)


def are_readable(found: Sequence[TakenGroup]) -> bool:
    """Whether all that was read of these groups can be given."""
    return not any(message.unreadable for group in found for message in group.messages)


def bury_unreadable(
    engine: QueueEngine, queue: str, found: Sequence[TakenGroup], actor: str
) -> list[TakenGroup]:
    """Groups that were just taken, without what cannot be read; those that have something to give.

    Raises StaleWorkError.
    """
    ends = [_buried(group, bad) for group in found if (bad := _unreadable(group))]
    if not ends:
        return list(found)
    engine.settle(queue, ends, actor)
    for group in found:
        group.messages = [message for message in group.messages if not message.unreadable]
    return [group for group in found if group.messages]


def _unreadable(held: TakenGroup) -> list[Received]:
    return [message for message in held.messages if message.unreadable]


def _buried(held: TakenGroup, bad: Sequence[Received]) -> Settlement:
    """Where nothing else was read of the group, it is over with it: others take what is behind."""
    goes_on = len(bad) < len(held.messages)
    end = Settlement(
        *(ACCEPTED if goes_on else REJECTED, held.id, held.token, held.group),
        given=[Given(message.number, message.id, message.cost) for message in bad],
        keep=goes_on,
        partly=held.only is not None,
    )
    if goes_on:
        end.dead = {message.number: message.unreadable for message in bad}
    else:
        end.reason = bad[0].unreadable
    return end
