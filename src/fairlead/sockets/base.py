"""What all sockets have: endpoints, the peers behind them, waiting, closing."""

from __future__ import annotations

import os
import socket
import ssl
import sys
import threading
import time
import warnings
import weakref
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeVar, Unpack

from fairlead.balance.objects import listed, repr_of
from fairlead.balance.times import MICROS
from fairlead.errors import SocketError, SocketTimeoutError
from fairlead.sockets import files, hosts, options
from fairlead.sockets.addresses import TLS, Address
from fairlead.sockets.arguments import check_known, signature_of
from fairlead.sockets.closing import Closing
from fairlead.sockets.endpoints import Dialer, Listener, SocketEndpoint
from fairlead.sockets.events import JOINED, LEFT, EventHandler, SocketEvent, announce
from fairlead.sockets.forked import Forked
from fairlead.sockets.guard import Calm
from fairlead.sockets.loop import Loop
from fairlead.sockets.peers import (
    BUSY,
    DOWN,
    IGNORED,
    NAME,
    NOBODY,
    PEER,
    UP,
    Attributes,
    EndpointState,
    SocketPeer,
)
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.unfinished import Unfinished
from fairlead.sockets.waiter import Waiter
from fairlead.sockets.wire import MAX_SIZE, Bytes, Protocol, TooLongError

T = TypeVar("T")

SHOWN: Final = 10
"""Endpoints that an error names."""

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


