"""A service that speaks HTTP: it gets a request for each message, over kept connections."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Generator
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx
from msgspec import UNSET

from fairlead.balance.outside import ForwardKeys, OutsideAddress
from fairlead.errors import ConfigError, SocketError
from fairlead.forward.outcome import AGAIN, DONE, REASON, ForwardOutcome, answer_of, outcome_of
from fairlead.forward.request import content, headers
from fairlead.forward.service import Dispatch, secret_in, stamp
from fairlead.forward.target import OutsideTarget
from fairlead.sockets.tls import authority, show
from fairlead.store.queues.bodies import MAX_BODY

REDIRECTS: Final = 5
"""So many, one after another, are followed at the same service."""
SAME_METHOD: Final = (307, 308)
IDLE: Final = 2.0
"""Seconds for which a connection is kept that nothing is sent on: less than services keep it."""
CLOSING: Final = 5.0
"""Seconds, at most, until connections are closed."""
AGENT: Final = "fairlead"
BROKEN: Final = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
"""What is raised where there was no whole answer."""


class HttpService:
    """A service, with its connections. Of one event loop."""

    def __init__(self, target: OutsideTarget) -> None:
        """Opens no connection yet. Raises ConfigError for files that cannot be used."""
        self.target = target
        self.stamp = stamp(target.keys)
        self._wants_answers = target.keys.reply_to is not UNSET
        self._client = httpx.AsyncClient(
            auth=_login(target.keys),
            verify=_context(target.keys, secure=target.address.scheme == "https"),
            limits=httpx.Limits(keepalive_expiry=IDLE),  # its lane sees to how many there are
            timeout=httpx.Timeout(target.timeout),
            headers={"User-Agent": AGENT},
        )

    async def send(self, dispatch: Dispatch) -> ForwardOutcome:
        """Send a message, and say what became of it; never raises what the service did."""
        media, body = content(dispatch.message)
        fields = [*headers(*dispatch), ("Content-Type", media)]
        return await self._bounded("POST", self.target.address.text, fields, body)

    async def probe(self, path: str) -> ForwardOutcome | None:
        """Ask a path of the service whether it is well."""
        return await self._bounded("GET", f"{self.target.address.origin}{path}", [], b"")

    async def close(self) -> None:
        """Close its connections."""
        try:
            async with asyncio.timeout(CLOSING):
                await self._client.aclose()
        except (TimeoutError, *BROKEN):
            pass  # the system closes them with the process

    async def _bounded(
        self, method: str, url: str, fields: list[tuple[str, str]], body: bytes
    ) -> ForwardOutcome:
        try:
            async with asyncio.timeout(self.target.timeout):
                return await self._asked(method, url, fields, body)
        except (TimeoutError, httpx.TimeoutException):
            return ForwardOutcome(AGAIN, f"found no whole answer within {self.target.timeout:g} s")
        except BROKEN as error:
            return ForwardOutcome(AGAIN, f"{type(error).__name__}: {error}")

    async def _asked(
        self, method: str, url: str, fields: list[tuple[str, str]], body: bytes
    ) -> ForwardOutcome:
        for _ in range(REDIRECTS + 1):
            request = self._client.build_request(method, url, headers=fields, content=body)
            response = await self._client.send(request, stream=True)
            try:
                if not 300 <= response.status_code < 400:
                    return await self._outcome(response)
            finally:
                await response.aclose()
            next_url = urljoin(url, response.headers.get("location", ""))
            if response.status_code not in SAME_METHOD or not _is_same(url, next_url):
                return ForwardOutcome(
                    AGAIN,
                    f"found a redirect ({response.status_code}) to {_place(next_url)}, allowed: "
                    "307 or 308 to the same scheme, host and port",
                )
            url = next_url
        return ForwardOutcome(AGAIN, f"found more than {REDIRECTS} redirects")

    async def _outcome(self, response: httpx.Response) -> ForwardOutcome:
        done = 200 <= response.status_code < 300
        body, whole = await _read(response, MAX_BODY if done else REASON)
        outcome = outcome_of(
            response.status_code, response.headers, b"" if done else body, datetime.now(UTC)
        )
        if outcome.kind != DONE or not self._wants_answers:
            return outcome
        if not whole:
            return ForwardOutcome(AGAIN, f"found an answer of more than {MAX_BODY} bytes")
        answer = answer_of(body, response.headers.get("content-type", ""))
        return outcome._replace(answer=answer)


async def _read(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    """So many bytes of an answer at most, and whether that is all of it."""
    parts, size = [], 0
    chunks: AsyncIterator[bytes] = response.aiter_bytes()
    async for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > most:
            return b"".join(parts)[:most], False
    return b"".join(parts), True


def _is_same(url: str, other: str) -> bool:
    return _place(url) == _place(other)


def _place(url: str) -> str:
    """The scheme, host and port of a URL; no more of it is shown."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return "what is no URL"
    return OutsideAddress(parts.scheme, parts.hostname or "", port, "", "").origin


def _login(keys: ForwardKeys) -> httpx.Auth | None:
    if keys.password_file is not UNSET and keys.user is not UNSET:
        return httpx.BasicAuth(keys.user, secret_in(keys.password_file))
    if keys.token_file is not UNSET:
        return _Bearer(secret_in(keys.token_file))
    return None


class _Bearer(httpx.Auth):
    """Says a token with each request."""

    def __init__(self, token: str) -> None:
        self._said = f"Bearer {token}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = self._said
        yield request


def _context(keys: ForwardKeys, *, secure: bool) -> ssl.SSLContext | bool:
    """Whom we trust, and what we show."""
    if not secure:
        return True
    try:
        context = httpx.create_ssl_context() if keys.ca is UNSET else authority(keys.ca)
        if keys.certificate is UNSET:
            return context
        return show(context, keys.certificate, None if keys.key is UNSET else keys.key)
    except SocketError as error:
        raise ConfigError(str(error)) from None
