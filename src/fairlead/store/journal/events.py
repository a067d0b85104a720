"""The journal of a store, as it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypedDict

from fairlead.balance.objects import repr_of
from fairlead.balance.times import Time, moment
from fairlead.errors import MessageError, PrunedError, StoreError
from fairlead.rows import EVENT_COLUMNS
from fairlead.store.arguments import check_keys, name
from fairlead.store.database.port import Database, Row
from fairlead.store.journal.epochs import MAX_NUMBER, Epochs, reached

PAGE: Final = 1000
MAX_TRANSACTION: Final = 2**64 - 1


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
    login: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return self._asdict()


for _column in EVENT_COLUMNS:  # said once, for the pages and for `help`
    getattr(Event, _column.name).__doc__ = _column.meaning


class JournalPlace(NamedTuple):
    """How far a reader of the journal has come: places are in the order of events."""

    epoch: int
    """How many backups were restored before it."""
    transaction: int
    """In which the event was written; 0 where one writes at a time."""
    number: int

    def __str__(self) -> str:
        epoch = f"{self.epoch}." if self.epoch else ""
        return f"{epoch}{self.transaction}-{self.number}"


KINDS: Final = frozenset(
    {
        *("sent", "arrived", "raised", "taken", "accepted", "rejected", "released", "woken"),
        *("expired", "discarded", "switched-off", "switched-on", "deleted"),
        *("schedule-paused", "schedule-resumed", "schedule-dropped"),
        *("begun", "ended", "timed", "refused", "dropped"),
        *("loaded", "changed", "decided", "completed", "recovered"),
    }
)
"""What happens, as `docs/reference/store-journal.md` has it."""


class EventChoice(TypedDict, total=False):
    """Which events a caller wants; None, or not said: any."""

    queue: str | None
    cluster: str | None
    group: str | None
    id: str | None
    actor: str | None
    """How it begins, for a trace may follow."""
    kind: str | Sequence[str] | None
    """Several: events of any of them."""
    start: Time | None
    """Those from this time on: seconds since 1970, or a timestamp."""
    end: Time | None
    """Those before this time."""


class EventFilter(NamedTuple):
    """The same, for a database."""

    queue: str | None = None
    cluster: str | None = None
    group: str | None = None
    id: str | None = None
    actor: str | None = None
    kind: str | None = None
    """With a comma between several."""
    start: int | None = None
    end: int | None = None
    """Both in microseconds."""


ANY: Final = EventFilter()


def these(which: EventChoice) -> EventFilter:
    """What a caller wants. Raises MessageError."""
    check_keys("journal", which, EventFilter._fields)
    others = {"start", "end", "kind"}
    named = {key: name(key, value) for key, value in which.items() if key not in others}
    return EventFilter(
        **named,
        kind=_kinds(which.get("kind")),
        start=_time("start", which.get("start")),
        end=_time("end", which.get("end")),
    )


def _time(key: str, value: Time | None) -> int | None:
    return None if value is None else moment(value, key, MessageError)


def _kinds(value: object) -> str | None:
    if value is None:
        return None
    every: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    for kind in every:
        if not isinstance(kind, str) or kind not in KINDS:
            allowed = ", ".join(sorted(KINDS))
            raise MessageError(f"kind: found {repr_of(kind)}, allowed: {allowed}")
    return ",".join(every)


CURSOR: Final = re.compile(r"(?:(\d{1,9})\.)?(\d{1,20})-(\d{1,19})")
"""A place, as a text."""
START: Final = JournalPlace(0, 0, 0)


def events(
    database: Database, since: str | None, wanted: EventFilter = ANY, until: str | None = None
) -> Iterator[Event]:
    """All events after a cursor that can be read now, in an order that later ones keep to.

    `until`: up to the event with this cursor. Those that come while they are read are left for the
    next time.

    On PostgreSQL an event is given when every transaction that began before it has ended: so a
    reader that goes on from its last cursor misses nothing. Raises MessageError for a cursor that
    is none, PrunedError where events after it are kept no more, and StoreError where a backup was
    restored and the store was not recovered.
    """
    place = START if since is None else place_of("since", since)
    epochs = Epochs(database)
    check_restored(database, epochs, place)
    begun = since is not None
    last = latest_place(database, epochs) or place
    if until is not None:
        last = min(last, place_of("until", until))
    while True:
        rows = database.run(
            "journal",
            transaction=place.transaction,
            after=place.number,
            most=PAGE,
            **_bound(place, last),
            **epochs.bounds(place.epoch),
            **wanted._asdict(),
        )
        if begun:
            _check_kept(database, epochs, place)
        if not rows:
            if place.epoch >= last.epoch:
                return
            place = JournalPlace(place.epoch + 1, 0, 0)
            continue
        begun = True
        for row in rows:
            place = JournalPlace(place.epoch, row[1], row[0])
            yield event_of(row, place)


def event_of(row: Row, place: JournalPlace) -> Event:
    """An event, as its row says it."""
    number, time, lease = row[0], row[2], row[14]
    ends = None if lease is None else lease / 1_000_000
    more = (*row[15:-1], row[-1] or "")
    return Event._make((number, str(place), time / 1_000_000, *row[3:14], ends, *more))


def _bound(place: JournalPlace, last: JournalPlace) -> dict[str, object]:
    """Up to where the epoch of a place is read: to the last place, or all that there is."""
    if place.epoch < last.epoch:
        last = JournalPlace(place.epoch, MAX_TRANSACTION, MAX_NUMBER)
    return {"last_transaction": str(last.transaction), "last": last.number}


def latest(database: Database, back: int = 0, wanted: EventFilter = ANY) -> str | None:
    """The cursor of the latest event that can be read now; None: there is none.

    `back`: of the one so many events before it; None, too, where that is before the last restore.
    """
    place = latest_place(database, Epochs(database), back, wanted)
    return None if place is None else str(place)


def latest_place(
    database: Database, epochs: Epochs, back: int = 0, wanted: EventFilter = ANY
) -> JournalPlace | None:
    """The same, as a place."""
    for epoch in range(epochs.current, -1, -1):
        bounds = epochs.bounds(epoch)
        rows = database.run("latest", back=back, **bounds, **wanted._asdict())
        for transaction, number in rows:
            return JournalPlace(epoch, transaction, number)
        if back:
            return None
    return None


def check_restored(database: Database, epochs: Epochs, place: JournalPlace) -> None:
    """What a reader has seen, or what is written, may be ahead of all that is written from now on.

    So it is in a backup that was restored: what is new would never be read.
    """
    has_been, is_ours = reached(database, epochs, place.transaction, place.number)
    if not is_ours:
        raise StoreError(
            "journal: found events of transactions that this server has not begun yet, as in a "
            "backup that was restored, allowed: to read it after `fairlead store recover`"
        )
    if place.epoch > epochs.current or (place.epoch == epochs.current and not has_been):
        raise MessageError(
            f"since: found '{place}', which this store has not reached, allowed: the cursor of an "
            "event of this store; if it is a backup that was restored, `fairlead store recover` "
            "makes it one"
        )


def _check_kept(database: Database, epochs: Epochs, place: JournalPlace) -> None:
    """What was deleted after a place that a reader has reached, the reader has not seen."""
    ((transaction, number),) = database.run("pruned")
    pruned = JournalPlace(epochs.of(number), transaction, number)
    if pruned > place:
        raise PrunedError(
            f"since: found '{place}', after which events are kept no more, allowed: '{pruned}' or "
            "later, or None, from the first that is kept"
        )


def place_of(name: str, cursor: str) -> JournalPlace:
    """The place that a cursor names. Raises MessageError, which calls it `name`."""
    match = CURSOR.fullmatch(str(cursor))
    place = JournalPlace(*(int(part or 0) for part in match.groups())) if match else None
    if place is None or place.transaction > MAX_TRANSACTION or place.number > MAX_NUMBER:
        raise MessageError(
            f"{name}: found {repr_of(cursor)}, allowed: the cursor of an event, or None"
        )
    return place
