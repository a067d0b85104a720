"""Dead letters: look at them, send them again, delete them, and keep them only for so long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from fairlead.balance.objects import repr_of
from fairlead.balance.times import MICROS
from fairlead.errors import MessageError
from fairlead.store.database.port import Database
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


class DeadRow(NamedTuple):
    """A dead letter as the database has it; times in microseconds."""

    number: int
    key: str
    group: str | None
    tenant: str
    priority: int | None
    reason: str
    attempt: int
    died: int
    cost: int
    type: str | None
    conversation: int | None
    """Its end, where it was said in a dialog."""
    format: int
    body: bytes


class DeadCounts(NamedTuple):
    """How many dead letters there are."""

    letters: int
    """How many dead letters there are in all."""
    reasons: int
    """How many reasons they have."""
    by_reason: dict[str, int]
    """Reason → how many have it; the most frequent reasons, the most first."""


class DeadLetterFilter(NamedTuple):
    """Which dead letters are meant."""

    ids: Sequence[str] | None = None
    """Those of these messages; None: of all."""
    reason: str | None = None
    """Those whose reason begins so; None: whatever it is."""
    after: int = 0
    """Those behind this place."""


class DeadPortion(NamedTuple):
    """What one transaction did."""

    done: int
    """So many are dead letters no more."""
    after: int | None
    """The place behind which it goes on; None: there are no more."""


def dead(database: Database, queue: Queue, most: int, after: int, reason: str | None) -> list[Dead]:
    """Dead letters, the oldest first."""
    return [_dead(row) for row in _rows(database, queue, most, after, reason)]


def _dead(row: DeadRow) -> Dead:
    body, _ = read(row.format, row.body)
    return Dead(
        row.number,
        row.key,
        row.group or "",
        row.tenant,
        row.priority,
        row.reason,
        row.attempt,
        row.died / MICROS,
        row.cost,
        row.type,
        body,
    )


def _rows(
    database: Database, queue: Queue, most: int, after: int, reason: str | None
) -> list[DeadRow]:
    values = {"queue": queue.id, "after": after, "most": most}
    if reason is None:
        rows = database.run("dead", **values)
    else:
        rows = database.run("dead_of_reason", **values, reason=reason)
    return [DeadRow._make(row) for row in rows]


def dead_counts(database: Database, queue: Queue, reason: str | None, most: int) -> DeadCounts:
    """How many dead letters there are, and how many have each of the most frequent reasons."""
    rows = database.run("dead_counts", queue=queue.id, reason=reason, most=most)
    reasons, letters = rows[0][2:] if rows else (0, 0)
    return DeadCounts(letters, reasons, {row[0]: row[1] for row in rows})


def requeue(database: Database, queue: Queue, chosen: DeadLetterFilter, actor: str) -> DeadPortion:
    """Send dead letters again, to the end of their groups, `STEP` at a time."""
    rows, after = _taken_out(database, queue, chosen)
    if chosen.ids is not None:
        _check_open(database, rows)
    log = Log(database, queue.name, queue.moment, actor)
    batch = []
    for number, row in zip(log.draw(len(rows)), rows, strict=True):
        message = OutgoingMessage(
            group=row.group,
            priority=row.priority,
            key=row.key,
            type=row.type,
            tenant=row.tenant,
            cost=row.cost,
            due=None,
            expires=None,
            format=row.format,
            body=bytes(row.body),
            conversation=row.conversation,
        )
        batch.append((number, message))
        log.add("arrived", id=number, **_event_of(row))
    arrive(database, queue, batch)
    log.flush()
    if queue.columns.awaited:
        database.run("notify", queue=queue.id)
    return DeadPortion(len(rows), after)


def discard(database: Database, queue: Queue, chosen: DeadLetterFilter, actor: str) -> DeadPortion:
    """Delete dead letters, `STEP` at a time."""
    rows, after = _taken_out(database, queue, chosen)
    log = Log(database, queue.name, queue.moment, actor)
    for row in rows:
        log.add("discarded", attempt=row.attempt, **_event_of(row))
    log.flush()
    return DeadPortion(len(rows), after)


def _event_of(row: DeadRow) -> dict[str, Any]:
    """What the journal says of a dead letter that is one no more."""
    return {
        "group": row.group or "",
        "key": row.key,
        "tenant": row.tenant,
        "priority": row.priority,
        "cost": row.cost,
        "type": row.type,
        "detail": f"was a dead letter: {row.reason}",
    }


def _check_open(database: Database, rows: Sequence[DeadRow]) -> None:
    """Raises MessageError for a message of a dialog in which nobody would get it; all is undone."""
    ends = by_ids(database, (row.conversation for row in rows if row.conversation is not None))
    for row in rows:
        if row.conversation is None:
            continue
        if row.conversation not in ends or ends[row.conversation].state == ENDED:
            raise MessageError(
                f"id: found {row.key!r}, whose dialog has ended, allowed: a dead letter of one "
                "that is open, or to discard it"
            )


def _taken_out(
    database: Database, queue: Queue, chosen: DeadLetterFilter
) -> tuple[list[DeadRow], int | None]:
    """Take dead letters out of the table: those with these ids, or the next `STEP` of all.

    Returns those that were really there, and the place behind which there may be more.
    """
    rows: list[DeadRow] = []
    if chosen.ids is None:
        rows = _rows(database, queue, STEP, chosen.after, chosen.reason)
    else:
        for key in dict.fromkeys(chosen.ids):
            letters = database.run("dead_by_key", queue=queue.id, key=key)
            if not letters:
                raise MessageError(
                    f"id: found {repr_of(key)}, allowed: that of a dead letter of queue "
                    f"{queue.name!r}"
                )
            rows += map(DeadRow._make, letters)
    dropped = database.run("drop_dead", queue=queue.id, ids=[row.number for row in rows])
    ours = {id_ for (id_,) in dropped}  # another may have taken some of them out meanwhile
    after = rows[-1].number if chosen.ids is None and len(rows) == STEP else None
    return [row for row in rows if row.number in ours], after
