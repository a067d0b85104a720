"""The cookie by which a browser says whose session it has."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from fairlead.console.sessions import BrowserSession

NAME: Final = "fairlead-console"
SAFE_NAME: Final = f"__Host-{NAME}"
"""Under TLS: a browser takes it from this host alone."""


def cookie_of(request: Request) -> str:
    """The id of a session, as the browser says it; "" where it says none."""
    return request.cookies.get(_name(request), "")


def keep_cookie(response: Response, request: Request, session: BrowserSession) -> None:
    """Let the browser say from now on that it has this session."""
    response.set_cookie(
        _name(request),
        session.id,
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="strict",
    )


def forget_cookie(response: Response, request: Request) -> None:
    """Let the browser forget it."""
    response.delete_cookie(
        _name(request), path="/", secure=_is_secure(request), httponly=True, samesite="strict"
    )


def _name(request: Request) -> str:
    return SAFE_NAME if _is_secure(request) else NAME


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
