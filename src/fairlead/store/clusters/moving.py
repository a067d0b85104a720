"""Move messages that somebody holds out of a queue: each goes elsewhere, or ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from fairlead.store.clusters.changing import Author
from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.bodies import REDELIVERED
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settings import Queue
from fairlead.store.queues.settlement import RELEASE, Given, Settlement
from fairlead.store.queues.settling import fence
from fairlead.store.queues.taken_group import TakenGroup

HAS_FAILED: Final = "its receiver has failed"


def move(
    database: Database,
    queue: Queue,
    held: TakenGroup,
    given: Sequence[Given],
    end: Callable[[OutgoingMessage], str],
    author: Author,
) -> None:
    """These messages of a group leave a queue; the rest of the group returns to its place.

    `held`: the group, as taken. `end`: what becomes of a message, which is given as it would be
    sent again; for the journal. Raises StaleWorkError.
    """
    fence(database, {held.id: held.token})
    log = Log(database, queue.name, queue.moment, author.actor)
    ids = [message.number for message in given]
    sent = {row[0]: row[1:] for row in database.run("as_sent", ids=ids)}
    for message in given:
        expires, cost, type_, format_, body = sent[message.number]
        outgoing = OutgoingMessage(
            *(held.group or None, None, message.key, type_, held.tenant, cost, None, expires),
            *(format_ | REDELIVERED, bytes(body)),
        )
        detail = end(outgoing)
        log.add(
            *("dropped",),
            group=held.group,
            key=message.key,
            tenant=held.tenant,
            cost=cost,
            detail=detail,
        )
    database.run("drop_messages", ids=ids)
    log.flush()
    end_of_work = Settlement(RELEASE, held.id, held.token, held.group, [], reason=HAS_FAILED)
    engine_of(database, author.now, author.actor).settle(queue.name, [end_of_work], author.actor)
