"""What waits for its time: groups that were released, and messages that were sent, with a delay."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from fairlead.console.pages.queue_head import queue_head
from fairlead.console.visit import Route, Visit

MOST: Final = 100


async def _later(visit: Visit) -> Response:
    head = await queue_head(visit)
    every = await visit.look(visit.store.later, head.name, MOST + 1)
    cut = len(every) > MOST
    return visit.page("later.html", head=head, tab="later", later=every[:MOST], cut=cut, most=MOST)


ROUTES: Final = (Route("/queue/later", _later),)
