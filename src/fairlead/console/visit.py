"""One request: who asks, what a form says, and how the store is asked and a page is made."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, ParamSpec, TypeVar
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fairlead.config.roles import Role
from fairlead.console.jobs import ConsoleJob
from fairlead.console.refusals import PageRefusal
from fairlead.console.rendering import page_text
from fairlead.console.sessions import BrowserSession
from fairlead.console.state import ConsoleState
from fairlead.errors import UserError
from fairlead.store.database.acting import acting
from fairlead.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")
FORM: Final = 262_144
"""Bytes of a form."""
FIELDS: Final = 2500
FORM_SECONDS: Final = 10.0
"""In which a form has to come."""


class Visit:
    """What a page has of the request that it answers."""

    def __init__(
        self,
        state: ConsoleState,
        request: Request,
        session: BrowserSession | None,
        role: Role | None,
    ) -> None:
        """`session`, `role`: None where nobody is logged in, as on the page where one does that."""
        self.state: Final = state
        self.request: Final = request
        self.session = session
        self.role: Final = role

    @property
    def who(self) -> str:
        """The name of whoever is logged in; "" where nobody is."""
        return "" if self.session is None else self.session.name

    @property
    def may_operate(self) -> bool:
        """Whether he may change anything."""
        return self.role is Role.OPERATOR

    @property
    def sees_bodies(self) -> bool:
        """Whether he may see what messages say."""
        return self.may_operate or self.state.file.viewers_see_bodies

    @property
    def query(self) -> QueryParams:
        """What stands behind the `?`."""
        return self.request.query_params

    def asked(self, key: str) -> str:
        """A value of the query. Raises PageRefusal where there is none."""
        value = self.query.get(key, "")
        if not value:
            raise PageRefusal(400, f"{key}: found nothing, allowed: a value, in the page's address")
        return value

    def number(self, key: str, least: int, most: int, default: int) -> int:
        """A whole number of the query. Raises PageRefusal."""
        return whole_of(key, self.query.get(key) or str(default), least, most)

    # -------- the store

    @property
    def store(self) -> Store:
        """The store; a page asks it by `look` and `act` only."""
        return self.state.store

    async def look(self, call: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """What a verb that looks returns. Raises what it raises, StoreError and PageRefusal."""
        return await self._asked(self.state.looks, partial(call, *args, **more))

    async def wait_for(self, call: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """What a call returns that waits for something else than the database."""
        return await self.state.looks(partial(call, *args, **more))

    async def act(self, call: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """The same of a verb that changes something: the journal says that this user did it."""
        if not self.may_operate:
            raise PageRefusal(403, f"{self.who} is a viewer: an operator may do this")
        with acting(self.who):
            return await self._asked(self.state.acts, partial(call, *args, **more))

    async def _asked(
        self, calls: Callable[[Callable[[], T]], Awaitable[T]], call: Callable[[], T]
    ) -> T:
        try:
            result = await calls(call)
        except UserError as error:
            self.state.health.failed(error)
            raise
        self.state.health.answered()
        return result

    def begin(self, job: ConsoleJob, work: Callable[[ConsoleJob], str]) -> ConsoleJob:
        """Begin what goes on in the background, as this user. Raises PageRefusal."""
        if not self.may_operate:
            raise PageRefusal(403, f"{self.who} is a viewer: an operator may do this")
        with acting(self.who):
            return self.state.jobs.begin(job, work)

    # -------- forms

    async def form(self) -> Form:
        """What a form of ours says. Raises PageRefusal for any other one."""
        return await read_form(self.request, None if self.session is None else self.session.token)

    # -------- answers

    def page(self, template: str, status: int = 200, /, **shown: object) -> Response:
        """A page from its template, which extends `frame.html`, with what it shows."""
        notices = []
        if self.session is not None:
            while self.session.notices:
                notices.append(self.session.notices.popleft())
        text = page_text(
            template,
            {
                "menu": self.state.menu,
                "place": self.store.place,
                "health": self.state.health,
                "who": self.who,
                "role": self.role,
                "may_operate": self.may_operate,
                "sees_bodies": self.sees_bodies,
                "token": self.session.token if self.session else "",
                "path": self.request.url.path,
                "notices": notices,
                **shown,
            },
        )
        return HTMLResponse(text, status)

    def notice(self, text: str) -> None:
        """What the next page of this session says on its top."""
        if self.session is not None:
            self.session.notices.append(text)

    def back(self, to: str, notice: str = "") -> Response:
        """Go on to a page of ours, which says this on its top."""
        if notice:
            self.notice(notice)
        return RedirectResponse(to, 303)


class Form:
    """What a form says."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        """Its fields, in their order."""
        self._pairs = pairs

    def get(self, key: str, default: str = "") -> str:
        """The last value of a field, or the default."""
        return next((value for name, value in reversed(self._pairs) if name == key), default)

    def all(self, key: str) -> list[str]:
        """All values of a field."""
        return [value for name, value in self._pairs if name == key]

    def asked(self, key: str) -> str:
        """The value of a field. Raises PageRefusal where there is none."""
        value = self.get(key)
        if not value:
            raise PageRefusal(400, f"{key}: found nothing, allowed: a value")
        return value

    def number(self, key: str, least: int, most: int) -> int:
        """A whole number. Raises PageRefusal."""
        return whole_of(key, self.asked(key), least, most)

    @property
    def is_sure(self) -> bool:
        """Whether the page that asks sent it: without that nothing is deleted or taken back."""
        return self.get("sure") == "1"


class Route(NamedTuple):
    """A path, what answers there, and who may ask."""

    path: str
    answer: Callable[[Visit], Awaitable[Response]]
    method: str = "GET"
    role: Role | None = Role.VIEWER
    """None: anybody."""


class Stream(NamedTuple):
    """The numbers of a page that stays open."""

    path: str
    numbers: Callable[[Visit], Awaitable[Mapping[str, str]]]
    """Key → text; the page's elements with `data-n="key"` have it."""


