"""One connection's bytes: TLS, then who the peer is, then AMQP."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from fairlead.serve.access import Access
from fairlead.serve.node.connections import ClientConnection
from fairlead.serve.node.node import Node
from fairlead.serve.sasl import Entered, Login, Refused, Sasl, Step
from fairlead.serve.wire.connection import Connection
from fairlead.serve.wire.events import Condition, Opened

LOGGER: Final = logging.getLogger("fairlead.serve")
HIGH: Final = 4 * 1024 * 1024
"""Bytes that wait for a peer that reads slowly; then nothing is read from it."""
BACKLOG: Final = 16 * 1024 * 1024
"""Bytes of a peer's messages that wait for the store; then nothing is read from it."""
REST: Final = 65_536
"""Bytes that are read of a peer after its connection was closed; it should close it, too."""
LATE: Final = Condition("amqp:resource-limit-exceeded", "it took too long to open the connection")


class Acceptor(Protocol):
    """What a connection asks of the server that accepted it."""

    access: Access
    node: Node
    paused: set[Session]
    """Those from which nothing is read for now."""

    def joined(self, session: Session) -> None:
        """A session has connected."""

    def entered(self, session: Session, user: str) -> tuple[Connection, ClientConnection]:
        """Its peer has said who it is, and begins with AMQP."""

    def left(self, session: Session) -> None:
        """A session is gone."""

    def moved(self) -> None:
        """Something has happened: ask the store, and answer the peers."""

    def keep(self, work: Any) -> None:  # noqa: ANN401 - a coroutine
        """Let something go on until the server stops."""

    async def check(
        self, host: str, name: str, password: bytes, wanted: Callable[[], bool]
    ) -> bool | None:
        """Whether this is that user's password; None: nobody wants to know any more."""


