"""Dead letters: look at them, send them again, delete them, and keep them only for so long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError
from fairlead.store.database.port import Database, Row
from fairlead.store.journal.log import Log
from fairlead.store.queues.bodies import read
from fairlead.store.queues.endpoints import ENDED, by_ids
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.sending import arrive
from fairlead.store.queues.settings import Queue

STEP: Final = 5000
"""So many rows are changed in one transaction."""


class Dead(NamedTuple):
    """A dead letter."""

    number: int
    """Its place: `Store.dead(after=...)` goes on after it."""
    id: str
    """The message's."""
    group: str
    """Its group's name; "" for a message that was sent without one."""
    tenant: str
    """Whose it was."""
    priority: int | None
    """With which it was taken for the last time; None if nobody had raised it."""
    reason: str
    """Why it is one."""
    attempt: int
    """In which it failed; 0: it was given to nobody."""
    died: float
    """When it became one, in seconds since 1970."""
    cost: int
    """What it is charged."""
    type: str | None
    """What it is, for handlers."""
    body: Any
    """As it was sent; its bytes, where it could not be read."""


def dead(database: Database, queue: Queue, most: int, after: int) -> list[Dead]:
    """Dead letters, the oldest first."""
    rows = database.run("dead", queue=queue.id, after=after, most=most)
    return [
        Dead._make((*row[:2], row[2] or "", *row[3:7], row[7] / 1_000_000, *row[8:10], body))
        for row in rows
        for body, _ in [read(*row[11:])]
    ]


def requeue(database: Database, queue: Queue, ids: Iterable[str] | None, actor: str) -> int:
    """Send dead letters again, to the end of their groups, `STEP` at a time; how many."""
    rows = _taken_out(database, queue, ids)
    if ids is not None:
        _check_open(database, rows)
    log = Log(database, queue.name, queue.moment, actor)
    batch = []
    for number, row in zip(log.draw(len(rows)), rows, strict=True):
        _, key, group, tenant, priority, reason, _, _, cost, type_, conversation, format_, body = (
            row
        )
        each = OutgoingMessage(
            *(group, priority, key, type_, tenant, cost, None, None, format_, bytes(body)),
            conversation,
        )
        batch.append((number, each))
        log.add(
            "arrived",
            id=number,
            group=group or "",
            key=key,
            tenant=tenant,
            priority=priority,
            cost=cost,
            type=type_,
            detail=f"was a dead letter: {reason}",
        )
    arrive(database, queue, batch)
    log.flush()
    if queue.columns.awaited:
        database.run("notify", queue=queue.id)
    return len(rows)


def discard(database: Database, queue: Queue, ids: Iterable[str] | None, actor: str) -> int:
    """Delete dead letters, `STEP` at a time; how many."""
    rows = _taken_out(database, queue, ids)
    log = Log(database, queue.name, queue.moment, actor)
    for _, key, group, tenant, priority, reason, attempt, _, cost, type_, *_ in rows:
        log.add(
            "discarded",
            group=group or "",
            key=key,
            tenant=tenant,
            priority=priority,
            cost=cost,
            type=type_,
            attempt=attempt,
            detail=f"was a dead letter: {reason}",
        )
    log.flush()
    return len(rows)


def _check_open(database: Database, rows: Sequence[Row]) -> None:
    """Raises MessageError for a message of a dialog in which nobody would get it; all is undone."""
    ends = by_ids(database, (row[10] for row in rows if row[10] is not None))
    for row in rows:
        if row[10] is not None and (row[10] not in ends or ends[row[10]].state == ENDED):
            raise MessageError(
                f"id: found {row[1]!r}, whose dialog has ended, allowed: a dead letter of one that "
                "is open, or to discard it"
            )


def _taken_out(database: Database, queue: Queue, ids: Iterable[str] | None) -> Sequence[Row]:
    """Dead letters that are so no more: those with these ids, or the next `STEP` of all."""
    if isinstance(ids, str):
        raise MessageError(f"ids: found {repr_of(ids)}, allowed: several, or None for all")
    rows: Sequence[Row] = []
    if ids is None:
        rows = database.run("dead", queue=queue.id, after=0, most=STEP)
    else:
        for key in dict.fromkeys(ids):
            found = database.run("dead_by_key", queue=queue.id, key=key)
            if not found:
                raise MessageError(
                    f"id: found {repr_of(key)}, allowed: that of a dead letter of queue "
                    f"{queue.name!r}"
                )
            rows = [*rows, *found]
    dropped = database.run("drop_dead", queue=queue.id, ids=[row[0] for row in rows])
    ours = {id_ for (id_,) in dropped}  # another may have taken some of them out meanwhile
    return [row for row in rows if row[0] in ours]
