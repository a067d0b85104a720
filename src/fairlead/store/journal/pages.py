"""A page of the journal, forward or backward, for which only so many events are looked at.

Where few events are wanted of many, a page may have none: its cursor says where the next one goes
on. A time is found by its number: events are numbered as they are written, and most are written
within LATE of their time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.balance.times import MICROS, seconds
from fairlead.store.database.port import Database
from fairlead.store.journal.epochs import MAX_NUMBER, MIN_NUMBER, Epochs
from fairlead.store.journal.events import (
    MAX_TRANSACTION,
    START,
    Event,
    EventFilter,
    JournalPlace,
    check_restored,
    event_of,
    place_of,
)

LATE: Final = 60 * MICROS
"""So long after its time, in microseconds, an event may be written: a transaction was open."""


class EventPage(NamedTuple):
    """Some of the events of a journal, and where the next page goes on."""

    events: list[Event]
    """Those that are wanted."""
    cursor: str | None
    """Where the next page goes on; None: there is nothing more to look at."""
    looked_to: float | None
    """The time of the last event that was looked at, in seconds since 1970; None: it is that of the
    last event here, or all was looked at."""


def page_before(
    database: Database, before: str | None, most: int, look: int, wanted: EventFilter
) -> EventPage:
    """The latest events before a cursor; None: of all. Raises MessageError, StoreError."""
    epochs = Epochs(database)
    check_restored(database, epochs, START)
    if before is not None:
        place = place_of("before", before)
    elif wanted.end is not None:
        place = _first_from(database, epochs, wanted.end + LATE) or _end_of(epochs.current)
    else:
        place = _end_of(epochs.current)
    values = {
        "transaction": str(place.transaction),
        "before": place.number,
        "look": look,
        **epochs.bounds(place.epoch),
    }
    rows = database.run("journal_before", most=most, **values, **wanted._asdict())
    events = [event_of(row, JournalPlace(place.epoch, row[1], row[0])) for row in rows]
    if len(events) == most:
        return EventPage(events, events[-1].cursor, None)
    last = database.run("look_before", **values)
    if not last:
        older = str(_end_of(place.epoch - 1)) if place.epoch else None
        return EventPage(events, older, None)
    ((transaction, number, time),) = last
    in_epoch = epochs.of(number) == place.epoch
    if wanted.start is not None and in_epoch and time < wanted.start - LATE:
        return EventPage(events, None, None)
    cursor = str(JournalPlace(place.epoch, transaction, number))
    return EventPage(events, cursor, seconds(time))


def page_after(
    database: Database, since: str | None, most: int, look: int, wanted: EventFilter
) -> EventPage:
    """The first events after a cursor; None: of all. Raises MessageError, StoreError."""
    epochs = Epochs(database)
    place = START
    if since is not None:
        place = place_of("since", since)
    check_restored(database, epochs, place)
    if since is None and wanted.start is not None:
        first = _first_from(database, epochs, wanted.start - LATE)
        if first is None:
            return EventPage([], None, None)
        place = first._replace(number=first.number - 1)
    values = {
        "transaction": str(place.transaction),
        "after": place.number,
        **epochs.bounds(place.epoch),
    }
    last = database.run("look_after", look=look, **values)
    end = JournalPlace(place.epoch, *last[0][:2]) if last else _end_of(place.epoch)
    rows = database.run(
        "journal",
        most=most,
        last_transaction=str(end.transaction),
        last=end.number,
        **values,
        **wanted._asdict(),
    )
    events = [event_of(row, JournalPlace(place.epoch, row[1], row[0])) for row in rows]
    if len(events) == most:
        return EventPage(events, events[-1].cursor, None)
    if not last:
        newer = place.epoch < epochs.current
        return EventPage(events, str(JournalPlace(place.epoch + 1, 0, 0)) if newer else None, None)
    time, in_epoch = last[0][2], epochs.of(end.number) == place.epoch
    if wanted.end is not None and in_epoch and time >= wanted.end + LATE:
        return EventPage(events, None, None)
    return EventPage(events, str(end), seconds(time))


def _end_of(epoch: int) -> JournalPlace:
    """Behind all events of an epoch."""
    return JournalPlace(epoch, MAX_TRANSACTION, MAX_NUMBER)


def _first_from(database: Database, epochs: Epochs, time: int) -> JournalPlace | None:
    """The place of the first event from a time on, by their numbers; None: there is none."""
    first = database.run("place_of_number", number=MIN_NUMBER)
    if not first:
        return None
    low, step = first[0][1], 1
    if first[0][2] >= time:
        return _place(epochs, first[0][0], low)
    # the event at `low` is earlier; a number behind it, at which one is not, or none is
    while (rows := database.run("place_of_number", number=low + step)) and rows[0][2] < time:
        low, step = rows[0][1], step * 2
    place = None if not rows else _place(epochs, *rows[0][:2])
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        rows = database.run("place_of_number", number=middle)
        if rows and rows[0][2] < time:
            low = rows[0][1]
        else:
            high = middle
            place = None if not rows else _place(epochs, *rows[0][:2])
    return place


def _place(epochs: Epochs, transaction: int, number: int) -> JournalPlace:
    return JournalPlace(epochs.of(number), transaction, number)
