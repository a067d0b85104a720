"""Purge: what waits in a queue is deleted, in portions.

So SQLite does it; on PostgreSQL a function of the schema does (`postgresql_functions_purge.sql`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.order.key import NO_ENTRY, Entry
from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.settings import BEFORE_ALL, Queue
from fairlead.store.queues.settling import Left, complete_delayed, drop, put_back, raises_of

PORTION: Final = 300
"""So many messages are deleted in one transaction: others write meanwhile."""


class PurgePortion(NamedTuple):
    """Where a purge stands between two transactions."""

    until: int
    """The number of the first event that came after it began: what came later stays."""
    after: int = BEFORE_ALL
    """The group after which it goes on."""
    deleted: int = 0
    """So many messages in this one."""


class PurgedMessages(NamedTuple):
    """Whose messages go; None: those of all."""

    group: str | None = None
    """Its name."""
    tenant: str | None = None


class _Unheld(NamedTuple):
    """A group that nobody holds, as its row said."""

    id: int
    name: str | None
    tenant: str
    priority: int
    entered: int
    number: int
    releases: int
    failures: int
    not_before: int | None


def purge(
    database: Database,
    queue: Queue,
    which: PurgedMessages,
    at: PurgePortion,
    actor: str,
    reason: str,
) -> PurgePortion | None:
    """Delete the next messages that wait; None: there are no more. `reason`: for the journal."""
    log = Log(database, queue.name, queue.moment, actor)
    values = {"queue": queue.id, "until": at.until, "most": PORTION, "tenant": which.tenant}
    rows = database.run("purge_delayed", **values, name=which.group, now=queue.now, reason=reason)
    for key, name, tenant, cost, type_ in rows:
        complete_delayed(database, queue, key, reason)
        _log(log, name, key, tenant, cost, type_, reason)
    if rows:
        log.flush()
        return at._replace(deleted=len(rows))
    span = _span(database, queue, which.group, at)
    held = [] if span is None else database.run("hold_unheld", **values, **span, now=queue.now)
    groups = [_Unheld(*row) for row in sorted(held)]
    if not groups:
        return None
    by_id = {group.id: group for group in groups}
    rows = database.run("unsaid_of", ids=[*by_id], until=at.until, most=PORTION)
    for id_, _, key, cost, type_ in rows:
        _log(log, by_id[id_].name, key, by_id[id_].tenant, cost, type_, reason)
    numbers = [row[1] for row in rows]
    if numbers:
        # for a while they are dead letters: whoever waits for them is told that nobody got them
        database.run("bury", ids=numbers, died=queue.now, reason=reason, attempt=0, priority=None)
        drop(database, queue, numbers)
        database.run("drop_dead", queue=queue.id, ids=numbers)
    _let_go(database, queue, groups, {row[0] for row in rows})
    log.flush()
    is_all = len(rows) < PORTION
    return PurgePortion(at.until, groups[-1].id if is_all else rows[-1][0] - 1, len(rows))


def _span(
    database: Database, queue: Queue, group: str | None, at: PurgePortion
) -> Mapping[str, int] | None:
    """Between which ids groups are looked for; None: none are."""
    if group is None:
        return {"after": at.after, "last": at.until}
    rows = database.run("group_place", queue=queue.id, name=group)
    if not rows or rows[0][0] <= at.after:
        return None
    return {"after": rows[0][0] - 1, "last": rows[0][0]}


def _let_go(database: Database, queue: Queue, groups: Sequence[_Unheld], purged: set[int]) -> None:
    """What is left of groups stands where it stood; those of which nothing is left end."""
    raises = raises_of(database, [group.id for group in groups])
    put_back(
        database,
        queue,
        [
            Left(
                group.id,
                raises.get(group.id, NO_ENTRY),
                0 if group.id in purged else group.releases,
                0 if group.id in purged else group.failures,
                group.not_before,
                Entry(group.priority, group.entered, group.number),
            )
            for group in groups
        ],
    )


def _log(  # the columns of the journal
    log: Log, group: str | None, key: str, tenant: str, cost: int, type_: str | None, why: str
) -> None:
    log.add(
        "discarded", group=group or "", key=key, tenant=tenant, cost=cost, type=type_, detail=why
    )
