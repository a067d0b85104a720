"""Find in the journal what happened to a message or a group, within the time that a page has.

A message that is known by its id is looked for from when it was sent; any other one from the latest
event backward. What was not reached in time is the next page's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from fairlead.console.timeline import SETTLED
from fairlead.store.journal.events import Event, EventChoice
from fairlead.store.journal.pages import EventPage
from fairlead.store.store import Store

LOOK: Final = 10_000
"""So many events are looked at by one statement."""
SECONDS: Final = 0.1
"""After which no further statement begins."""
NEAR: Final = 2_000
"""So many events before that of its sending, a message's decision is looked for."""
MOST: Final = 100
"""Events of one page."""


class History(NamedTuple):
    """What has happened to a message."""

    events: list[Event]
    """In their order."""
    group: str
    """The message's group; "" where it has none, or it is not known."""
    earlier: str | None
    """Before which cursor more can be looked for; None: there is nothing more."""
    later: str | None
    """After which cursor more can be looked for; None: there is nothing more."""
    looked_to: float | None
    """The time of the last event that was looked at, in seconds since 1970; None: that of the last
    one here, or all was looked at."""


def of_message(
    store: Store,
    queue: str,
    id_: str,
    *,
    group: str = "",
    earlier: str | None = None,
    later: str | None = None,
) -> History:
    """What happened to a message of a queue, and to its group.

    `group`, and one of `earlier`, `later`: as the page before found them. Raises MessageError.
    """
    ends = time.monotonic() + SECONDS
    sent_at = store.sent_at(queue, id_)
    if earlier is None and (later is not None or sent_at is not None):
        return _forward(store, queue, id_, group, later, sent_at, ends)
    return _backward(store, queue, id_, group, earlier, ends)


def _forward(
    store: Store,
    queue: str,
    id_: str,
    group: str,
    later: str | None,
    sent_at: float | None,
    ends: float,
) -> History:
    """From when it was sent, or goes on, until it is settled."""
    start = None if later is not None else sent_at
    first: list[Event] = []
    if not group:
        page = _read(
            lambda cursor: store.journal_ahead(cursor, 1, LOOK, id=id_, queue=queue, start=start),
            later,
            bool,
            ends,
        )
        if not page.events:
            return History([], group, None, page.cursor, page.looked_to)
        first, later = page.events, page.events[0].cursor
        group = page.events[0].group
    page = _read(
        lambda cursor: store.journal_ahead(cursor, MOST, LOOK, queue=queue, **_these(id_, group)),
        later,
        lambda events: (
            any(event.id == id_ and event.kind in SETTLED for event in events)
            or len(events) >= MOST
        ),
        ends,
    )
    events = _with_choice(store, id_, [*first, *page.events])
    return History(events, group, None, page.cursor, page.looked_to)


def _backward(
    store: Store, queue: str, id_: str, group: str, earlier: str | None, ends: float
) -> History:
    """From the latest event, or where that goes on, back to where it was sent."""
    if not group:
        page = _read(
            lambda cursor: store.journal_back(cursor, 1, LOOK, id=id_, queue=queue),
            earlier,
            bool,
            ends,
        )
        if not page.events:
            return History([], "", page.cursor, None, page.looked_to)
        group = page.events[0].group
    page = _read(
        lambda cursor: store.journal_back(cursor, MOST, LOOK, queue=queue, **_these(id_, group)),
        earlier,
        lambda events: (
            any(event.id == id_ and event.kind == "sent" for event in events) or len(events) >= MOST
        ),
        ends,
    )
    events = _with_choice(store, id_, page.events[::-1])
    return History(events, group, page.cursor, None, page.looked_to)


def _with_choice(store: Store, id_: str, events: list[Event]) -> list[Event]:
    """The same, and before them that a cluster chose the queue, which it wrote just before."""
    sent = next((event for event in events if event.id == id_ and event.kind == "sent"), None)
    if sent is None:
        return events
    page = store.journal_back(sent.cursor, 1, NEAR, id=id_, kind="decided")
    return [*page.events, *events]


def _these(id_: str, group: str) -> dict[str, str]:
    """Of a message with a group, all that happened to the group."""
    return {"group": group} if group else {"id": id_}


def of_group(store: Store, queue: str, group: str, before: str | None = None) -> History:
    """The latest that happened to a group of a queue, before a cursor. Raises MessageError."""
    page = matching(store, EventChoice(queue=queue, group=group), before)
    return History(page.events[::-1], group, page.cursor, None, page.looked_to)


def matching(store: Store, choice: EventChoice, before: str | None = None) -> EventPage:
    """The latest events of a choice, before a cursor, the latest first. Raises MessageError."""
    return _read(
        lambda cursor: store.journal_back(cursor, MOST, LOOK, **choice),
        before,
        lambda events: len(events) >= MOST,
        time.monotonic() + SECONDS,
    )


def _read(
    ask: Callable[[str | None], EventPage],
    cursor: str | None,
    enough: Callable[[Sequence[Event]], bool],
    ends: float,
) -> EventPage:
    """Pages from a cursor on, until there is enough, or no more time."""
    events: list[Event] = []
    while True:
        page = ask(cursor)
        events += page.events
        cursor = page.cursor
        if cursor is None or enough(events) or time.monotonic() >= ends:
            return EventPage(events, cursor, page.looked_to)
