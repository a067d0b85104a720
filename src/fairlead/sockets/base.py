"""What all sockets have: endpoints, the peers behind them, waiting, closing."""

from __future__ import annotations

import os
import ssl
import sys
import threading
import time
import warnings
import weakref
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final, TypeVar, Unpack

from fairlead.balance.objects import listed, repr_of
from fairlead.balance.times import MICROS
from fairlead.errors import SocketError, SocketTimeoutError
from fairlead.sockets import files, options
from fairlead.sockets.addresses import TLS, Address
from fairlead.sockets.arguments import check_known, signature_of
from fairlead.sockets.connections import PeerConnections
from fairlead.sockets.endpoints import Dialer, Listener
from fairlead.sockets.events import EventHandler
from fairlead.sockets.forked import Forked
from fairlead.sockets.guard import Calm
from fairlead.sockets.loop import Loop
from fairlead.sockets.peers import NAME, PEER, Attributes, SocketPeer
from fairlead.sockets.waiter import Waiter
from fairlead.sockets.wire import MAX_SIZE

T = TypeVar("T")

BUFFER: Final = 128
"""Messages for one peer, or from one, that are held here unless a socket says otherwise."""
MEMORY: Final = 1 << 26
"""Bytes of messages that a socket holds in all, unless it says otherwise."""
SHARE: Final = 4
"""A peer may take a part of that: one in so many."""
BACKOFF: Final = (0.01, 0.05)
"""Seconds between two tries to connect, at first and at most; more where many peers are down."""
LINGER: Final = 1.0
"""Seconds in which what waits still goes out when a socket is closed."""


def now() -> int:
    """The time in microseconds since 1970."""
    return time.time_ns() // (1_000_000_000 // MICROS)


