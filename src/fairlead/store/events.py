"""The journal of a store, as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from fairlead.balance.objects import spelled
from fairlead.errors import MessageError, PrunedError
from fairlead.store.database import Database

PAGE: Final = 1000


class Event(NamedTuple):
    """One thing that happened to a queue."""

    number: int
    """Its place among all events; there are gaps."""
    cursor: str
    """`Store.journal(since=...)` goes on after this event."""
    time: float
    """Seconds since 1970; never before that of an earlier event, where one process writes."""
    kind: str
    """sent, arrived (it was delayed), raised, taken, accepted, rejected, released, woken (the delay
    of a release is over), expired."""
    queue: str
    group: str
    id: str
    """The message's; "" where the event is a group's."""
    tenant: str
    priority: int | None
    cost: int | None
    type: str | None
    attempt: int | None
    token: int | None
    actor: str
    """Who did it: host and process."""
    lease: float | None
    """When the lease of work that was taken ends, in seconds since 1970."""
    detail: str | None
    """Why: of what was rejected or released."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return self._asdict()


def events(database: Database, since: str | None) -> Iterator[Event]:
    """All events after a cursor that can be read now, in an order that later ones keep to.

    On PostgreSQL an event is given when every transaction that began before it has ended: so a
    reader that goes on from its last cursor misses nothing. Raises MessageError for a cursor that
    is none, and PrunedError where events after it are kept no more.
    """
    transaction, after = _read(since)
    begun = since is not None
    while True:
        rows = database.run("journal", transaction=transaction, after=after, most=PAGE)
        if begun:
            _check_kept(database, transaction, after)
        if not rows:
            return
        begun = True
        for number, xid, time, kind, queue, group, key, tenant, *rest in rows:
            priority, cost, type_, attempt, token, actor, lease, detail = rest
            yield Event(
                *(number, f"{xid}-{number}", time / 1_000_000, kind, queue, group, key, tenant),
                *(priority, cost, type_, attempt, token, actor),
                None if lease is None else lease / 1_000_000,
                detail,
            )
            transaction, after = xid, number


def latest(database: Database) -> str | None:
    """The cursor of the latest event that can be read now; None: there is none."""
    rows = database.run("latest")
    return f"{rows[0][0]}-{rows[0][1]}" if rows else None


def _check_kept(database: Database, transaction: int, after: int) -> None:
    """What was deleted after a place that a reader has reached, the reader has not seen."""
    ((last_transaction, last),) = database.run("pruned")
    if (last_transaction, last) > (transaction, after):
        raise PrunedError(
            f"since: found '{transaction}-{after}', after which events are kept no more, allowed: "
            f"'{last_transaction}-{last}' or later, or None, from the first that is kept"
        )


def _read(since: str | None) -> tuple[int, int]:
    if since is None:
        return 0, 0
    first, dash, second = str(since).partition("-")
    if not (dash and first.isdecimal() and second.isdecimal()):
        raise MessageError(
            f"since: found {spelled(since)}, allowed: the cursor of an event, or None"
        )
    return int(first), int(second)
