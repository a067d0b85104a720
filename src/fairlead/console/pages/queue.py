"""The groups of a queue in the order in which they will go; and its switch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console.addresses import url
from fairlead.console.pages.queue_head import queue_head, queue_numbers
from fairlead.console.refusals import stale
from fairlead.console.visit import Form, Route, Stream, Visit
from fairlead.store.admin.looking import RankedGroup

PAGE: Final = 50
TIMES: Final = re.compile(r": [\d-]+ [\d:.]+ UTC < [\d-]+ [\d:.]+ UTC$")
"""Two times that are compared, at the end of a reason."""


async def _queue(visit: Visit) -> Response:
    head = await queue_head(visit)
    begins, after = visit.query.get("begins", ""), visit.query.get("after", "")
    shown: dict[str, Any] = {"head": head, "tab": "groups", "begins": begins}
    if begins:
        named = await visit.look(
            visit.store.groups_named, head.name, begins, PAGE + 1, visit.query.get("behind", "")
        )
        behind = named[PAGE - 1].group if len(named) > PAGE else ""
        return visit.page("named.html", **shown, named=named[:PAGE], behind=behind)
    tenant = visit.query.get("tenant")
    page = await visit.look(visit.store.groups, head.name, PAGE, after, tenant=tenant)
    shown |= {"page": page, "whys": whys(page.groups), "tenant": tenant, "after": after}
    return visit.page("queue.html", **shown)


def whys(groups: Sequence[RankedGroup]) -> list[str]:
    """Why each goes before the next one, without the names and times that stand beside it."""
    names = [group.standing.name for group in groups]
    return [
        TIMES.sub("", group.why.removeprefix(f"{names[k]} before {names[k + 1]}: "))
        if k + 1 < len(groups)
        else TIMES.sub("", group.why)
        for k, group in enumerate(groups)
    ]


async def _switch(visit: Visit) -> Response:
    form = await visit.form()
    name, tenant, on = form.asked("name"), form.get("tenant") or None, form.asked("on") == "1"
    reason = form.get("reason")
    changed = await visit.act(visit.store.switch, name, on=on, reason=reason, tenant=tenant)
    visit.state.recount(name)
    what = f"Tenant {tenant} of {name}" if tenant else name
    if not changed:
        off = await visit.look(visit.store.off, name, tenant)
        raise stale(f"{what} is {off or 'on'} already")
    return visit.back(_back(form, name), f"{what} is {'on' if on else 'off'} now.")


def _back(form: Form, name: str) -> str:
    return url("/queue/tenants" if form.get("tenant") else "/queue", name=name)


ROUTES: Final = (
    Route("/queue", _queue),
    Route("/switch", _switch, "POST", Role.OPERATOR),
)
STREAMS: Final = (Stream("/live/queue", queue_numbers),)
