"""A client of proton's engine over a socket of Python's, so that TLS needs nothing of proton."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from proton import SASL, Collector, Connection, Endpoint, Event, Message, Transport


class Dialer:
    """Connects, and says who it is; what happens is seen as it is waited for."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        login: tuple[str, str] | None = None,
        mechanism: str = "ANONYMOUS",
        tls: ssl.SSLContext | None = None,
        host: str = "localhost",
    ) -> None:
        plain = socket.create_connection(address, timeout=10)
        self.socket = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")
        self.transport, self.connection, self.collector = Transport(), Connection(), Collector()
        self.connection.collect(self.collector)
        self.connection.container, self.connection.hostname = "dialer", host
        if login is not None:
            self.connection.user, self.connection.password = login
        self.sasl = SASL(self.transport)
        self.sasl.allow_insecure_mechs = True
        self.sasl.allowed_mechs(mechanism)
        self.transport.bind(self.connection)
        self.connection.open()
        self.heard: list[Event] = []

    def until(self, true: Callable[[], bool]) -> bool:
        """Wait for something; False where the server has hung up before."""
        deadline = time.monotonic() + 15
        while not true():
            assert time.monotonic() < deadline
            if not self._pump():
                return true()
        return True

    def _pump(self) -> bool:
        with suppress(OSError):
            while (pending := self.transport.pending()) > 0:
                data = bytes(self.transport.peek(pending) or b"")
                self.socket.sendall(data)
                self.transport.pop(len(data))
        self.socket.settimeout(0.05)
        came = b""
        try:
            came = self.socket.recv(min(max(self.transport.capacity(), 1), 65536))
        except TimeoutError:
            return self.transport.capacity() >= 0
        except OSError:
            pass
        if came:
            self.transport.push(came)
        else:
            self.transport.close_tail()
        while (event := self.collector.peek()) is not None:
            self.heard.append(event)
            self.collector.pop()
        return bool(came)

    def opened(self) -> bool:
        """Whether the server lets this client in."""
        return self.until(lambda: bool(self.connection.state & Endpoint.REMOTE_ACTIVE))

    def closed(self) -> str:
        """The condition with which the server ends the connection; "" without one."""
        self.until(lambda: bool(self.connection.state & Endpoint.REMOTE_CLOSED))
        found = self.connection.remote_condition
        return found.name if found else ""

    def outcome(self) -> Any:
        """What SASL came to."""
        self.until(lambda: self.sasl.outcome is not None)
        return self.sasl.outcome

    def attached(self, link: Any) -> str:
        """Wait until a link is attached: "", or the condition with which it is refused."""
        link.open()
        self.until(
            lambda: bool(
                link.state & Endpoint.REMOTE_CLOSED
                or (link.state & Endpoint.REMOTE_ACTIVE and not _is_refused(link))
            )
        )
        return link.remote_condition.name if link.remote_condition else ""

    def sender(self, session: Any, address: str | None, name: str = "s") -> Any:
        link = session.sender(name)
        link.target.address = address
        return link

    def receiver(self, session: Any, address: str, name: str = "r") -> Any:
        link = session.receiver(name)
        link.source.address = address
        return link

    def session(self) -> Any:
        found = self.connection.session()
        found.open()
        return found

    def sent(self, link: Any, message: Message) -> Any:
        """Send a message, and wait for what becomes of it: the delivery."""
        self.until(lambda: link.credit > 0)
        delivery = link.delivery(str(time.monotonic_ns()))
        link.send(message.encode())
        link.advance()
        self.until(lambda: bool(delivery.remote_state))
        return delivery

    def close(self) -> None:
        self.socket.close()


def _is_refused(link: Any) -> bool:
    """Whether the server attached it only to say why not."""
    ends = link.remote_source if link.is_receiver else link.remote_target
    return ends.type == ends.UNSPECIFIED
