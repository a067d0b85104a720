"""Raise: a group goes before others, behind its equals."""

from __future__ import annotations

from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.pending import RAISED, PendingUpdate, add_pending
from fairlead.store.queues.settings import Queue


def raise_group(
    database: Database, queue: Queue, group: str, priority: int | None, actor: str
) -> bool:
    """Raise a group; whether it was raised: not one that does not live. It waits for no reader."""
    rows = database.run("group", queue=queue.id, name=group) if group and queue.ordered else []
    if not rows:
        return False
    raised = queue.columns.default_priority if priority is None else priority
    log = Log(database, queue.name, queue.moment, actor)
    (number,) = log.draw()
    ((id_, tenant),) = rows
    update = PendingUpdate(RAISED, number, id_, tenant, raised, queue.moment)
    add_pending(database, queue, [update])
    log.add("raised", id=number, group=group, tenant=tenant, priority=raised)
    log.flush()
    return True