class Socket(PeerConnections):
    """A socket of one protocol. Thread-safe; to be closed, or used in a `with` block."""

    def __init_subclass__(cls, **more: object) -> None:
        """Let `help` show what a kind of socket can be given, whichever of its bases has it."""
        super().__init_subclass__(**more)
        cls.__signature__ = signature_of(cls)  # type: ignore[attr-defined]

    def __init__(
        self,
        *,
        buffer: int = BUFFER,
        max_size: int = MAX_SIZE,
        memory: int = MEMORY,
        reconnect: tuple[float, float] = BACKOFF,
        on_event: EventHandler | None = None,
        **unknown: object,
    ) -> None:
        """A socket without endpoints.

        `buffer`: messages that are held here for one peer, or from one; `max_size`: bytes of a
        message that are sent and taken; `memory`: bytes of messages that are held here in all, of
        which one peer may take a quarter, and of those that have come in part; `reconnect`: seconds
        between two tries to connect, at first and at most; `on_event`: called with a `SocketEvent`
        for each, in another thread.
        Raises SocketError, also where the process may open no more files.
        """
        check_known(type(self), unknown)
        options.check_messages(buffer)
        options.check_size(max_size)
        options.check_memory(memory)
        options.check_backoff(reconnect)
        options.check_listener(on_event)
        self._reconnect = reconnect
        self._tables: dict[str, dict[str, Any]] = {}
        """What was said of an endpoint, by its name."""
        super().__init__(buffer=buffer, max_size=max_size, memory=memory, on_event=on_event)
        self._closed = False
        _ALL.add(self)

    def _new_lock(self) -> Any:  # noqa: ANN401 - or, after a fork, one that nobody gets
        return threading.Lock()

    # -------- endpoints

    def connect(
        self,
        url: str,
        *,
        name: str = "",
        tls: ssl.SSLContext | None = None,
        **attributes: Unpack[Attributes],
    ) -> str:
        """Connect to a peer, now and whenever the connection is over; returns the endpoint's name.

        `name`: what it is called, its address unless given; `tls`: for `tls+tcp`, one that trusts
        whom this machine trusts unless given; `attributes`: such as `priority`. Raises SocketError
        for an address or a name that cannot be, ConfigError for an attribute.
        """
        self._check_said(attributes)
        return self._connect(url, name=name, tls=tls, **attributes)

    def _connect(
        self,
        url: str,
        *,
        name: str,
        tls: ssl.SSLContext | None,
        **attributes: Any,  # noqa: ANN401 - as a file says them
    ) -> str:
        options.check_name(name)
        address = Address.of(url).to_connect()
        _check_tls(address, tls, binds=False)
        if address.kind == TLS and tls is None:
            files.check(f"connect: {url}")
            tls = ssl.create_default_context()
        name = name or address.url
        with Calm(), self.lock:
            self._check(name)
            known = self._peers.get(name)
            if known is None:
                self._add([{**attributes, NAME: name, "address": address.url}])
            elif attributes != self._tables[name]:
                raise SocketError(
                    f"endpoint {name!r}: found {attributes}, allowed: as it was before it was "
                    f"disconnected, {self._tables[name]}, or another name"
                )
            dialer = Dialer(name, address, self._loop, self._connected, self._reconnect)
            dialer.tls = tls
            self._endpoints[name] = dialer
            self._tables[name] = attributes
            if known is None:
                self._peers[name] = SocketPeer(name, dialer)
            else:
                known.source = dialer
        return name

    def bind(
        self,
        url: str,
        *,
        name: str = "",
        tls: ssl.SSLContext | None = None,
        **attributes: Unpack[Attributes],
    ) -> str:
        """Let peers connect here; returns the address, with the port that the system gave for 0.

        `tls`: for `tls+tcp`, with the certificate of this machine. What is said of the endpoint,
        such as its `priority`, holds for each peer. Raises SocketError for an address that cannot
        be had, ConfigError for an attribute.
        """
        self._check_said(attributes)
        options.check_name(name)
        address = Address.of(url)
        _check_tls(address, tls, binds=True)
        with Calm(), self.lock:
            self._check(name)
            if address.kind == TLS and tls is None:
                raise SocketError(f"bind: {url}: found no tls, allowed: one with a certificate")
            listener = Listener(name, address, self._loop, self._connected)
            listener.tls = tls
            name = listener.name
            try:
                self._check(name)
                if name in self._tables:
                    raise SocketError(f"endpoint: found {repr_of(name)} again, allowed: a new name")
                self._tables[name] = {**attributes}
                self._free[name] = []
                self._grow(listener)
            except Exception:
                listener.close()
                raise
            self._endpoints[name] = listener
        return listener.address.url

    def _check_said(self, attributes: Mapping[str, object]) -> None:
        """Refuse what is seen of a peer, and not said."""

    def disconnect(self, name: str) -> None:
        """Close an endpoint for good, with its connections. Raises SocketError."""
        with Calm(), self.lock:
            if name not in self._endpoints:
                allowed = (
                    listed([*self._endpoints]) if self._endpoints else "none, as there is none"
                )
                raise SocketError(f"endpoint: found {repr_of(name)}, allowed: {allowed}")
            self._disconnect(name)

    def _disconnect(self, name: str) -> None:
        endpoint = self._endpoints.pop(name)
        endpoint.close()
        for pipe in [pipe for pipe in self._pipes if pipe.source is endpoint]:
            pipe.close("disconnected here")
        self._forget(name, [peer.name for peer in self._peers.values() if peer.source is endpoint])

    def _forget(self, name: str, peers: list[str]) -> None:
        """An endpoint is closed for good, and nothing is kept of its peers."""
        self._tables.pop(name, None)
        self._free.pop(name, None)
        for peer in peers:
            del self._peers[peer]

    def _check(self, name: str) -> None:
        self._check_open()
        if name in self._endpoints:
            raise SocketError(f"endpoint: found {repr_of(name)} twice, allowed: once")

    def _check_open(self) -> None:
        if self._closed:
            raise SocketError(f"{self.protocol.name}: found a closed socket, allowed: an open one")

    def _grow(self, listener: Listener) -> None:
        """Make room for as many peers again as there are."""
        name, free = listener.name, self._free[listener.name]
        known = sum(1 for peer in self._peers.values() if peer.source is listener)
        new = [f"{name}{PEER}{known + i + 1}" for i in range(max(4, known))]
        table = {**self._tables[name], "address": listener.address.url}
        self._add([{**table, NAME: peer_name} for peer_name in new])
        for peer_name in reversed(new):
            peer = self._peers[peer_name] = SocketPeer(peer_name, listener)
            free.append(peer)

    @abstractmethod
    def _add(self, tables: list[dict[str, Any]]) -> None:
        """There will be peers of whom this is said. Raises ConfigError, SocketError."""

    def checked(self, body: object) -> bytes:
        """A message that can be sent. Raises SocketError."""
        if not isinstance(body, bytes):
            if not isinstance(body, bytearray | memoryview):
                raise SocketError(f"message: found {repr_of(body)}, allowed: bytes")
            body = bytes(body)
        if len(body) > self._max_size:
            raise SocketError(
                f"message: found {len(body)} bytes, allowed: at most {self._max_size} (max_size), "
                "here and at the peer, which would close the connection"
            )
        return body

    # -------- waiting

    def _wait(self, waiter: Waiter[T], timeout: float | None, what: str) -> T:
        """The result that a thread waits for. Raises SocketTimeoutError."""
        try:
            arrived = waiter.wait(timeout)
        except BaseException:
            with Calm(), self.lock:
                self._abandon(waiter)
            raise
        if not arrived:
            self._late(waiter, timeout, what)
        return waiter.result()

    async def _await(self, waiter: Waiter[T], seconds: float | None, what: str) -> T:
        """The same for a coroutine."""
        try:
            arrived = await waiter.arrived(seconds)
        except BaseException:
            with Calm(), self.lock:
                self._abandon(waiter)
            raise
        if not arrived:
            self._late(waiter, seconds, what)
        return waiter.result()

    def _late(self, waiter: Waiter[T], timeout: float | None, what: str) -> None:
        with Calm(), self.lock:
            if not waiter.done:
                self._abandon(waiter)
                raise SocketTimeoutError(f"{what} within {timeout:g} s: {self._states()}")

    @abstractmethod
    def _abandon(self, waiter: Waiter[Any]) -> None:
        """Nobody waits there any more."""

    # -------- closing

    def close(self, linger: float = LINGER) -> None:
        """Close all endpoints; what waits for the transport has `linger` seconds to go out.

        Raises SocketError.
        """
        options.check_linger(linger)
        if isinstance(self.lock, Forked):
            self._let_go()
            return
        with Calm(), self.lock:
            if self._closed:
                return
            flushed = self._begin_to_close()
        flushed.wait(linger)
        with Calm(), self.lock:
            for pipe in [*self._pipes]:
                pipe.close()
        shut: Waiter[None] = Waiter()
        self._loop.call(shut.settle, None)  # after all connections
        shut.wait(None)
        Loop.leave(self._loop)

    def _begin_to_close(self) -> Waiter[None]:
        """Take nothing more; what is returned waits until all has gone out."""
        self._closed = True
        for endpoint in self._endpoints.values():
            endpoint.close()
        self._abort(SocketError(f"{self.protocol.name}: the socket was closed"))
        self._flushed = Waiter()
        self._flush()
        return self._flushed

    def __del__(self) -> None:
        """Nobody has it any more, and it was not closed: warn, and close it soon."""
        if self._closed or sys.is_finalizing():
            return
        if isinstance(self.lock, Forked):
            self._let_go()
            return
        what = f"{self.protocol.name}: found a socket that was not closed: {[*self._endpoints]}"
        warnings.warn(what, ResourceWarning, source=self, stacklevel=2)
        self._loop.call(self._drop)

    def _drop(self) -> None:
        """Close it in the loop's thread, without waiting."""
        with self.lock:
            self._begin_to_close()
            for pipe in [*self._pipes]:
                pipe.close()
        Loop.leave(self._loop)

    def _let_go(self) -> None:
        """Close the files that a forked process has, and none of the connections."""
        self._closed = True
        for endpoint in self._endpoints.values():
            endpoint.let_go()
        for pipe in self._pipes:
            pipe.let_go()

    @abstractmethod
    def _abort(self, error: SocketError) -> None:
        """Nobody who waits will get anything."""


_ALL: Final[weakref.WeakSet[Socket]] = weakref.WeakSet()


def _forked() -> None:
    """In a process that was forked: its sockets, and their connections, are those of the other."""
    for socket in _ALL:
        socket.lock = Forked()


os.register_at_fork(after_in_child=_forked)


def _check_tls(address: Address, tls: ssl.SSLContext | None, *, binds: bool) -> None:
    if tls is None:
        return
    options.check_context(tls, binds=binds)
    if address.kind != TLS:
        raise SocketError(f"tls: found one for {address.url}, allowed: for tls+tcp://HOST:PORT")
