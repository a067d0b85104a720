"""A socket that chooses a peer for each message."""

from __future__ import annotations

import ssl
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self, Unpack

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.balance.decision import Decision
from fairlead.balance.message import Message
from fairlead.balance.objects import listed, repr_of
from fairlead.balance.policies.destinations import KIND
from fairlead.balance.times import MICROS
from fairlead.errors import ConfigError, SocketError
from fairlead.sockets import options
from fairlead.sockets.addresses import TLS, Address
from fairlead.sockets.arguments import SocketOptions
from fairlead.sockets.base import BUFFER, SHARE, Socket, now
from fairlead.sockets.cluster_tables import (
    ADDRESS,
    NOT_CHANGED,
    attributes_of,
    check_said,
    cluster_of,
    tables_of,
)
from fairlead.sockets.events import DRAINED, DRAINING, FAILBACK, FAILOVER, RESUMED
from fairlead.sockets.guard import Calm
from fairlead.sockets.journal import JournalStretch
from fairlead.sockets.lanes import SendLanes
from fairlead.sockets.peers import DOWN, NAME, EndpointState, SocketPeer
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.ring import CAPACITY, Ring

SENT: Final = "sent"


class Sender(Socket):
    """Sends by a ring."""

    def __init__(
        self,
        cluster: Cluster | None = None,
        *,
        journal: bool = False,
        tls: ssl.SSLContext | None = None,
        **more: Unpack[SocketOptions],
    ) -> None:
        """`cluster`: whose policy chooses (nanomsg's unless given); its destinations are connected.

        `journal`: keep what is decided and what changes, for `recorded`; `tls`: for those of its
        destinations that are `tls+tcp`, as in `connect`; the rest as a `Socket`. Raises
        SocketError, and ConfigError for a policy without destinations.
        """
        options.check_flag("journal", journal)
        if cluster is not None:
            options.check_cluster(cluster)
        if tls is not None:
            options.check_context(tls, binds=False)
        self._buffer = more.get("buffer", BUFFER)
        options.check_messages(self._buffer)
        self._file, tables = (
            tables_of(cluster) if cluster is not None else ({"policy": "nanomsg"}, {})
        )
        self._tls = tls
        self._draining = False
        self._new: list[SocketPeer] = []
        """Peers that are connected, and have not been let in yet."""
        self._cost = 0.0
        """Seconds that it took the last time."""
        settings = {NAME: self.protocol.name.lower(), **self._file}
        self._ring = Ring(
            settings,
            state=cluster.start() if cluster is not None else None,
            capacity=self._capacity(),
            journal=journal,
        )
        self._waiting: SendLanes[Any] = SendLanes(self._ring)
        """Those for which nobody was ready yet."""
        self._levels: Counter[int] = Counter()
        """How many peers of each priority can be chosen, as far as is known."""
        self._best: int | None = None
        """The best of them."""
        self._failed_over = False
        """Whether that is worse than it was."""
        self._alarm = 0
        """When something changes of itself, by which somebody may be ready; 0: never."""
        self._tables_read: dict[str, dict[str, Any]] = {}
        """Of the destinations of the file."""
        super().__init__(**more)
        try:
            self._follow(tables)
        except Exception:
            self.close()
            raise

    @classmethod
    def from_cluster(cls, path: str | Path, *, cluster: str = "", **options: Any) -> Self:  # noqa: ANN401
        """With the policy and the endpoints of a file. Raises ConfigError, SocketError.

        `cluster`: its name, if there are several; `options`: as those of this class.
        """
        return cls(cluster_of(path, cluster), **options)

    def follow(self, cluster: Cluster) -> None:
        """Take over what a changed file says: who is new, who is gone, and other attributes.

        What cannot be changed, such as the policy, or under nanomsg a priority, is refused, and
        then nothing is changed. Raises ConfigError, ChangeError, SocketError.
        """
        options.check_cluster(cluster)
        settings, tables = tables_of(cluster)
        for key, value in settings.items():
            if value != self._file.get(key):
                raise ConfigError(
                    f"cluster {cluster.name!r}: found another {key} than before, allowed: to change"
                    " destinations"
                )
        with Calm(), self.lock:
            self._check_open()
            self._ring.let_in()
            changes = [
                Change(
                    name,
                    key,
                    value or self._capacity() if key == CAPACITY else value,
                    where=f"{KIND} {name!r}",
                )
                for name in tables.keys() & self._tables_read.keys()
                for key, value in tables[name].items()
                if key not in NOT_CHANGED and value != self._tables_read[name].get(key)
            ]
            if changes:
                for pipe in [*self._pipes]:  # what is held was sent under the old ones
                    pipe.flush()
                self._ring.change(now(), *changes)
            for name in self._tables_read.keys() & tables.keys():
                self._tables[name] = attributes_of(tables[name])
            for change in changes:
                if change.attribute == DRAINING:
                    self._note_draining(self._peers[change.target], on=bool(change.value))
                self._weigh(self._peers[change.target], "the file has changed")
            self._drain()
        self._follow(tables)

    def renew(self, tls: ssl.SSLContext) -> None:
        """Trust others from the next connection on, where endpoints of the file are `tls+tcp`.

        Raises SocketError.
        """
        options.check_context(tls, binds=False)
        with Calm(), self.lock:
            self._tls = tls
            for name in self._tables_read.keys() & self._endpoints.keys():
                if self._endpoints[name].tls is not None:
                    self._endpoints[name].tls = tls

    def drain(self, name: str) -> None:
        """Give a peer nothing new; what it has it finishes, and then an event says `drained`.

        `name`: of a destination, or of a bound endpoint, for all who connect there. Raises
        SocketError, and ChangeError for a policy that knows no `draining`.
        """
        self._set_draining(name, on=True)

    def resume(self, name: str) -> None:
        """Give a peer work again that was to drain."""
        self._set_draining(name, on=False)

    def _set_draining(self, name: str, *, on: bool) -> None:
        with Calm(), self.lock:
            self._check_open()
            peers = [peer for peer in self._peers.values() if name in (peer.name, peer.source.name)]
            if not peers:
                allowed = listed([*self._peers]) if self._peers else "none, as there is none"
                raise SocketError(f"endpoint: found {repr_of(name)}, allowed: {allowed}")
            self._ring.let_in()
            was = {peer.name for peer in peers if self._ring.left_out(peer.name)[0] == DRAINING}
            changes = [
                Change(peer.name, DRAINING, on, where=f"endpoint {peer.name!r}") for peer in peers
            ]
            self._ring.change(now(), *changes)
            if name in self._tables:
                self._tables[name] = {**self._tables[name], DRAINING: on}
            for peer in peers:
                if (peer.name in was) != on:
                    self._note_draining(peer, on=on)
                    self._weigh(peer, "it is draining" if on else "it has resumed")
            self._drain()

    def _note_draining(self, peer: SocketPeer, *, on: bool) -> None:
        if peer.pipe is not None:
            self.tell(DRAINING if on else RESUMED, peer)
        peer.draining = on
        self._reconsider(peer)

    def _weigh(self, peer: SocketPeer, why: str) -> None:
        """Tell of it, if other priorities serve now that something is different with this peer."""
        level = self._ring.level(peer.name) if self._can_get(peer) else None
        if level == peer.level:
            return
        if peer.level is not None:
            self._levels[peer.level] -= 1
            if not self._levels[peer.level]:
                del self._levels[peer.level]
        if level is not None:
            self._levels[level] += 1
        peer.level = level
        best = min(self._levels, default=None)
        before, self._best = self._best, best
        if before == best or self._closed or (before is None and not self._failed_over):
            return
        self._failed_over = best is None or (before is not None and best > before)
        words = [
            "nobody" if priority is None else f"priority {priority}" for priority in (before, best)
        ]
        kind = FAILOVER if self._failed_over else FAILBACK
        self.tell(kind, peer, f"from {words[0]} to {words[1]}: {why}")

    def _can_get(self, peer: SocketPeer) -> bool:
        """Whether a peer is there, and does not hang."""
        return peer.pipe is not None

    def _has_some(self, peer: SocketPeer) -> bool:
        """Whether a peer has something to finish."""
        return peer.pipe is not None and peer.pipe.waiting > 0

    def _follow(self, tables: dict[str, dict[str, Any]]) -> None:
        """Connect to who is new or elsewhere, and to nobody who is gone."""
        for name, table in [*self._tables_read.items()]:
            if name not in tables or tables[name][ADDRESS] != table[ADDRESS]:
                self.disconnect(name)
                del self._tables_read[name]
        for name, table in tables.items():
            if name not in self._tables_read:
                tls = self._tls if Address.of(table[ADDRESS]).kind == TLS else None
                self._connect(table[ADDRESS], name=name, tls=tls, **attributes_of(table))
            self._tables_read[name] = table

    def _check_said(self, attributes: Mapping[str, object]) -> None:
        check_said(attributes)

    def _capacity(self) -> int:
        """Messages that a peer holds which says nothing else, where the policy knows; 0: any."""
        return 0

    def recorded(self) -> JournalStretch:
        """What has happened since this was last asked, as tables that can be replayed.

        Messages are given when their peers are done with them; when the socket is closed, all are.
        """
        with Calm(), self.lock:
            return self._ring.recorded(end=self._closed and not self._pipes)

    @property
    def cluster(self) -> Cluster | None:
        """The cluster of a replay: all peers there ever were, none of them connected."""
        with Calm(), self.lock:
            return self._ring.cluster

    def _add(self, tables: list[dict[str, Any]]) -> None:
        new = []
        for table in tables:
            name, attributes = table[NAME], attributes_of(table)
            before = self._ring.said_before(name)
            if before is not None and attributes_of(before) != attributes:
                raise SocketError(
                    f"endpoint {name!r}: found {attributes}, allowed: as it was before it was "
                    f"disconnected, {attributes_of(before)}, as a journal has both; or another name"
                )
            if not self._ring.knows(name):
                new.append(table)
        if new:
            self._ring.add(*new)

    def _forget(self, name: str, peers: list[str]) -> None:
        super()._forget(name, peers)
        self._ring.forget(*peers)

    def _joined(self, peer: SocketPeer) -> None:
        if self._ring.knows(peer.name):
            self._ring.joined(now(), peer.name)
            self._weigh(peer, "it has joined")
            self._drain()
        else:  # as many as come while the last ones are let in are let in together
            self._new.append(peer)
            if len(self._new) == 1:
                self._loop.later(self._cost, self._let_in)

    def _let_in(self) -> None:
        begin = time.monotonic()
        with self.lock:
            self._ring.let_in()
            new, self._new = self._new, []
            for peer in new:
                if peer.pipe is not None and self._ring.knows(peer.name):
                    self._ring.joined(now(), peer.name)
                    self._reconsider(peer)
                    self._weigh(peer, "it has joined")
            self._drain()
        self._cost = time.monotonic() - begin

    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        if self._ring.knows(peer.name):
            self._ring.failed(now(), peer.name)
        self._weigh(peer, f"it has left: {pipe.trouble}")
        if peer.draining:
            peer.draining = False
            self.tell(DRAINED, peer, "it has left")

    def _one(self, peer: SocketPeer) -> EndpointState:
        endpoint_state = super()._one(peer)
        if not self._ring.knows(peer.name):
            return endpoint_state._replace(state=DOWN, trouble="not let in yet")
        step, why = self._ring.left_out(peer.name)
        if step == DRAINING and not self._has_some(peer):
            step = DRAINED
        return endpoint_state._replace(state=step, trouble=why) if step else endpoint_state

    def _drain(self) -> None:
        """Somebody may be ready: send what waits."""
        if not self._draining:  # else a connection was over just then, and it goes on
            self._draining = True
            try:
                self._send_waiting()
            finally:
                self._draining = False
            if self._waiting.count:
                self._set_alarm()

    def _send_waiting(self) -> None:
        self._waiting.offer(self._taken)

    @abstractmethod
    def _taken(self, waiting: Any) -> bool:  # noqa: ANN401 - what waits here
        """Whether somebody was ready for what waits, or there is nothing more to do for it."""

    def _set_alarm(self) -> None:
        """See to it that somebody looks when something changes of itself, such as a fail-back."""
        due = self._ring.due
        if due is not None and due != self._alarm:
            self._alarm = due
            self._loop.later(max(0.0, (due - now()) / MICROS), self._wake)

    def _wake(self) -> None:
        with self.lock:
            self._alarm = 0
            self._ring.make_due(now())
            self._drain()

    def _choose(
        self, message: Message, first: str = "", attempt: int = 1, without: str = ""
    ) -> tuple[Pipe, Decision] | None:
        """Who gets a message, counted; None where it has to wait. See `Ring.choose`.

        `without`: a peer that must not get it.
        """
        if without and self._ring.knows(without) and not self._peers[without].busy:
            moment = self._ring.moment  # nothing is another than before for what waits
            self._ring.busy(now(), without)
            decision = self._ring.choose(now(), message, first, attempt)
            self._ring.ready(now(), without)
            self._ring.moment = moment
        else:
            decision = self._ring.choose(now(), message, first, attempt)
        if decision is None:
            return None
        pipe = self._peers[decision.destination or ""].pipe
        return None if pipe is None else (pipe, decision)

    def _reconsider(self, peer: SocketPeer) -> None:
        """Let the policy know whether a peer takes messages, where it cannot know itself."""
        waiting = peer.pipe.waiting if peer.pipe else 0
        if waiting >= self._buffer:
            peer.full = True
        elif waiting <= self._buffer // 2:
            peer.full = False
        held = peer.pipe.held if peer.pipe else 0
        if held >= self._memory // SHARE:
            peer.heavy = True
        elif held <= self._memory // SHARE // 2:
            peer.heavy = False
        if peer.draining and not self._has_some(peer):
            peer.draining = False
            if peer.pipe is not None:
                self.tell(DRAINED, peer)
        rests = self._rests(peer)
        if rests != peer.busy and self._ring.knows(peer.name):
            peer.busy = rests
            (self._ring.busy if rests else self._ring.ready)(now(), peer.name)

    def _rests(self, peer: SocketPeer) -> bool:
        """Whether nothing more is sent to a peer for now."""
        return peer.full or peer.heavy
