"""A message, a group, a dialog: what happened to it, where it is, and why before another one."""

from __future__ import annotations

import heapq
from typing import Final, NamedTuple

from starlette.responses import Response

from fairlead.console import history
from fairlead.console.addresses import url
from fairlead.console.timeline import Moment, of_message, state_of, told
from fairlead.console.visit import Route, Visit
from fairlead.errors import MessageError
from fairlead.store.admin.dialogs import DialogEnd, EndWaits, OpenDialog
from fairlead.store.admin.looking import GroupNow
from fairlead.store.admin.waiting import Promotion
from fairlead.store.journal.events import Event, EventChoice
from fairlead.store.message import Message
from fairlead.store.queues.endpoints import DIALOG
from fairlead.store.store import Store

SHOWN: Final = 20
"""Messages of a group that are listed."""
ROOM: Final = 65_536
"""Bytes of bodies that are read for that."""
OF_AN_END: Final = 100
"""Events of each end of a dialog that are shown."""


async def _message(visit: Visit) -> Response:
    queue, id_ = visit.asked("queue"), visit.asked("id")
    query = visit.query
    past = await visit.look(
        history.of_message,
        visit.store,
        queue,
        id_,
        group=query.get("group", ""),
        earlier=query.get("earlier") or None,
        later=query.get("later") or None,
    )
    moments = of_message(past.events, id_)
    address = {"queue": queue, "id": id_, "group": past.group}
    return visit.page(
        "message.html",
        queue=queue,
        id=id_,
        group=past.group,
        moments=moments,
        state=state_of(moments),
        looked_to=past.looked_to,
        is_part="earlier" in query or "later" in query,
        earlier=past.earlier and url("/message", **address, earlier=past.earlier),
        later=past.later and url("/message", **address, later=past.later),
    )


class GroupHead(NamedTuple):
    """A group as it is now."""

    now: GroupNow | None
    """None: nothing of it waits, and nobody works on it."""
    promotion: Promotion | None
    """Where it stands; None: it is not there, or its queue is first come, first served."""
    messages: list[Message]
    """The first that it has."""


def _group_now(store: Store, queue: str, name: str) -> GroupHead:
    return GroupHead(
        store.group(queue, name),
        store.promotion(queue, name, most=0),
        store.peek(queue, name, most=SHOWN, room=ROOM),
    )


async def _group(visit: Visit) -> Response:
    queue, name = visit.asked("queue"), visit.asked("group")
    before = visit.query.get("before") or None
    group = await visit.look(_group_now, visit.store, queue, name)
    past = await visit.look(history.of_group, visit.store, queue, name, before)
    return visit.page(
        "group.html",
        queue=queue,
        name=name,
        group=group.now,
        promotion=group.promotion,
        messages=group.messages,
        more=len(group.messages) == SHOWN,
        moments=told(reversed(past.events)),
        looked_to=past.looked_to,
        before=before,
        earlier=past.earlier and url("/group", queue=queue, group=name, before=past.earlier),
    )


async def _order(visit: Visit) -> Response:
    """Why one group was taken before another one."""
    names = queue, first, second = [visit.asked(key) for key in ("queue", "first", "second")]
    explanation = await visit.look(visit.store.explain_order, *names)
    return visit.page(
        "order.html",
        queue=queue,
        first=first,
        second=second,
        explanation=explanation,
        groups=(explanation.first, explanation.second),
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


ROUTES: Final = (
    Route("/message", _message),
    Route("/group", _group),
    Route("/order", _order),
    Route("/dialog", _dialog),
)
