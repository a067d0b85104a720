"""Who answers browsers: uvicorn, with bounds on how long requests and answers may take."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fairlead.config.console import ConsoleAddress, ConsoleTls
from fairlead.console.console import Console
from fairlead.errors import UserError
from fairlead.sockets.tls import identity

HEAD: Final = 10.0
"""Seconds in which the head of a request has to come."""
IDLE: Final = 5
"""Seconds for which a connection is kept for the next request."""
SLOW: Final = 20.0
"""Seconds in which a reader has to take something of what is sent."""
GRACE: Final = 3
"""Seconds for pages that are being answered when it ends."""
BACKLOG: Final = 128


class BoundedProtocol(H11Protocol):
    """A connection that ends where its next request does not come in time, or nobody reads."""

    cycle: Any
    """Of the latest request; None before the first one."""
    _slow: asyncio.TimerHandle | None = None
    """Ends a connection whose reader takes nothing."""

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as uvicorn has it
        """Somebody has connected."""
        super().connection_made(transport)
        self._expect()

    def pause_writing(self) -> None:
        """What is sent is not taken."""
        super().pause_writing()
        self._slow = self.loop.call_later(SLOW, self.transport.abort)

    def resume_writing(self) -> None:
        """It is taken again."""
        super().resume_writing()
        if self._slow is not None:
            self._slow.cancel()

    def on_response_complete(self) -> None:
        """An answer was sent; the next request may come."""
        super().on_response_complete()
        self._expect()

    def _expect(self) -> None:
        self.loop.call_later(HEAD, self._look, self.cycle)

    def _look(self, before: object) -> None:
        is_between = self.cycle is None or self.cycle.response_complete
        if self.cycle is before and is_between and not self.transport.is_closing():
            self.transport.close()


def listening(address: ConsoleAddress) -> socket.socket:
    """A socket that listens there. Raises UserError."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host,
            address.port,
            type=socket.SOCK_STREAM,
            proto=socket.IPPROTO_TCP,  # else the loop does not know that it may send at once
            flags=socket.AI_PASSIVE,
        )[0]
        ours = socket.socket(family, kind, protocol)
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ours.bind(place)
            ours.listen(BACKLOG)
        except BaseException:
            ours.close()
            raise
    except OSError as error:
        raise UserError(
            f"--listen: {address}: found {error.strerror}, allowed: an address of this machine "
            "that is free"
        ) from None
    ours.setblocking(False)
    return ours


def context_of(tls: ConsoleTls, folder: Path) -> ssl.SSLContext:
    """What shows the certificate. Raises UserError."""
    return identity(folder / tls.certificate, None if tls.key is None else folder / tls.key)


class ConsoleServer:
    """Answers at a socket until it is told to stop."""

    def __init__(self, console: Console, ours: socket.socket, tls: ssl.SSLContext | None) -> None:
        """`ours`: listens; it is closed at the end."""
        self._console, self._socket = console, ours
        config = uvicorn.Config(
            console,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=console.state.file.limits.connections,
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=GRACE,
        )
        config.load()
        config.ssl = tls
        self._server = uvicorn.Server(config)

    async def serve(self) -> None:
        """Answer, until `stop`."""
        await self._server._serve([self._socket])  # noqa: SLF001 - `serve` would take the signals

    def stop(self) -> None:
        """Answer nobody any more."""
        self._console.state.stops = True
        self._server.should_exit = True


async def serve_until(server: ConsoleServer, stop: asyncio.Event) -> None:
    """Answer until an event."""
    task = asyncio.create_task(server.serve())
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    server.stop()
    waiting.cancel()
    await task
