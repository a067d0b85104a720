"""The numbers of pages that stay open, by server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fairlead.console.refusals import PageRefusal
from fairlead.console.visit import Stream, Visit
from fairlead.errors import UserError

PAUSE: Final = 2.0
"""Seconds between two looks, at least."""
SHARE: Final = 50
"""A stream looks at most for one part in so many of the time."""
QUIET: Final = 15.0
"""Seconds after which something is said in any case, so that proxies keep the way open."""
LASTS: Final = 3600.0
"""Seconds of one stream; the page then begins another."""
OF_ONE: Final = 20
"""Streams of one session."""
KEEP_QUIET: Final = b": nothing new\n\n"


def live(visit: Visit, stream: Stream) -> Response:
    """The answer that goes on. Raises PageRefusal where there are too many."""
    session, state = visit.session, visit.state
    if state.streams >= state.file.limits.streams or (session and session.streams >= OF_ONE):
        raise PageRefusal(503, "Too many pages are open: this one shows what it has loaded")
    return _LiveResponse(visit, stream)


class _LiveResponse(Response):
    """Sends the numbers, and from then on those that have changed."""

    media_type = "text/event-stream"

    def __init__(self, visit: Visit, stream: Stream) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._visit, self._stream = visit, stream
        self._shown: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = self._visit
        session = visit.session
        gone = asyncio.create_task(_gone(receive))
        visit.state.streams += 1
        if session:
            session.streams += 1
        try:
            await self._go_on(gone, send)
        finally:
            gone.cancel()
            visit.state.streams -= 1
            if session:
                session.streams -= 1

    async def _go_on(self, gone: asyncio.Task[None], send: Send) -> None:
        head: dict[str, Any] = {"status": 200, "headers": self.raw_headers}
        await send({"type": "http.response.start", **head})
        ends, latest = time.monotonic() + LASTS, 0.0
        while time.monotonic() < ends and self._goes_on():
            began = time.monotonic()
            news = await self._news()
            took = time.monotonic() - began
            if news or began - latest >= QUIET:
                text = f"data: {json.dumps(news)}\n\n".encode() if news else KEEP_QUIET
                await send({"type": "http.response.body", "body": text, "more_body": True})
                latest = began
            await asyncio.wait([gone], timeout=max(PAUSE, SHARE * took))
            if gone.done():
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _goes_on(self) -> bool:
        state, session = self._visit.state, self._visit.session
        if state.stops or session is None or state.sessions.find(session.id) is None:
            return False
        return state.access.role(session) is self._visit.role

    async def _news(self) -> dict[str, Any]:
        """What has changed: `set`, the new texts; `lost`, since when the database is lost."""
        health = self._visit.state.health
        try:
            numbers: Mapping[str, str] = await self._stream.numbers(self._visit)
        except (UserError, PageRefusal):
            numbers = {}  # the page says that the database is lost
        numbers = {"lost": _iso(health.lost_since), **numbers}
        changed = {key: text for key, text in numbers.items() if self._shown.get(key) != text}
        self._shown.update(changed)
        return {"set": changed} if changed else {}


def _iso(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


async def _gone(receive: Receive) -> None:
    """Until whoever asked has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
