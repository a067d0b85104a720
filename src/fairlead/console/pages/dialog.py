"""Dialogs: those that are open, and one of them with both its ends."""

from __future__ import annotations

import heapq
from typing import Final, NamedTuple

from starlette.responses import Response

from fairlead.console import history
from fairlead.console.addresses import url
from fairlead.console.state import MenuItem
from fairlead.console.timeline import Moment, told
from fairlead.console.visit import Route, Visit
from fairlead.errors import MessageError
from fairlead.store.admin.dialogs import DialogEnd, EndWaits, OpenDialog
from fairlead.store.journal.events import Event, EventChoice
from fairlead.store.queues.endpoints import DIALOG
from fairlead.store.store import Store

PAGE: Final = 100
"""Dialogs of one page."""
SHOWN: Final = 20
"""Messages of an end that are listed."""
OF_AN_END: Final = 100
"""Events of each end of a dialog that are shown."""


async def _dialogs(visit: Visit) -> Response:
    service = visit.query.get("service", "").strip()
    before = visit.query.get("before") or None
    dialogs = await visit.look(
        visit.store.conversations, service or None, most=PAGE + 1, before=before
    )
    last = dialogs[PAGE - 1].dialog if len(dialogs) > PAGE else None
    return visit.page(
        "dialogs.html",
        dialogs=dialogs[:PAGE],
        service=service,
        before=before,
        earlier=last and url("/dialogs", service=service, before=last),
    )


class DialogHead(NamedTuple):
    """A dialog as it is now."""

    dialog: OpenDialog | None
    """None: it is open no more."""
    ends: list[tuple[DialogEnd, EndWaits | None]]
    moments: list[Moment]
    """The latest that happened at both ends, in their order."""


def _dialog_now(store: Store, name: str) -> DialogHead:
    try:
        dialog = store.dialog(name)
    except MessageError:
        places = _where_it_was(store, name)
        if not places:
            raise
        return DialogHead(None, [], told(_events(store, name, places)))
    waits = {wait.side: wait for wait in store.dialog_waits(name, SHOWN)}
    ends = [end for end in (dialog.initiator, dialog.target) if end is not None]
    events = _events(store, name, {(end.queue, end.group) for end in ends})
    return DialogHead(dialog, [(end, waits.get(end.side)) for end in ends], told(events))


def _where_it_was(store: Store, name: str) -> set[tuple[str, str]]:
    """Queues and groups of the ends of a dialog that is open no more, as the journal has them."""
    keys = [f"{name}/i", f"{name}/i/0", f"{name}/t/0"] if DIALOG.fullmatch(name) else []
    pages = [history.matching(store, EventChoice(id=key)) for key in keys]
    return {(event.queue, event.group) for page in pages for event in page.events if event.group}


def _events(store: Store, name: str, places: set[tuple[str, str]]) -> list[Event]:
    """What happened to a dialog in these groups, the latest of each, in their order."""
    histories = [
        history.of_group(store, queue, group).events[-OF_AN_END:] for queue, group in places
    ]
    events = heapq.merge(*histories, key=lambda event: event.position)
    return [event for event in events if not event.id or _is_of(name, event.id)]


def _is_of(dialog: str, id_: str) -> bool:
    """Whether a message, or an end, is one of a dialog: `d-17/i/0` and `d-17/i` are."""
    return id_.startswith(f"{dialog}/")


async def _dialog(visit: Visit) -> Response:
    name = visit.asked("name")
    dialog = await visit.look(_dialog_now, visit.store, name)
    return visit.page(
        "dialog.html", name=name, dialog=dialog.dialog, ends=dialog.ends, moments=dialog.moments
    )


ROUTES: Final = (Route("/dialogs", _dialogs), Route("/dialog", _dialog))
MENU: Final = MenuItem("Dialogs", "/dialogs", "d")
