"""Log in, and out."""

from __future__ import annotations

from typing import Final

from starlette.responses import RedirectResponse, Response

from fairlead.config.roles import Role
from fairlead.console.addresses import our_path
from fairlead.console.cookies import forget_cookie, keep_cookie
from fairlead.console.refusals import PageRefusal
from fairlead.console.visit import Route, Visit, read_form

LONGEST: Final = 200
"""Characters of a name or a password that are looked at."""


async def _login_page(visit: Visit) -> Response:
    """Where one says who one is; whoever comes with the key of this start is let in at once."""
    to = our_path(visit.query.get("to", "/"))
    key = visit.query.get("key")
    if key is not None:
        return _by_key(visit, key, to)
    if visit.session is not None and visit.role is not None:
        return RedirectResponse(to, 303)
    return _asked(visit, to)


def _by_key(visit: Visit, key: str, to: str) -> Response:
    state = visit.state
    name = state.access.by_key(key)
    if name is None:
        raise PageRefusal(403, "The key is not that which `fairlead console` has printed")
    response = RedirectResponse(to, 303)
    keep_cookie(response, visit.request, state.begin(name, "key"))
    return response


def _asked(visit: Visit, to: str, wrong: str = "", name: str = "") -> Response:
    access = visit.state.access
    shown = {"to": to, "wrong": wrong, "name": name, "by_password": access.users is not None}
    return visit.page("login.html", 401 if wrong else 200, **shown, by_key=access.key is not None)


async def _log_in(visit: Visit) -> Response:
    form = await read_form(visit.request, None)
    state, request = visit.state, visit.request
    name, to = form.get("name")[:LONGEST], our_path(form.get("to") or "/")
    peer = request.client.host if request.client else ""
    if not await state.access.by_password(name, form.get("password"), peer):
        return _asked(visit, to, "Name and password do not belong together.", name)
    users = state.access.users
    if users is None or users.role(name) is None:
        wrong = (
            f"{name} has no role in the console: `fairlead users role FILE NAME viewer` gives one."
        )
        return _asked(visit, to, wrong, name)
    if visit.session is not None:
        state.sessions.end(visit.session)
    response = RedirectResponse(to, 303)
    keep_cookie(response, request, state.begin(name, "password"))
    return response


async def _log_out(visit: Visit) -> Response:
    await visit.form()
    session, state = visit.session, visit.state
    if session is not None:
        state.sessions.end(session)
        visit.session = None
    response = RedirectResponse("/login", 303)
    forget_cookie(response, visit.request)
    return response


ROUTES: Final = (
    Route("/login", _login_page, role=None),
    Route("/login", _log_in, "POST", role=None),
    Route("/logout", _log_out, "POST", Role.VIEWER),
)
