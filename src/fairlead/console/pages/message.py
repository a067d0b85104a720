"""A message, a group: what happened to it, where it is, and why it went before another one."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from fairlead.console import history
from fairlead.console.addresses import url
from fairlead.console.timeline import of_message, state_of, told
from fairlead.console.visit import Route, Visit
from fairlead.store.admin.looking import GroupNow
from fairlead.store.admin.waiting import Promotion
from fairlead.store.message import Message
from fairlead.store.store import Store

SHOWN: Final = 20
"""Messages of a group that are listed."""
ROOM: Final = 65_536
"""Bytes of bodies that are read for that."""


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
    off: str
    """What is switched off of its queue, so that it cannot be taken; "": nothing."""


def _group_now(store: Store, queue: str, name: str) -> GroupHead:
    now = store.group(queue, name)
    off = "its queue" if store.off(queue) else ""
    if now is not None and not off and now.tenant in store.off_tenants(queue):
        off = "its tenant"
    return GroupHead(
        now,
        store.promotion(queue, name, most=0),
        store.peek(queue, name, most=SHOWN, room=ROOM),
        off,
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
        off=group.off,
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


ROUTES: Final = (
    Route("/message", _message),
    Route("/group", _group),
    Route("/order", _order),
)
