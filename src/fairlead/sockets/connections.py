"""The peers of a socket: connections that come and go, and what can be seen of them."""

from __future__ import annotations

import socket
import time
from abc import abstractmethod
from typing import Any, ClassVar, Final

from fairlead.sockets import files, hosts
from fairlead.sockets.closing import Closing
from fairlead.sockets.endpoints import Dialer, Listener, SocketEndpoint
from fairlead.sockets.events import JOINED, LEFT, EventHandler, SocketEvent, announce
from fairlead.sockets.guard import Calm
from fairlead.sockets.loop import Loop
from fairlead.sockets.peers import BUSY, DOWN, IGNORED, NOBODY, UP, EndpointState, SocketPeer
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.unfinished import Unfinished
from fairlead.sockets.waiter import Waiter
from fairlead.sockets.wire import Bytes, Protocol, TooLongError

SHOWN: Final = 10
"""Endpoints that an error names."""


class PeerConnections(Closing):
    """What a socket knows of its peers; a `Socket` says to whom it connects."""

    protocol: ClassVar[Protocol]
    _closed = True
    """Until it is made, and once it is closed."""

    def __init__(
        self, *, buffer: int, max_size: int, memory: int, on_event: EventHandler | None
    ) -> None:
        """As a `Socket`."""
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

    @abstractmethod
    def _new_lock(self) -> Any:  # noqa: ANN401 - or, after a fork, one that nobody gets
        """What guards all of this."""

    @abstractmethod
    def _grow(self, listener: Listener) -> None:
        """Make room for as many peers again as there are."""

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
