"""What readers hold, by whom and until when; and what is taken back from them."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console.addresses import url
from fairlead.console.pages.queue_head import queue_head
from fairlead.console.refusals import stale
from fairlead.console.visit import Route, Visit
from fairlead.store.arguments import MAX_NUMBER
from fairlead.text import plural

MOST: Final = 200
MAX_LOOKED: Final = 10_000
"""Groups among which one is looked for that somebody holds."""


async def _held(visit: Visit) -> Response:
    head = await queue_head(visit)
    held = await visit.look(visit.store.held, head.name, MOST + 1)
    cut = len(held) > MOST
    return visit.page("held.html", head=head, tab="held", held=held[:MOST], cut=cut, most=MOST)


async def _asked(visit: Visit) -> Response:
    """What it means to take something back, before it is done."""
    head = await queue_head(visit)
    token = visit.number("token", 1, MAX_NUMBER, 0)
    every = await visit.look(visit.store.held, head.name, MAX_LOOKED)
    held = [group for group in every if group.token == token]
    if not held:
        raise stale("Nobody holds this any more")
    return visit.page("take_back.html", head=head, held=held, token_held=token)


async def _take_back(visit: Visit) -> Response:
    form = await visit.form()
    queue, token = form.asked("name"), form.number("held", 1, MAX_NUMBER)
    if not form.is_sure:
        return visit.back(url("/take-back", name=queue, token=token))
    failed = form.get("failed") == "1"
    groups = await visit.act(visit.store.take_back, token, form.get("reason"), failed=failed)
    visit.state.recount(queue)
    if not groups:
        raise stale("Nobody holds this any more: it was settled, or taken back, meanwhile")
    done = f"{plural(groups, 'group')} taken back."
    return visit.back(url("/queue/held", name=queue), done)


ROUTES: Final = (
    Route("/queue/held", _held),
    Route("/take-back", _asked),
    Route("/take-back", _take_back, "POST", Role.OPERATOR),
)
