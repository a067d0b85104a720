"""The journal of a store, as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from fairlead.balance.objects import spelled
from fairlead.errors import MessageError, PrunedError
from fairlead.rows import EVENT_COLUMNS
from fairlead.store.database import Database

PAGE: Final = 1000


class Event(NamedTuple):
    """One thing that happened, with the columns of `fairlead.rows.EVENT_COLUMNS`."""

    position: int
    cursor: str
    time: float
    kind: str
    queue: str
    group: str
    id: str
    tenant: str
    priority: int | None
    cost: int | None
    type: str | None
    attempt: int | None
    token: int | None
    actor: str
    lease: float | None
    detail: str | None
    cluster: str | None
    version: int | None
    stream: str | None
    destination: str | None
    address: str | None
    outcome: str | None
    sequence: int | None
    said: str | None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return self._asdict()


for _column in EVENT_COLUMNS:  # said once, for the pages and for `help`
    getattr(Event, _column.name).__doc__ = _column.meaning


for _column in EVENT_COLUMNS:
    getattr(Event, _column.name).__doc__ = _column.meaning


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
        for row in rows:
            number, xid, time, lease = *row[:3], row[14]
            ends = None if lease is None else lease / 1_000_000
            yield Event._make(
                (number, f"{xid}-{number}", time / 1_000_000, *row[3:14], ends, *row[15:])
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