class Session(asyncio.Protocol):
    """One connection, from the moment at which it is accepted."""

    def __init__(self, server: Acceptor, tls: ssl.SSLContext | None) -> None:
        self._server = server
        self._tls = tls
        self._transport: Any = None
        self._host = ""
        """The peer's address; "": it had hung up by the time that it was looked at."""
        self._sasl: Sasl | None = None
        self.wire: Connection | None = None
        self.peer: ClientConnection | None = None
        self._user: str | None = None
        self._early = b""
        self._why: Condition | None = None
        """Why the connection is closed as soon as the peer has opened it."""
        self._counted = False
        self._ended = False
        self._until: float | None = None
        """By when the peer has to have said who it is; None: it has."""
        self._abort_at: float | None = None
        """By when what is left has to have been read by the peer, once we have hung up."""
        self._rest = REST
        self._is_paused = False
        self._was_full = False

    # -------- what the transport says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        access = self._server.access
        self._host = str((transport.get_extra_info("peername") or [""])[0])
        why = access.counts.came(self._host, self)
        if why is not None:
            self._refused(why)
            self._transport.abort()
            return
        self._counted = True
        self._until = time.monotonic() + access.introduction
        self._server.joined(self)
        if self._tls is None:
            self._begin()
        else:
            self._transport.pause_reading()
            self._server.keep(self._secure(self._tls))

    def data_received(self, data: bytes) -> None:
        if self.wire is not None:
            wire = self.wire
            if wire.closing:
                self._rest -= len(data)
                if self._rest < 0:  # it was told, and goes on
                    return
            self._heard(lambda: wire.feed(data))
        elif self._sasl is not None:
            self._step(self._sasl.feed(data))
        else:
            self._early += data

    def eof_received(self) -> bool:
        if self.wire is not None:
            self._heard(self.wire.end_of_input)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._ended:
            return
        self._ended = True
        if self._counted:
            self._server.access.counts.left(self._host, self, self._user)
        self._server.left(self)
        self._server.paused.discard(self)
        if self.wire is not None:
            self._heard(self.wire.end_of_input)
            self.wire.free()

    def pause_writing(self) -> None:
        if self.wire is not None:
            self.wire.blocked = True
            self.look()

    def resume_writing(self) -> None:
        if self.wire is not None:
            self.wire.blocked = False
            self.look()
            self.flush()
            self._server.moved()

    def look(self) -> None:
        """Read no more from a peer that does not read itself, or sends more than is stored."""
        wire = self.wire
        is_to_pause = wire is not None and (wire.blocked or wire.pending > BACKLOG)
        if self._ended or is_to_pause == self._is_paused:
            return
        self._is_paused = is_to_pause
        if is_to_pause:
            self._server.paused.add(self)
            self._transport.pause_reading()
        else:
            self._server.paused.discard(self)
            self._transport.resume_reading()

    # -------- who it is

    async def _secure(self, context: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._transport = await loop.start_tls(
                *(self._transport, self, context),
                server_side=True,
                ssl_handshake_timeout=self._server.access.introduction,
            )
        except (OSError, ssl.SSLError) as error:
            self._refused(Condition("tls", str(error)))
            self.connection_lost(None)
            return
        if self._transport is None or self._ended:  # it was sent away, or hung up, meanwhile
            self.connection_lost(None)
            return
        self._begin()

    def _begin(self) -> None:
        transport = self._transport
        transport.set_write_buffer_limits(high=HIGH)
        self._sasl = self._server.access.sasl(
            self._host,
            transport.get_extra_info("peercert"),
            secure=self._tls is not None,
        )
        early, self._early = self._early, b""
        if early:
            self._step(self._sasl.feed(early))

    def _step(self, step: Step | None) -> None:
        if self._sasl is not None and (data := self._sasl.output()):
            self._transport.write(data)
        if isinstance(step, Login):
            self._try(self._sasl, step)
        elif isinstance(step, Refused):
            self._refused(step.condition)
            self._hang_up()
        elif isinstance(step, Entered):
            self._entered(step)

    def _try(self, sasl: Sasl | None, login: Login) -> None:
        if sasl is not None and self._server.access.remembers(login.name, login.password):
            self._step(sasl.answer(True))
            return
        self._until = None  # it waits for us now, behind others
        self._server.keep(self._check(login))

    async def _check(self, login: Login) -> None:
        verdict: bool | None = None
        try:
            verdict = await self._server.check(
                *(self._host, login.name, login.password), lambda: not self._ended
            )
        except Exception:
            LOGGER.exception("event=failed call=Login")
        if self._sasl is not None and not self._ended:
            self._until = time.monotonic() + self._server.access.introduction
            self._step(self._sasl.answer(verdict))

    def _entered(self, entered: Entered) -> None:
        self._sasl = None
        self._user = entered.user
        why = self._server.access.counts.entered(self._host, self, entered.user)
        if why is not None:
            self._user = None  # it still counts as one of those that are unknown
        self.wire, self.peer = self._server.entered(self, entered.user)
        self.wire.tick(time.monotonic())
        wire = self.wire
        if why is not None:
            self._refused(why)
            self._why = why
        self._heard(lambda: wire.feed(entered.data))

    @property
    def place(self) -> str:
        """The peer's address and port; "": it has hung up."""
        peer = self._transport.get_extra_info("peername")
        return f"{peer[0]}:{peer[1]}" if peer else ""

    def _refused(self, why: Condition) -> None:
        self._server.access.counts.refused[why.name] += 1
        LOGGER.warning(
            "event=refused peer=%s condition=%s why=%s",
            json.dumps(self.place),
            why.name,
            json.dumps(why.description),
        )

    # -------- AMQP

    def _heard(self, what: Callable[[], list[Any]]) -> None:
        events = what()
        opened = self._until is not None and any(isinstance(event, Opened) for event in events)
        if self._why is None:
            self._until = None if opened else self._until
            if events and self.peer is not None:
                self._server.node.heard(self.peer, events, time.time())
        elif opened and self.wire is not None:
            self.wire.close(self._why)
        if self.wire is not None and self._abort_at is None:
            self._hold_to_memory(self.wire)
        self.flush()
        self._server.moved()

    def _hold_to_memory(self, wire: Connection) -> None:
        self.look()
        why = self._server.access.counts.memory(wire.held)
        if why is not None:
            self._refused(why)
            wire.close(why)
            self._send(wire)
            self._hang_up()

    def flush(self) -> None:
        """Send what the wire has to say, as far as the peer reads it."""
        wire = self.wire
        if self._ended or wire is None:
            return
        while not wire.blocked and (data := wire.output(HIGH)):
            self._transport.write(data)  # which says when it is too much
        if wire.over:
            self._hang_up()
        elif wire.closing and self._abort_at is None:
            self._abort_at = time.monotonic() + self._server.access.introduction
        was_full, self._was_full = self._was_full, wire.full
        if was_full and not wire.full and self.peer is not None:
            self._server.node.links.resumed(self.peer)

    def _send(self, wire: Connection) -> None:
        if data := wire.output():
            self._transport.write(data)

    def _hang_up(self) -> None:
        """Close the connection once the peer has read the rest, which it is to do in time."""
        if self._transport is None:
            return
        self._transport.close()
        if self._abort_at is None:
            self._abort_at = time.monotonic() + self._server.access.introduction

    def tick(self, now: float) -> float | None:
        """Time passes; when this is to be called again for the peer's sake, None: whenever."""
        if self._ended:
            return None
        if self._abort_at is not None:
            if now >= self._abort_at:
                self._transport.abort()
        elif self._until is not None and now >= self._until:
            self._until = None
            self._late()
        elif self.wire is not None:
            again = self.wire.tick(now)
            self.flush()
            return again
        return None

    def _late(self) -> None:
        if self.wire is not None:
            self._refused(LATE)
            self._hang_up()
        elif self._sasl is not None:
            self._step(self._sasl.late())
        else:  # TLS is not spoken yet
            self._refused(LATE)
            self.abort()

    def give_way(self, why: Condition) -> None:
        """End at once, so that another one has the place."""
        self._refused(why)
        self.abort()
        self.connection_lost(None)

    def abort(self) -> None:
        """Let go of the peer, whatever it was about to say."""
        if self._transport is not None:
            self._transport.abort()

    def end(self) -> None:
        """Send the rest, and hang up."""
        if self.wire is not None and not self._ended:
            self._send(self.wire)
        self._hang_up()
