"""All queues, and what is wrong now, on one screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from fairlead.console.state import MenuItem
from fairlead.console.visit import Route, Stream, Visit
from fairlead.store.admin.queues import Metrics

COUNTS: Final = ("messages", "ready", "working", "parked", "delayed", "dead")


async def _overview(visit: Visit) -> Response:
    queues = await visit.look(visit.store.queues)
    return visit.page("overview.html", queues=queues, counts=COUNTS)


async def _numbers(visit: Visit) -> Mapping[str, str]:
    return _texts(await visit.look(visit.store.queues))


def _texts(queues: list[Metrics]) -> dict[str, str]:
    return {
        f"{key}:{queue.queue}": f"{getattr(queue, key):,}" for queue in queues for key in COUNTS
    }


ROUTES: Final = (Route("/", _overview),)
STREAMS: Final = (Stream("/live/overview", _numbers),)
MENU: Final = MenuItem("Overview", "/", "o")