def whole_of(key: str, text: str, least: int, most: int) -> int:
    """A whole number. Raises PageRefusal."""
    is_number = text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal()
    if not is_number or len(text) > 20 or not least <= int(text) <= most:
        raise PageRefusal(
            400, f"{key}: found {text[:50]!r}, allowed: a number from {least} to {most}"
        )
    return int(text)


async def read_form(request: Request, token: str | None) -> Form:
    """What a form says, which holds a token; None: any. Raises PageRefusal."""
    raw = await _body(request)
    check_same_site(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise PageRefusal(400, "The form came as no form of ours does")
    form = Form(_fields(raw))
    if token is not None and not hmac.compare_digest(form.get("token").encode(), token.encode()):
        raise PageRefusal(403, "The form is not of your session: load its page again")
    return form


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(FORM_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > FORM:
                    raise PageRefusal(413, f"A form has at most {FORM:,} bytes", closes=True)
    except TimeoutError:
        line = f"A form comes within {FORM_SECONDS:.0f} seconds"
        raise PageRefusal(400, line, closes=True) from None
    except ClientDisconnect:
        raise PageRefusal(400, "The form did not come to its end", closes=True) from None
    return bytes(body)


def _fields(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS
        )
    except UnicodeError:
        raise PageRefusal(400, "The form is not in UTF-8") from None
    except ValueError:
        raise PageRefusal(413, f"A form has at most {FIELDS:,} fields") from None


def check_same_site(request: Request) -> None:
    """Raises PageRefusal for what another site makes a browser ask."""
    fetched = request.headers.get("sec-fetch-site")
    if fetched is not None:  # where a browser says this, it knows; a proxy may change the host
        is_ours = fetched in {"same-origin", "none"}
    else:
        origin = request.headers.get("origin")
        is_ours = origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
    if not is_ours:
        raise PageRefusal(403, "This was asked by a page of another site")
