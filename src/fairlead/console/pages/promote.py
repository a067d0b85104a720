"""Raise a group, or lower it: first whom that delays and by how much, then it is done."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console.addresses import url
from fairlead.console.pages.queue_head import queue_head
from fairlead.console.refusals import PageRefusal, stale
from fairlead.console.visit import Route, Visit, whole_of
from fairlead.errors import StaleViewError
from fairlead.order.agenda import HIGHEST, LOWEST
from fairlead.store.admin.looking import GroupNow
from fairlead.text import length

SHOWN: Final = 20
"""Groups that would be delayed that are shown."""


async def _promote(visit: Visit) -> Response:
    head = await queue_head(visit)
    group = visit.asked("group")
    now = await visit.look(visit.store.group, head.name, group)
    if now is None:
        raise stale(f"All that waited in group {group} of {head.name} is gone")
    note, delay, promotion = "", "", None
    priority = visit.query.get("priority", "")
    before = visit.query.get("before", "")
    if before:
        number, note = await _priority_before(visit, head.name, before)
        priority = "" if number is None else str(number)
    if priority:
        number = whole_of("priority", priority, LOWEST, HIGHEST)
        promotion = await visit.look(visit.store.promotion, head.name, group, number, SHOWN)
        if promotion is None:
            raise PageRefusal(400, f"{head.name} goes first come, first served: nothing is raised")
        per_minute = head.rates.per_minute(head.rates.went)
        delay = length(60 * now.messages / per_minute) if per_minute else ""
    shown = {"head": head, "one": now, "note": note, "delay": delay, "priority": priority}
    return visit.page("promote.html", **shown, promotion=promotion)


async def _priority_before(visit: Visit, queue: str, before: str) -> tuple[int | None, str]:
    """The lowest priority by which a group goes before another one, and what is said of that."""
    other = await visit.look(visit.store.group, queue, before)
    if other is None:
        raise stale(f"All that waited in group {before} of {queue} is gone")
    lowest = LOWEST if other.priority is None else other.priority + 1
    if lowest > HIGHEST:
        return None, f"{before} is at {HIGHEST}, the highest: nothing goes before it."
    return lowest, f"{lowest} is the lowest priority that is above that of {before}."


async def _raise(visit: Visit) -> Response:
    form = await visit.form()
    queue, group = form.asked("name"), form.asked("group")
    priority = form.number("priority", LOWEST, HIGHEST)
    seen = form.asked("seen")
    try:
        raised = await visit.act(visit.store.prioritise_seen, queue, group, priority, seen)
    except StaleViewError as error:
        now: GroupNow | None = await visit.look(visit.store.group, queue, group)
        how = "" if now is None else f" (priority {now.priority}, {now.state})"
        raise stale(f"{error}{how}") from None
    visit.state.recount(queue)
    if not raised:
        raise PageRefusal(400, f"{queue} goes first come, first served: nothing is raised")
    return visit.back(url("/queue", name=queue), f"{group} has priority {priority} now.")


ROUTES: Final = (
    Route("/promote", _promote),
    Route("/promote", _raise, "POST", Role.OPERATOR),
)
