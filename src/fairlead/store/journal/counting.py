"""How many events there were, minute by minute."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.store.database.port import Database
from fairlead.store.journal.epochs import Epochs
from fairlead.store.journal.events import JournalPlace, latest_place, place_of

MINUTE: Final = 60_000_000
"""Microseconds."""


class EventCount(NamedTuple):
    """Events of one kind in one queue and one minute."""

    queue: str
    kind: str
    minute: int
    """Minutes since 1970."""
    events: int


class EventCounts(NamedTuple):
    """A part of the journal, counted."""

    counts: list[EventCount]
    cursor: str | None
    """Of the last event of it; None: there was none yet."""
    more: bool
    """Whether there are more."""


def count_events(database: Database, since: str | None, most: int) -> EventCounts:
    """The events after a cursor, at most so many of them; of the running epoch alone."""
    epochs = Epochs(database)
    place = JournalPlace(epochs.current, 0, 0)
    if since is not None:
        place = max(place, place_of("since", since))
    rows = database.run(
        "count_events",
        transaction=place.transaction,
        after=place.number,
        most=most,
        **epochs.bounds(epochs.current),
    )
    if not rows:
        return EventCounts([], since, more=False)
    counts = [EventCount(*row[:4]) for row in rows]
    last = JournalPlace(epochs.current, *rows[0][4:6])
    return EventCounts(counts, str(last), more=sum(count.events for count in counts) == most)


def cursor_at(database: Database, time: int) -> str | None:
    """A cursor after which are the events from about a time on; None: all that are kept.

    `time`: microseconds. Events stand nearly in the order of their times, by which this is found.
    """
    epochs = Epochs(database)
    latest = latest_place(database, epochs)
    bounds = epochs.bounds(epochs.current)
    rows = database.run("place_of_number", number=bounds["first"])
    if latest is None or not rows or rows[0][2] >= time:
        return None
    low, high = int(rows[0][1]), latest.number + 1
    place = JournalPlace(epochs.current, *rows[0][:2])
    while low + 1 < high:  # what is at `low` is before the time, what is at `high` is not
        middle = (low + high) // 2
        found_rows = database.run("place_of_number", number=middle)
        if not found_rows or found_rows[0][1] >= high or found_rows[0][2] >= time:
            high = middle
        else:
            low = max(middle, int(found_rows[0][1]))
            place = JournalPlace(epochs.current, *found_rows[0][:2])
    return str(place)
