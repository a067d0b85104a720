"""Queues and groups by their names, or how these begin."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from fairlead.console.pages.overview import PATIENCE, store_overview
from fairlead.console.visit import Route, Visit
from fairlead.store.admin.looking import GroupNow
from fairlead.store.store import Store

QUEUES: Final = 100
"""Queues in which groups are looked for."""
OF_EACH: Final = 10


class FoundMessage(NamedTuple):
    """A message whose id is remembered, and to which queue it was sent."""

    queue: str
    sent: float
    """In seconds since 1970."""


class FoundGroup(NamedTuple):
    """A group, and where it waits."""

    queue: str
    group: GroupNow


async def _find(visit: Visit) -> Response:
    name = visit.query.get("name", "")
    overview = await visit.wait_for(store_overview, visit.state, PATIENCE) if name else None
    names = [] if overview is None else [queue.queue for queue in overview.value.queues]
    queues = [queue for queue in names if name.lower() in queue.lower()][:QUEUES]
    messages: list[FoundMessage] = []
    groups: list[FoundGroup] = []
    if name:
        messages = await visit.look(_messages, visit.store, names[:QUEUES], name)
        groups = await visit.look(_groups, visit.store, names[:QUEUES], name)
    shown = {"name": name, "queues": queues, "messages": messages, "groups": groups}
    return visit.page("find.html", **shown, all_queues=len(names) <= QUEUES)


def _messages(store: Store, queues: list[str], name: str) -> list[FoundMessage]:
    return [
        FoundMessage(queue, sent)
        for queue in queues
        if (sent := store.sent_at(queue, name)) is not None
    ]


def _groups(store: Store, queues: list[str], name: str) -> list[FoundGroup]:
    return [
        FoundGroup(queue, group)
        for queue in queues
        for group in store.groups_named(queue, name, OF_EACH)
    ]


ROUTES: Final = (Route("/find", _find),)
