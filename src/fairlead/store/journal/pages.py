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
    """The latest events before a cursor; None: of all.

    At most `look` events are looked at. Raises MessageError, StoreError.
    """
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
    last_looked = database.run("look_before", **values)
    if not last_looked:
        older = str(_end_of(place.epoch - 1)) if place.epoch else None
        return EventPage(events, older, None)
    ((transaction, number, time),) = last_looked
    in_epoch = epochs.of(number) == place.epoch
    if wanted.start is not None and in_epoch and time < wanted.start - LATE:
        return EventPage(events, None, None)
    cursor = str(JournalPlace(place.epoch, transaction, number))
    return EventPage(events, cursor, seconds(time))


def page_after(
    database: Database, since: str | None, most: int, look: int, wanted: EventFilter
) -> EventPage:
    """The first events after a cursor; None: of all.

    At most `look` events are looked at. Raises MessageError, StoreError.
    """
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
    last_looked = database.run("look_after", look=look, **values)
    end = JournalPlace(place.epoch, *last_looked[0][:2]) if last_looked else _end_of(place.epoch)
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
    if not last_looked:
        newer = place.epoch < epochs.current
        return EventPage(events, str(JournalPlace(place.epoch + 1, 0, 0)) if newer else None, None)
    time, in_epoch = last_looked[0][2], epochs.of(end.number) == place.epoch
    if wanted.end is not None and in_epoch and time >= wanted.end + LATE:
        return EventPage(events, None, None)
    return EventPage(events, str(end), seconds(time))


def _end_of(epoch: int) -> JournalPlace:
    """Behind all events of an epoch."""
    return JournalPlace(epoch, MAX_TRANSACTION, MAX_NUMBER)


class NumberedEvent(NamedTuple):
    """Where an event is, and when it was."""

    transaction: int
    number: int
    time: int
    """In microseconds since 1970."""


def _first_from(database: Database, epochs: Epochs, time: int) -> JournalPlace | None:
    """The place of the first event from a time on, by their numbers; None: there is none.

    A binary search, after growing steps have shown between which numbers.
    """
    first = _event_from(database, MIN_NUMBER)
    if first is None:
        return None
    if first.time >= time:
        return _place(epochs, first)
    # `low` is too early. Look further behind, until an event is late enough, or there is none.
    low, step = first.number, 1
    while (event := _event_from(database, low + step)) is not None and event.time < time:
        low, step = event.number, step * 2
    late, high = event, low + step
    while high - low > 1:
        middle = (low + high) // 2
        event = _event_from(database, middle)
        if event is not None and event.time < time:
            low = event.number
        else:
            late, high = event, middle
    return None if late is None else _place(epochs, late)


def _event_from(database: Database, number: int) -> NumberedEvent | None:
    """The first event of this number or a later one."""
    rows = database.run("place_of_number", number=number)
    return NumberedEvent._make(rows[0]) if rows else None


def _place(epochs: Epochs, event: NumberedEvent) -> JournalPlace:
    return JournalPlace(epochs.of(event.number), event.transaction, event.number)
