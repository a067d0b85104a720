"""A connection of AMQP 1.0 that we open, on an event loop: one link, on which we send.

Each wait has a bound: to connect and log in, to have a link answered, and to have a message
settled. A peer that says nothing for as long as `Settings.idle` is taken to be gone.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from fairlead.serve.sasl_client import LoginRefusedError, SaslClient
from fairlead.serve.wire import dialing
from fairlead.serve.wire.connection import Connection
from fairlead.serve.wire.engine_links import Settings
from fairlead.serve.wire.events import (
    Answered,
    Closed,
    Condition,
    Detached,
    Disposed,
    Event,
    Flowed,
    Link,
    Opened,
    Outcome,
)

CONNECT: Final = 10.0
"""Seconds in which a connection is to be made, and who we are to be known."""
ANSWER: Final = 10.0
"""Seconds in which a peer is to answer a link."""
BYE: Final = 2.0
"""Seconds for which a closed connection waits for the peer."""
RECEIVE: Final = 65_536
NOTHING: Final[Mapping[str, object]] = {}


class PeerError(Exception):
    """The peer cannot be reached, does not let us in, or has ended what we had with it."""


class LinkRefusedError(PeerError):
    """The peer has ended a link, or refused it, and said why."""

    def __init__(self, condition: Condition) -> None:
        super().__init__(condition.description or condition.name)
        self.condition = condition


class PeerAddress(Struct, frozen=True):
    """Where a peer is, and who we are there."""

    host: str
    port: int
    secure: ssl.SSLContext | None = None
    """None: without TLS."""
    user: str = ""
    password: str = ""
    certified: bool = False
    """Whether our certificate says who we are."""

    def __repr__(self) -> str:
        return f"PeerAddress({self.host}:{self.port})"


class Initiator:
    """One connection that we have opened. For one task; `close` ends it."""

    def __init__(self, remote: PeerAddress, settings: Settings | None = None) -> None:
        """Nothing happens before `connect`."""
        self._remote = remote
        self._settings = settings or Settings()
        self._wire: Connection | None = None
        self._session: Any = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._came = asyncio.Event()
        self._over: PeerError | None = None
        self._opened: Opened | None = None
        self._answers: dict[int, Answered] = {}
        self._ended: dict[int, LinkRefusedError] = {}
        self._credit: dict[int, int] = {}
        self._outcomes: dict[int, Outcome] = {}

    # -------- the connection

    async def connect(
        self, hostname: str = "", properties: Mapping[str, object] = NOTHING
    ) -> Opened:
        """Connect, log in and open; what the peer says of itself. Raises PeerError."""
        try:
            async with asyncio.timeout(CONNECT):
                early = await self._enter()
                self._begin(early, hostname, properties)
                await self._until(lambda: self._opened is not None)
        except TimeoutError:
            self.abort()
            raise PeerError(f"found no answer in {CONNECT:g} s") from None
        except (OSError, ssl.SSLError, LoginRefusedError, asyncio.IncompleteReadError) as error:
            self.abort()
            raise PeerError(_reason(error)) from None
        except BaseException:
            self.abort()
            raise
        assert self._opened is not None  # noqa: S101
        return self._opened

    async def _enter(self) -> bytes:
        """Connect and say who we are; what came behind it of AMQP."""
        remote = self._remote
        self._reader, self._writer = await asyncio.open_connection(
            remote.host,
            remote.port,
            ssl=remote.secure,
            server_hostname=remote.host if remote.secure else None,
        )
        sasl = SaslClient(remote.user, remote.password, certified=remote.certified)
        self._writer.write(sasl.output())
        while True:
            data = await self._reader.read(RECEIVE)
            if not data:
                raise PeerError("found that it hung up before it let us in")
            early = sasl.feed(data)
            self._writer.write(sasl.output())
            if sasl.entered:
                return early

    def _begin(self, early: bytes, hostname: str, properties: Mapping[str, object]) -> None:
        self._wire = Connection(self._settings, initiates=True)
        self._wire.tick(time.monotonic())
        self._session = dialing.begin(self._wire, hostname, properties)
        if early:
            self._heard(self._wire.feed(early))
        self._flush()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        """Hear the peer, until it is gone, or silent for too long."""
        assert self._reader is not None  # noqa: S101
        while self._over is None and self._wire is not None:
            again = self._wire.tick(time.monotonic())
            self._flush()
            left = self._settings.idle if again is None else max(again - time.monotonic(), 0.01)
            try:
                async with asyncio.timeout(left):
                    data = await self._reader.read(RECEIVE)
            except TimeoutError:
                self._heard(self._wire.feed(b""))
                continue
            except (OSError, ssl.SSLError) as error:
                self._end(PeerError(_reason(error)))
                return
            self._heard(self._wire.feed(data) if data else self._wire.end_of_input())
            self._flush()
        self._came.set()

    def _heard(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Opened):
                self._opened = event
            elif isinstance(event, Answered):
                self._answers[event.link.number] = event
            elif isinstance(event, Flowed):
                self._credit[event.link.number] = event.credit
            elif isinstance(event, Disposed):
                self._outcomes[event.delivery] = event.outcome
                if self._wire is not None and not event.settled:
                    self._wire.settle(event.delivery, Outcome(0))
            elif isinstance(event, Detached):
                what = "ended the link" if event.orderly else "hung up"
                condition = event.condition or Condition("", f"found that it has {what}")
                self._ended[event.link.number] = LinkRefusedError(condition)
            elif isinstance(event, Closed):
                why = event.condition and (event.condition.description or event.condition.name)
                self._end(PeerError(why or "found that it has ended the connection"))
        if events:
            self._came.set()

    def _end(self, error: PeerError) -> None:
        self._over = self._over or error
        self._came.set()

    async def _until(self, is_so: Any) -> None:  # noqa: ANN401 - a function
        """Wait until something is so; the caller has set a bound. Raises PeerError."""
        while not is_so():
            if self._over is not None:
                raise self._over
            self._came.clear()
            await self._came.wait()

    def _flush(self) -> None:
        if self._wire is not None and self._writer is not None and (data := self._wire.output()):
            self._writer.write(data)

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What TLS found of the peer's certificate; nothing without TLS."""
        certificate = None if self._writer is None else self._writer.get_extra_info("peercert")
        return certificate or {}

    @property
    def over(self) -> bool:
        """Whether the connection has ended."""
        return self._over is not None

    def abort(self) -> None:
        """Let go of the peer at once."""
        self._end(PeerError("found that we have ended the connection"))
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.transport.abort()
        if self._wire is not None:
            self._wire.free()
            self._wire = None

    async def close(self) -> None:
        """Say goodbye, and let go."""
        if self._wire is not None and self._over is None:
            self._wire.close()
            self._flush()
            with suppress(PeerError, TimeoutError):
                async with asyncio.timeout(BYE):
                    await self._until(lambda: self._over is not None)
        self.abort()

    # -------- links

    async def sender(self, name: str, target: str, properties: Mapping[str, object]) -> Answered:
        """Attach a link on which we send. Raises LinkRefusedError, PeerError."""
        if self._wire is None or self._over is not None:
            raise self._over or PeerError("found no connection")
        link = dialing.sender(self._wire, self._session, name, target, properties)
        self._flush()
        number = link.number
        try:
            async with asyncio.timeout(ANSWER):
                await self._until(lambda: number in self._ended or self._is_there(number))
        except TimeoutError:
            raise PeerError(f"found no answer to a link in {ANSWER:g} s") from None
        if number in self._ended:
            raise self._ended.pop(number)
        return self._answers[number]

    def _is_there(self, number: int) -> bool:
        """Whether a link is open; one that is refused is answered first, and ends then."""
        answer = self._answers.get(number)
        return answer is not None and answer.link.open

    async def send(self, link: Link, sections: bytes, seconds: float) -> Outcome:
        """Send a message, and wait for its outcome. Raises PeerError, TimeoutError."""
        delivery = await self.begin_send(link, sections, seconds)
        return await self.outcome(link, delivery, seconds)

    async def begin_send(self, link: Link, sections: bytes, seconds: float) -> int:
        """Send a message as soon as the peer takes one; by which number it is settled."""
        async with asyncio.timeout(seconds):
            await self._until(lambda: self._credit.get(link.number, 0) > 0 or self._has_ended(link))
        if self._wire is None or self._has_ended(link):
            raise self._ended.get(link.number) or self._over or PeerError("found no connection")
        self._credit[link.number] -= 1
        delivery = self._wire.send(link, sections, settled=False)
        self._flush()
        return delivery

    async def outcome(self, link: Link, delivery: int, seconds: float) -> Outcome:
        """What became of a message that was sent. Raises PeerError, TimeoutError."""
        async with asyncio.timeout(seconds):
            await self._until(lambda: delivery in self._outcomes or self._has_ended(link))
        self._flush()
        if delivery not in self._outcomes:
            raise self._ended.get(link.number) or PeerError("found that it has ended the link")
        return self._outcomes.pop(delivery)

    def _has_ended(self, link: Link) -> bool:
        return link.number in self._ended

    async def until_ended(self) -> None:
        """Wait until the peer has ended the connection, or a link. Raises PeerError."""
        await self._until(lambda: bool(self._ended))
        raise next(iter(self._ended.values()))


def _reason(error: Exception) -> str:
    """Why, in one line."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"found a certificate that is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.errno:
        return f"found {os.strerror(error.errno) if error.errno > 0 else error.strerror}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
