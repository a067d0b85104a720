"""The node: all connections of a server, and what they want of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from fairlead.serve.node.browsing import BrowserLink
from fairlead.serve.node.calls import (
    Ask,
    Call,
    CloseOpener,
    Leave,
    More,
    ReceiveBatch,
    Remove,
    Renew,
    Take,
    Write,
    Written,
    failed,
)
from fairlead.serve.node.channel_links import ChannelLink
from fairlead.serve.node.client_log import host_refused
from fairlead.serve.node.conditions import (
    FORCED,
    INVALID,
    NOT_ALLOWED,
    NOT_IMPLEMENTED,
    TOO_LARGE,
)
from fairlead.serve.node.connections import ClientConnection
from fairlead.serve.node.links import LEASE, LINKS, Links
from fairlead.serve.node.open_transaction import UNKNOWN, OpenTransaction, Settled
from fairlead.serve.node.port import Wire
from fairlead.serve.node.publisher_confirms import LOOK
from fairlead.serve.node.queue_consumers import ReceiverLink
from fairlead.serve.node.senders import SenderLink
from fairlead.serve.node.state import NodeState
from fairlead.serve.node.transactions import Coordinator
from fairlead.serve.node.write_batch import RETRY
from fairlead.serve.rights import Rights
from fairlead.serve.sasl import NOBODY
from fairlead.serve.wire.events import (
    SOLE,
    Aborted,
    Attached,
    Closed,
    Condition,
    Delivered,
    Detached,
    Disposed,
    Event,
    Flowed,
    Opened,
    TooLarge,
)
from fairlead.store.queues.taken_group import TakenGroup

RENEW: Final = 15.0
"""Seconds: so often the store is asked at least how long work may be held; it is kept by that."""
MOST_CREDIT: Final = 2**31 - 1


class Node:
    """What a server knows, and decides to ask and to answer."""

    def __init__(
        self,
        lease: float = LEASE,
        name: str = "",
        rights: Rights | None = None,
        links: int = LINKS,
        raises: Callable[[str], bool] = lambda _: False,
        *,
        one_writer: bool = False,
    ) -> None:
        """`lease`: seconds for which groups are taken; they are kept as long as their links are.

        `name`: the server's, by which subjects keep their lists; "": that of all that have none.
        `rights`: who may do what; None: all may. `links`: so many may be on one connection.
        `raises`: of which queues a message's priority raises its group. `one_writer`: whether one
        transaction at a time writes in the store, so that to take in one of its own gains nothing.
        """
        self.state = NodeState(rights, raises, one_writer=one_writer)
        self.links = Links(self.state, name, links)
        self._lease = lease
        self._renew_at = 0.0
        self._renewing = False

    # -------- what happens

    def connected(self, wire: Wire, user: str = NOBODY, place: str = "") -> ClientConnection:
        """Somebody has connected from an address, and said who it is."""
        peer = ClientConnection(wire, user=user, place=place)
        self.links.connections[id(peer)] = peer
        return peer

    def heard(self, peer: ClientConnection, events: Iterable[Event], now: float) -> None:
        """What happened on a connection."""
        self.state.now = now
        for event in events:
            if isinstance(event, Delivered):
                self._delivered(peer, event)
            elif isinstance(event, Disposed):
                self._disposed(peer, event)
            elif isinstance(event, Flowed):
                self._flowed(peer, event)
            else:
                self._other(peer, event)
        self.links.browse_next(peer)

    def done(self, call: Call, result: Any, error: Exception | None, now: float) -> None:  # noqa: ANN401
        """What the store said to a call."""
        self.state.now = now
        if isinstance(call, Write):
            self._wrote(call, result if error is None else failed(call, error))
        elif isinstance(call, Take):
            self._took(call, result or [], error)
        elif isinstance(call, More):
            consumers, receiver, holding = call.owner
            consumers.found_more(receiver, holding, result or [], error)
        elif isinstance(call, Renew):
            self._renewing = False
            lost, is_all = result or ((), True)
            for consumers in self.state.consumers.values():
                consumers.lose(set(lost))
            self._left(is_all=is_all)
        elif isinstance(call, Leave):
            self.state.arrived(self.state.subscribers.has_left(call))
            self._left(is_all=result is not False)
        elif isinstance(call, Ask):
            self.state.awaiting.told(call, None if error is not None else result)
        elif isinstance(call, CloseOpener | ReceiveBatch | Remove):
            self._was_done(call, error)
        else:
            self.links.found_out(call, result, error)

    def _was_done(self, call: CloseOpener | ReceiveBatch | Remove, error: Exception | None) -> None:
        if isinstance(call, Remove):
            self.state.temporary.removing -= 1
        elif isinstance(call, ReceiveBatch):
            channel, event = call.owner
            channel.received(event, error)
            self.state.arrived()

    def _left(self, *, is_all: bool) -> None:
        """Some clients have left; where something is left to be done about that, go on soon."""
        self.state.awaiting.moved()
        if not is_all:
            self._renew_at = min(self._renew_at, self.state.now + RETRY)

    def _wrote(self, call: Write, result: Written) -> None:
        for take, answer in zip(call.takes, result.takes, strict=True):
            if isinstance(answer, Exception):
                self._took(take, [], answer)
            else:
                self.state.seen.add(take.called)
                self._took(take, answer, None)
        self.state.units.written(call, result.units, self.state.now)
        self.state.seen.clear()

    def _took(self, call: Take, found: list[TakenGroup], error: Exception | None) -> None:
        self.state.consumers_of(call.called).took(call, found, error)
        self.state.forget(call.called)

    def calls(self) -> list[Call]:
        """What the store is to be asked now; each is answered by `done`."""
        self.state.awaiting.look(self.state.now)
        calls, self.state.calls = self.state.calls, []
        if self.state.one_writer:
            for queue in self.state.units.destinations & self.state.consumers.keys():
                self.state.consumers[queue].coming()
        if (write := self.state.units.next()) is not None:
            calls.append(write)
        return calls

    def tick(self, now: float) -> float:
        """Time passes; when this is to be called again, at the latest."""
        self.state.now = now
        for consumers in self.state.consumers.values():
            consumers.tick(now)
        for peer in [*self.links.connections.values()]:
            self.links.end_too_long(peer)
        self.state.units.tick(now)
        if now >= self._renew_at and not self._renewing:
            self._renew_at = now + min(self._lease / 4, RENEW)
            held: dict[str, list[TakenGroup]] = {}
            for consumers in self.state.consumers.values():
                groups = [holding.held for holding in consumers.holdings if not holding.lost]
                held.setdefault(consumers.queue, []).extend(groups)
            self._renewing = True
            self.state.calls.append(Renew(held))
        return now + (LOOK if self.state.awaiting else RETRY)

    def stop(self) -> None:
        """Take no new work: what is under way may end."""
        self.state.stopped = True
        for consumers in self.state.consumers.values():
            consumers.stop()
        for peer in self.links.connections.values():
            for peer_link in peer.links.values():
                if isinstance(peer_link, SenderLink):
                    peer_link.stopped = True

    def close(self) -> None:
        """End all connections; what is under way goes back."""
        for peer in [*self.links.connections.values()]:
            self.links.gone(peer, orderly=True)
            peer.wire.close(Condition(FORCED, "the server is stopping"))

    # -------- links

    def _other(self, peer: ClientConnection, event: Event) -> None:
        if isinstance(event, Opened):
            peer.container, peer.host = event.container, event.hostname
            why = (
                self.state.rights.refusal_of_client(peer.user, peer.container, peer.place)
                or self.state.rights.refusal_of_host(peer.host)
                or self._in_use(peer, event)
            )
            if why is None:
                peer.wire.open()
            else:
                host_refused(peer.who, why)
                peer.wire.close(why)
        elif isinstance(event, Attached):
            self.links.attached(peer, event.link)
        elif isinstance(event, Detached):
            self.links.detached(peer, event.link, closed=event.closed, orderly=event.orderly)
        elif isinstance(event, Closed):
            self.links.gone(peer, orderly=event.orderly)
        elif isinstance(event, Aborted):
            peer_link = peer.links.get(event.link.number)
            if isinstance(peer_link, SenderLink):
                peer_link.used()
                peer_link.grant()
        elif isinstance(event, TooLarge):
            why = Condition(TOO_LARGE, "the message is larger than a message may be")
            self.links.end_link(peer, event.link, why)

    def _in_use(self, peer: ClientConnection, opened: Opened) -> Condition | None:
        """Why a connection cannot be the only one of its container, if it wants to be that."""
        if SOLE not in opened.desired or not peer.container:
            return None
        of = peer.user, peer.host, peer.container
        for other in self.links.connections.values():
            if other is not peer and (other.user, other.host, other.container) == of:
                why = "found one that another connection of this user has, allowed: any other"
                return Condition(INVALID, f"container-id: {why}", "container-id")
        return None

    # -------- messages

    def _delivered(self, peer: ClientConnection, event: Delivered) -> None:
        peer_link = peer.links.get(event.link.number)
        if isinstance(peer_link, Coordinator | ChannelLink):
            peer_link.came(event)
        elif isinstance(peer_link, SenderLink) and event.transaction is not None:
            peer_link.came_in(event, self._ledger(peer, event.transaction), self.state.now)
        elif isinstance(peer_link, SenderLink):
            peer_link.came(event, self.state.now)

    def _ledger(self, peer: ClientConnection, transaction: bytes) -> OpenTransaction | None:
        """A transaction of a connection: its links share them."""
        for peer_link in peer.links.values():
            if isinstance(peer_link, Coordinator):
                ledger = peer_link.ledger(transaction)
                if ledger is not None:
                    return ledger
        return None

    def _disposed(self, peer: ClientConnection, event: Disposed) -> None:
        peer_link = peer.links.get(event.link.number)
        if isinstance(peer_link, BrowserLink):
            peer_link.disposed(event)
        if not isinstance(peer_link, ReceiverLink):
            return
        consumers = self.state.consumers_of(peer_link.queue)
        if event.outcome.transaction is None:
            consumers.disposed(peer_link, event)
            return
        ledger = self._ledger(peer, event.outcome.transaction)
        if ledger is not None:
            ledger.settle(Settled(consumers, peer_link, event))
            peer_link.in_transaction = event.delivery
        else:
            why = Condition(UNKNOWN, "found no such transaction")
            self.links.end_link(peer, event.link, why)

    def _flowed(self, peer: ClientConnection, event: Flowed) -> None:
        peer_link = peer.links.get(event.link.number)
        if (why := self._refusal_of_flow(peer_link, event)) is not None:
            self.links.end_link(peer, event.link, why)
        elif isinstance(peer_link, ReceiverLink):
            consumers = self.state.consumers_of(peer_link.queue)
            consumers.flow(peer_link, event.credit, drain=event.drain)
        elif isinstance(peer_link, BrowserLink):
            peer_link.flow(event.credit, drain=event.drain, now=self.state.now)
        elif event.link.number in peer.waiting:
            peer.flows[event.link.number] = event

    def _refusal_of_flow(self, link: object, event: Flowed) -> Condition | None:
        """Why a peer's wish for messages cannot be done."""
        if event.credit < 0:
            return Condition(NOT_ALLOWED, f"credit: found more than allowed: at most {MOST_CREDIT}")
        if not isinstance(link, ReceiverLink | BrowserLink):
            return None
        if event.drain and event.credit == 0 < link.credit:
            # The engine answers a drain only where some credit is left; the peer waits for that.
            why = "drain: found one that takes the credit back, too, allowed: one that leaves it"
            return Condition(NOT_IMPLEMENTED, why)
        return None
