"""The console as one ASGI program: who asks, which page answers, and what is said if it fails."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from fairlead.config.console import ConsoleFile
from fairlead.config.roles import Role
from fairlead.console.addresses import our_path, url
from fairlead.console.cookies import cookie_of, keep_cookie
from fairlead.console.health import is_lost
from fairlead.console.live import live
from fairlead.console.pages import MENU, ROUTES, STREAMS
from fairlead.console.refusals import TITLES, PageRefusal
from fairlead.console.state import ConsoleState
from fairlead.console.visit import Visit
from fairlead.errors import FairleadError, StaleViewError, StaleWorkError, UserError
from fairlead.store.store import Store

LOGGER: Final = logging.getLogger("fairlead.console")
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Console:
    """Answers requests, as ASGI has it."""

    def __init__(self, store: Store, file: ConsoleFile, folder: Path) -> None:
        """`folder`: from which the file's paths go. Raises ConfigError."""
        self.state: Final = ConsoleState(store, file, folder, MENU)
        self._routes = {(route.path, route.method): route for route in ROUTES}
        self._streams = {stream.path: stream for stream in STREAMS}
        self._paths = {route.path for route in ROUTES} | self._streams.keys()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        visit = Visit(self.state, request, None, None)
        try:
            visit = self._visit(request)
            response = await self._answer(visit)
        except PageRefusal as refusal:
            response = self._refused(visit, refusal.status, str(refusal))
            if refusal.closes:
                response.headers["Connection"] = "close"
        except UserError as error:
            response = self._refused(visit, _status(error), str(error))
        except FairleadError as error:
            response = self._refused(visit, 400, str(error))
        except Exception:
            LOGGER.exception("event=failed path=%r", request.url.path)
            response = self._refused(visit, 500, "It failed, and the log of the console says how")
        response.headers.update(HEADERS)
        if not request.url.path.startswith("/static/"):
            response.headers["Cache-Control"] = "no-store"
        if visit.session is not None and cookie_of(request) != visit.session.id:
            keep_cookie(response, request, visit.session)
        await response(scope, receive, send)

    def _visit(self, request: Request) -> Visit:
        """Who asks: whom the proxy names, or whose the cookie is."""
        peer = request.client.host if request.client else ""
        proxy = self.state.file.proxy
        if self.state.access.is_proxy(peer) and request.headers.get("x-forwarded-proto") == "https":
            request.scope["scheme"] = "https"  # the browser speaks TLS with the proxy
        session = self.state.sessions.find(cookie_of(request))
        if proxy is not None:
            name = self.state.access.named_by_proxy(peer, request.headers.getlist(proxy.header))
            if session is not None and session.by == "proxy" and session.name != name:
                self.state.sessions.end(session)
                session = None
            if name is not None and (session is None or session.by != "proxy"):
                session = self.state.sessions.begin(name, "proxy")
        role = None if session is None else self.state.access.role(session)
        if session is not None and role is None:
            if session.by == "proxy":
                raise PageRefusal(403, f"{session.name} is not let in here")
            self.state.sessions.end(session)
            session = None
        return Visit(self.state, request, session, role)

    async def _answer(self, visit: Visit) -> Response:
        request = visit.request
        path, method = request.url.path, request.method
        method = "GET" if method == "HEAD" else method
        stream = self._streams.get(path) if request.method == "GET" else None
        route = self._routes.get((path, method))
        if stream is None and route is None:
            if path in self._paths:
                raise PageRefusal(405, f"{method[:20]!r} is not how this page is asked")
            raise PageRefusal(404, "The address leads nowhere")
        needed = Role.VIEWER if route is None else route.role
        if needed is not None and visit.role is None:
            if stream is None and method == "GET":
                return RedirectResponse(url("/login", to=_path_of(request)), 303)
            raise PageRefusal(401, "Your session is over: log in again")
        if needed is not None and visit.role is not None and not visit.role.may(needed):
            raise PageRefusal(403, f"{visit.who} is a viewer: an operator may do this")
        if stream is not None:
            return live(visit, stream)
        assert route is not None  # noqa: S101 - said to mypy: one of both is there
        return await route.answer(visit)

    def _refused(self, visit: Visit, status: int, line: str) -> Response:
        shown: dict[str, object] = {"title": TITLES[status], "line": line, "back": _came(visit)}
        shown["again"] = status == 503 and visit.request.method == "GET"
        return visit.page("refused.html", status, **shown)


def _status(error: UserError) -> int:
    if isinstance(error, StaleWorkError | StaleViewError):
        return 409
    return 503 if is_lost(error) else 400


def _path_of(request: Request) -> str:
    """Where to go on after a login."""
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _came(visit: Visit) -> str:
    """The page of ours from which somebody has come; the first page where that is not known."""
    referer = urlsplit(visit.request.headers.get("referer", ""))
    if referer.netloc != visit.request.headers.get("host", ""):
        return "/"
    return our_path(f"{referer.path}?{referer.query}" if referer.query else referer.path)
