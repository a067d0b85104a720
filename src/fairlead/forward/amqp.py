"""A broker that speaks AMQP 1.0: messages go over one connection, and it settles each."""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

from msgspec import UNSET

from fairlead.balance.objects import on_one_line
from fairlead.balance.outside import ForwardKeys
from fairlead.config.serving import PORTS
from fairlead.errors import ConfigError, SocketError
from fairlead.forward.outcome import AGAIN, DONE, REASON, REFUSED, ForwardOutcome
from fairlead.forward.service import Dispatch, secret_in, stamp
from fairlead.forward.target import OutsideTarget
from fairlead.serve.initiator import Initiator, PeerAddress, PeerError
from fairlead.serve.message import DeliveryFacts, durable, outgoing
from fairlead.serve.wire.engine_links import Settings
from fairlead.serve.wire.events import ACCEPTED, MODIFIED, REJECTED, RELEASED, Link, Outcome
from fairlead.sockets.tls import authority, show

CONTAINER: Final = "fairlead-forward"
IDLE: Final = 30.0
"""Seconds without a word after which the broker is gone."""
CLOSING: Final = 5.0
"""Seconds, at most, until its connection is closed."""
SETTLED: Final = {RELEASED: "released", MODIFIED: "modified", 0: "settled without an outcome"}


class AmqpService:
    """A broker, with a connection and a link that are made when something is to be sent."""

    def __init__(self, target: OutsideTarget) -> None:
        """Connects to nobody yet. Raises ConfigError for files that cannot be used."""
        keys, address = target.keys, target.address
        for name in ("token_file", "reply_to"):
            if getattr(keys, name) is not UNSET:
                raise ConfigError(
                    f"destination {target.called}: forward.{name}: found it for "
                    f"{address.text!r}, where it has no effect, allowed: for http:// and https://"
                )
        self.target = target
        self.stamp = stamp(keys)
        self._queue = unquote(address.path[1:])
        if not self._queue:
            raise ConfigError(
                f"destination {target.called}: address: found {address.text!r}, allowed: "
                f"{address.scheme}://HOST[:PORT]/QUEUE"
            )
        secure = address.scheme == "amqps"
        self._peer = PeerAddress(
            address.host,
            address.port or PORTS[address.scheme],
            _context(keys) if secure else None,
            "" if keys.user is UNSET else keys.user,
            "" if keys.password_file is UNSET else secret_in(keys.password_file),
            certified=secure and keys.certificate is not UNSET,
        )
        self._opening = asyncio.Lock()
        self._opened: tuple[Initiator, Link] | None = None

    async def send(self, dispatch: Dispatch) -> ForwardOutcome:
        """Send a message, and wait until the broker has settled it."""
        seconds = self.target.timeout
        try:
            async with asyncio.timeout(seconds):
                initiator, link = await self._link()
                outcome = await initiator.send(link, _sections(dispatch), seconds)
        except TimeoutError:
            return ForwardOutcome(AGAIN, f"found no outcome within {seconds:g} s")
        except PeerError as error:
            await self._let_go()
            return ForwardOutcome(AGAIN, f"{type(error).__name__}: {on_one_line(str(error))}")
        return _meant(outcome)

    async def probe(self, path: str) -> ForwardOutcome | None:
        """It has no paths."""
        return None

    async def close(self) -> None:
        """Say goodbye."""
        if self._opened is not None:
            initiator, _ = self._opened
            self._opened = None
            with suppress(TimeoutError, PeerError):
                async with asyncio.timeout(CLOSING):
                    await initiator.close()

    async def _link(self) -> tuple[Initiator, Link]:
        """The connection and the link on it. Raises PeerError."""
        async with self._opening:
            if self._opened is not None and self._opened[0].over:
                await self._let_go()
            if self._opened is None:
                initiator = Initiator(self._peer, Settings(container=CONTAINER, idle=IDLE))
                await initiator.connect(self._peer.host)
                try:
                    answer = await initiator.sender(self.target.called, self._queue, {})
                except BaseException:
                    initiator.abort()
                    raise
                self._opened = initiator, answer.link
            return self._opened

    async def _let_go(self) -> None:
        """The next message begins with a connection of its own."""
        if self._opened is not None:
            self._opened[0].abort()
            self._opened = None


def _sections(dispatch: Dispatch) -> bytes:
    """A message as AMQP has it; what came over AMQP goes on as it came, and is durable.

    The broker has it alone as soon as it has accepted it, whatever its sender wanted of us.
    """
    message = dispatch.message
    facts = DeliveryFacts(
        message.id, message.group, message.type, message.sent, dispatch.attempt, time.time()
    )
    return durable(outgoing(message.envelope, message.body, facts))


def _meant(outcome: Outcome) -> ForwardOutcome:
    if outcome.kind == ACCEPTED:
        return ForwardOutcome(DONE)
    if outcome.kind == REJECTED:
        condition = outcome.condition
        words = "" if condition is None else f"{condition.name}: {condition.description}"
        return ForwardOutcome(REFUSED, on_one_line(words)[:REASON] or "rejected")
    return ForwardOutcome(AGAIN, SETTLED.get(outcome.kind, "settled with an unknown outcome"))


def _context(keys: ForwardKeys) -> ssl.SSLContext:
    """Whom we trust, and what we show."""
    try:
        context = ssl.create_default_context() if keys.ca is UNSET else authority(keys.ca)
        if keys.certificate is UNSET:
            return context
        return show(context, keys.certificate, None if keys.key is UNSET else keys.key)
    except SocketError as error:
        raise ConfigError(str(error)) from None
