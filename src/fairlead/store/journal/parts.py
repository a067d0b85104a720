"""Parts of the journal that are read side by side, and are one moment of it together."""

from __future__ import annotations

from typing import Final

from fairlead.store.database.port import Database
from fairlead.store.journal.epochs import Epochs
from fairlead.store.journal.events import (
    START,
    Event,
    JournalPlace,
    events,
    latest_place,
    place_of,
)

SMALLEST: Final = 1000
"""Fewer numbers are not worth a part."""

JournalPart = tuple[str | None, str]
"""The cursor after which it begins (None: with the first event that is kept), and its last one."""


def parts(database: Database, most: int, since: str | None, until: str | None) -> list[JournalPart]:
    """The journal in parts of about one size, in its order.

    What is up to the latest event that can be read now never changes: so the parts need no
    transaction that all their readers share, and no reader holds anything up. A message and its
    copies are in one part. Raises MessageError, PrunedError and StoreError as `events` does.
    """
    epochs = Epochs(database)
    first = START if since is None else place_of("since", since)
    last = latest_place(database, epochs)
    if last is not None and until is not None:
        last = min(last, place_of("until", until))
    if last is None or last <= first:
        return []
    lowest = _number_after(database, first.number)
    size = max(-(-(last.number - lowest) // most), SMALLEST)
    cuts = {
        JournalPlace(epochs.of(number), transaction, number)
        for wanted in range(lowest + size, last.number, size)
        for transaction, number, _ in database.run("place_of_number", number=wanted)
    }
    inside = sorted(cut for cut in cuts if first < cut < last)
    ends = dict.fromkeys(_end_of_message(database, cut, last) for cut in inside)
    cursors = [*(end for end in ends if end != str(last)), str(last)]
    return list(zip([since, *cursors], cursors, strict=False))


def _number_after(database: Database, number: int) -> int:
    rows = database.run("place_of_number", number=number + 1)
    return int(rows[0][1]) if rows else number


def _end_of_message(database: Database, cut: JournalPlace, last: JournalPlace) -> str:
    """The cursor of an event, or of the last one beside it that decided about the same message."""
    before = cut._replace(number=cut.number - 1)
    following = events(database, str(before), until=str(last))
    end = next(following)
    for event in following:
        if _message(event) is None or _message(event) != _message(end):
            break
        end = event
    return end.cursor


def _message(event: Event) -> tuple[object, ...] | None:
    """Which message an event decided about; None: it decided nothing."""
    if event.kind != "decided":
        return None
    return event.cluster, event.stream, event.sequence