class Socket(Closing):
    """A socket of one protocol. Thread-safe; to be closed, or used in a `with` block."""

    protocol: ClassVar[Protocol]
    _closed = True
    """Until it is made, and once it is closed."""

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
        self._memory = memory
        self.unfinished: Unfinished[Pipe] = Unfinished(memory)
        self.lock: Any = self._new_lock()
        self._buffer = buffer
        self._max_size = max_size
        self._on_event = on_event
        self.quiet = False
        """Whether it has no events: it is no socket of a user's."""
        self._endpoints: dict[str, SocketEndpoint] = {}
        self._peers: dict[str, SocketPeer] = {}
        self._free: dict[str, list[SocketPeer]] = {}
        """Of an endpoint to which peers connect: those that are not there, the first at the end."""
        self._pipes: set[Pipe] = set()
        self._looks = False
        """Whether somebody will see which hosts have vanished."""
        self._flushed: Waiter[None] | None = None
        self._loop = Loop.enter()
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

    # -------- connections, in the loop's thread

    def _connected(self, source: SocketEndpoint, end: socket.socket) -> None:
        with self.lock:
            if self._closed or source.name not in self._endpoints:
                end.close()
                return
            try:
                end = source.wrapped(end)
                pipe = Pipe(end, self.protocol, self, source, max_size=self._max_size)
            except OSError as error:  # the peer has gone already
                end.close()
                source.closed(files.reason(error), greeted=False)
                return
            self._pipes.add(pipe)
            if not self._looks:
                self._looks = True
                self._loop.later(hosts.BETWEEN, self._look_at_hosts)

    def _look_at_hosts(self) -> None:
        """See which hosts have vanished, as long as there are connections."""
        for pipe in [*self._pipes]:
            pipe.look_at_host()
        self._looks = bool(self._pipes)
        if self._looks:
            self._loop.later(hosts.BETWEEN, self._look_at_hosts)

    def opened(self, pipe: Pipe) -> None:
        """The peer has greeted."""
        source = pipe.source
        if isinstance(source, Listener):
            if not self._free[source.name]:
                self._grow(source)
            peer = self._free[source.name].pop()
        else:
            peer = self._peers[source.name]
            source.trouble = ""
        pipe.peer, peer.pipe = peer, pipe
        peer.full = peer.heavy = peer.busy = False
        self.tell(JOINED, peer)
        self._joined(peer)

    def closed(self, pipe: Pipe, reason: str) -> None:
        """The connection is over."""
        self._pipes.discard(pipe)
        peer = pipe.peer
        pipe.source.closed(reason, greeted=peer is not None)
        if peer is not None:
            peer.pipe = None
            if not self._closed:
                self.tell(LEFT, peer, reason, self._moved(pipe))
            self._left(peer, pipe)
            if pipe.source.name in self._free:
                self._free[pipe.source.name].append(peer)
        self._flush()

    def tell(self, kind: str, peer: SocketPeer, why: str = "", number: int = 0) -> None:
        """Log an event and tell whoever wants to know, soon and with no lock held."""
        if self.quiet:
            return
        source = peer.source
        event = SocketEvent(
            *(time.time(), self.protocol.name, kind, peer.name, source.address.url, why, number)
        )
        self._loop.call(announce, event, self._on_event)

    def received(self, pipe: Pipe, messages: list[Bytes]) -> None:
        """Messages have come. What the protocol does not expect is ignored."""
        pipe.peer.count(IGNORED, len(messages))

    def too_long(self, pipe: Pipe, error: TooLongError) -> None:
        """A message has come that is longer than `max_size`; that ends the connection."""

    def written(self, pipe: Pipe, tokens: list[object]) -> None:
        """The transport has taken messages that had to wait."""
        self._flush()

    @abstractmethod
    def _joined(self, peer: SocketPeer) -> None:
        """A peer is connected."""

    def _moved(self, pipe: Pipe) -> int:
        """How much of what a peer had, which is about to be no more, goes to others."""
        return 0

    @abstractmethod
    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        """A peer is connected no more."""

    def _flush(self) -> None:
        flushed = self._flushed
        if flushed is None or flushed.done or any(pipe.waiting for pipe in self._pipes):
            return
        flushed.settle(None)

    # -------- what can be seen

    def endpoints(self) -> list[EndpointState]:
        """Who is up, busy or down: each peer that is connected, and each endpoint without one."""
        with Calm(), self.lock:
            return self._standing()

    def _standing(self) -> list[EndpointState]:
        states = []
        peers: dict[str, list[SocketPeer]] = {}
        for peer in self._peers.values():
            if peer.pipe is not None:
                peers.setdefault(peer.source.name, []).append(peer)
        for endpoint in self._endpoints.values():
            connected = [peer for peer in peers.get(endpoint.name, ()) if peer.source is endpoint]
            states += [self._one(peer) for peer in connected]
            paused = isinstance(endpoint, Listener) and endpoint.paused
            if paused or not connected:
                state = DOWN if paused or isinstance(endpoint, Dialer) else NOBODY
                url = endpoint.address.url
                states.append(EndpointState(endpoint.name, url, state, 0, endpoint.trouble))
        return states

    def _one(self, peer: SocketPeer) -> EndpointState:
        waiting = peer.pipe.waiting if peer.pipe else 0
        state = BUSY if peer.busy or waiting >= self._buffer else UP
        return EndpointState(peer.name, peer.source.address.url, state, waiting, "")

    def _states(self) -> str:
        """The same in a line."""
        states = self._standing()
        lines = [state.in_words() for state in states[:SHOWN]]
        more = [f"and {len(states) - SHOWN} more"] if len(states) > SHOWN else []
        return ", ".join([*lines, *more]) or "found no endpoint, allowed: one (connect, bind)"

    def counters(self) -> dict[str, dict[str, int]]:
        """What was sent, received and lost, by peer."""
        with Calm(), self.lock:
            return {
                name: dict(peer.counters) for name, peer in self._peers.items() if peer.counters
            }

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
    for inherited in _ALL:
        inherited.lock = Forked()


os.register_at_fork(after_in_child=_forked)


def _check_tls(address: Address, tls: ssl.SSLContext | None, *, binds: bool) -> None:
    if tls is None:
        return
    options.check_context(tls, binds=binds)
    if address.kind != TLS:
        raise SocketError(f"tls: found one for {address.url}, allowed: for tls+tcp://HOST:PORT")
