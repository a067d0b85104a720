"""Maintenance before a take: apply pending updates, wake what is due, take back what is lost.

So SQLite does it; on PostgreSQL functions of the schema do (`postgresql_functions_maintain.sql`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import asdict

from fairlead.order.key import NO_ENTRY, NOTHING, Entry
from fairlead.store.database.port import Database, Row
from fairlead.store.journal.log import Log
from fairlead.store.queues.failing import LEASE
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.pending import CHARGED, JOINED, RELEASED, SETTLED
from fairlead.store.queues.sending import arrive
from fairlead.store.queues.settings import BECOMES_FAIR, Queue, known_queue
from fairlead.store.queues.settling import complete_delayed, end_or_keep, raises_of, take_back
from fairlead.store.queues.tenants import TenantLine

MOST: Final = 1000
"""So many of each kind are done before one take."""
LAPSED: Final = 300
"""So many groups whose lease is over are: each is settled by itself."""


class TenantUpdate(NamedTuple):
    """A pending update of tenants, as it is read."""

    id: int
    kind: str
    number: int
    tenant: str
    cost: int | None
    turn: int | None
    placed: int


def is_maintenance_due(database: Database, queue: Queue) -> bool:
    """Whether a queue is not up to date."""
    return any(database.run("maintenance", queue=queue.id, now=queue.now)[0])


def bring_up_to_date(database: Database, queue: Queue, actor: str) -> None:
    """Do what is due in a queue, as a take does first."""
    log = Log(database, queue.name, queue.moment, actor)
    _, line = maintained(database, queue, log)
    if line is not None:
        line.write()
    log.flush()


def maintained(database: Database, queue: Queue, log: Log) -> tuple[Queue, TenantLine | None]:
    """Bring a queue up to date; the queue as it is then, and its tenants (None: it has none)."""
    line = TenantLine(database, queue) if queue.fair else None
    _maintain(database, queue, line, log)
    if line is None and queue.fair:  # what has just arrived is of tenants
        queue = known_queue(database, queue.name, queue.now)
        line = TenantLine(database, queue)
        line.begin()
    return queue, line


def _maintain(database: Database, queue: Queue, line: TenantLine | None, log: Log) -> None:
    ((raised, updated, parked, delayed, lapsed),) = database.run(
        "maintenance", queue=queue.id, now=queue.now
    )
    if line is not None and queue.fair == BECOMES_FAIR:
        line.begin()
    if lapsed:
        rows = database.run("lapsed", queue=queue.id, now=queue.now, most=LAPSED)
        groups = [(id_, token) for id_, token, _ in rows]
        blameless = frozenset(id_ for id_, _, spared in rows if spared)
        why = "its lease was over"
        take_back(database, queue, groups, log, why, failed=LEASE, blameless=blameless)
    if delayed:
        _let_arrive(database, queue, log)
    if raised or delayed or lapsed:
        _apply_raises(database, queue)
    if updated or delayed or lapsed:
        _apply_updates(database, queue, line)
    if parked:
        rows = database.run("wake_groups", queue=queue.id, now=queue.now, most=MOST)
        _place(database, queue, sorted(row[0] for row in rows if row[2] == NOTHING), {})
        _log_woken(sorted(rows), line, log)


def _log_woken(rows: Sequence[Row], line: TenantLine | None, log: Log) -> None:
    """The delays of groups are over; a group that only waited for a sender is no event."""
    woken = [row for row in rows if line is not None or row[2] != NOTHING]
    for (_, tenant, _, name), number in zip(woken, log.draw(len(woken)), strict=True):
        log.add("woken", id=number, group=name or "", tenant=tenant)
        if line is not None:
            line.join(tenant, number)


def _let_arrive(database: Database, queue: Queue, log: Log) -> None:
    """Delayed messages arrive; one whose group is another tenant's now is a dead letter."""
    rows = sorted(
        database.run("due_messages", queue=queue.id, now=queue.now, most=MOST),
        key=lambda row: (row[1], row[0]),
    )
    numbers = log.draw(len(rows))
    batch = []
    names = sorted({row[2] for row in rows if row[2]})
    owners = {row[0]: row[2] for row in database.run("groups_by_name", queue=queue.id, names=names)}
    for number, row in zip(numbers, rows, strict=True):
        _, _, group, tenant, priority, key, expires, cost, type_, conversation, format_, body = row
        message = OutgoingMessage(
            *(group, priority, key, type_, tenant, cost, None, expires, format_, bytes(body)),
            conversation,
        )
        event: dict[str, Any] = {
            "id": number,
            "group": group or "",
            "key": key,
            "tenant": tenant,
            "priority": priority,
            "cost": cost,
            "type": type_,
        }
        if group and owners.setdefault(group, tenant) != tenant:
            reason = "its group is another tenant's now"
            database.run(
                "bury_delayed",
                **{**asdict(message), "id": number, "queue": queue.id},
                died=queue.now,
                reason=reason,
            )
            complete_delayed(database, queue, key, reason)
            log.add("rejected", detail=reason, **event)
        else:
            batch.append((number, message))
            log.add("arrived", **event)
    arrive(database, queue, batch)


def _apply_raises(database: Database, queue: Queue) -> None:
    """Give groups that nobody holds the places that their raises, or what has arrived, lead to."""
    rows = database.run("raised_groups", queue=queue.id, most=MOST)
    ended = [id_ for id_, lives in rows if not lives]
    if ended:
        database.run("drop_raises_of", ids=ended)
    raised = [id_ for id_, lives in rows if lives]
    if not raised:
        return
    mine = sorted(id_ for (id_,) in database.run("lock_ready", ids=raised))
    empty = _place(database, queue, mine, raises_of(database, mine)) if mine else []
    if empty and not queue.fair:  # an end of a dialog has ended
        end_or_keep(database, queue, empty)


def _apply_updates(database: Database, queue: Queue, line: TenantLine | None) -> None:
    every = [
        TenantUpdate(*row) for row in database.run("pending_updates", queue=queue.id, most=MOST)
    ]
    for update in every:
        if line is not None:
            _apply(line, update)
    if every:
        database.run("drop_pending_updates", ids=[update.id for update in every])


def _apply(line: TenantLine, update: TenantUpdate) -> None:
    if update.kind == JOINED:
        line.join(update.tenant, update.number)
    elif update.kind == CHARGED:
        line.charge(update.tenant, update.cost or 0)
    elif update.kind == SETTLED:
        line.settle(update.tenant, update.number, update.cost or 0, placed=bool(update.placed))
    elif update.kind == RELEASED:
        line.release(
            update.tenant,
            update.number,
            update.cost or 0,
            update.turn or 0,
            placed=bool(update.placed),
        )


def _place(
    database: Database, queue: Queue, ids: Sequence[int], raises: Mapping[int, Entry]
) -> list[int]:
    """Give groups their places, as what they are raised to and what is in them says.

    Returns those that have none, as they are empty.
    """
    if not ids:
        return []
    entries = {
        id_: Entry(priority, entered, number) if number else NO_ENTRY
        for id_, priority, entered, number in database.run("entries_of", ids=list(ids))
    } | dict(raises)
    heads = {row[0]: (row[1], row[2]) for row in database.run("heads_of", ids=list(ids))}
    rows, empty = [], []
    for id_ in ids:
        head, arrived = heads.get(id_, (0, 0))
        place = queue.place(entries[id_], head, arrived)
        if place is not None:
            rows.append((*entries[id_], *place, head, arrived, id_))
        else:
            empty.append(id_)
    if rows:
        database.many("place", rows)
    return empty
