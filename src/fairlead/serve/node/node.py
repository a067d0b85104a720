"""The node: all connections of a server, and what they want of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from fairlead.serve.node.browsing import BrowserLink
from fairlead.serve.node.calls import (
    CLUSTER,
    QUEUE,
    SUBJECT,
    Ask,
    Call,
    CloseOpener,
    Leave,
    More,
    ReceiveBatch,
    Remove,
    Renew,
    Take,
    Unit,
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
from fairlead.serve.node.links import LEASE, LINKS, ClientConnection, Links
from fairlead.serve.node.open_transaction import UNKNOWN, OpenTransaction, Settled
from fairlead.serve.node.port import Wire
from fairlead.serve.node.publisher_confirms import LOOK
from fairlead.serve.node.queue_consumers import ReceiverLink
from fairlead.serve.node.senders import SenderLink
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
from fairlead.store.queues.temporary import MESSAGES, TEMPORARY

RENEW: Final = 15.0
"""Seconds: so often the store is asked at least how long work may be held; it is kept by that."""
MOST_CREDIT: Final = 2**31 - 1


class Node(Links):
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
        """As its links have it."""
        super().__init__(lease, name, rights, links, raises, one_writer=one_writer)
        self._seen: set[str] = set()
        """Queues that were taken from after what is told of just now had happened."""
        self._renew_at = 0.0
        self._renewing = False

    # -------- what happens

    def connected(self, wire: Wire, user: str = NOBODY, place: str = "") -> ClientConnection:
        """Somebody has connected from an address, and said who it is."""
        peer = ClientConnection(wire, user=user, place=place)
        self._open[id(peer)] = peer
        return peer

    def heard(self, peer: ClientConnection, events: Iterable[Event], now: float) -> None:
        """What happened on a connection."""
        self._now = now
        for event in events:
            if isinstance(event, Delivered):
                self._delivered(peer, event)
            elif isinstance(event, Disposed):
                self._disposed(peer, event)
            elif isinstance(event, Flowed):
                self._flowed(peer, event)
            else:
                self._other(peer, event)
        self._browse_next(peer)

    def done(self, call: Call, result: Any, error: Exception | None, now: float) -> None:  # noqa: ANN401
        """What the store said to a call."""
        self._now = now
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
            for consumers in self._consumers.values():
                consumers.lose(set(lost))
            self._left(is_all=is_all)
        elif isinstance(call, Leave):
            self.arrived(self._subscribers.has_left(call))
            self._left(is_all=result is not False)
        elif isinstance(call, Ask):
            self._awaiting.told(call, None if error is not None else result)
        elif isinstance(call, CloseOpener | ReceiveBatch | Remove):
            self._was_done(call, error)
        else:
            self._found_out(call, result, error)

    def _was_done(self, call: CloseOpener | ReceiveBatch | Remove, error: Exception | None) -> None:
        if isinstance(call, Remove):
            self._temporary.removing -= 1
        elif isinstance(call, ReceiveBatch):
            channel, event = call.owner
            channel.received(event, error)
            self.arrived()

    def _left(self, *, is_all: bool) -> None:
        """Some clients have left; where something is left to be done about that, go on soon."""
        self._awaiting.moved()
        if not is_all:
            self._renew_at = min(self._renew_at, self._now + RETRY)

    def _wrote(self, call: Write, result: Written) -> None:
        for take, answer in zip(call.takes, result.takes, strict=True):
            if isinstance(answer, Exception):
                self._took(take, [], answer)
            else:
                self._seen.add(take.called)
                self._took(take, answer, None)
        self._units.written(call, result.units, self._now)
        self._seen.clear()

    def _took(self, call: Take, found: list[TakenGroup], error: Exception | None) -> None:
        self._consumers_of(call.called).took(call, found, error)
        self._forget(call.called)

    def calls(self) -> list[Call]:
        """What the store is to be asked now; each is answered by `done`."""
        self._awaiting.look(self._now)
        calls, self._calls = self._calls, []
        if self._one_writer:
            for queue in self._units.destinations & self._consumers.keys():
                self._consumers[queue].coming()
        if (write := self._units.next()) is not None:
            calls.append(write)
        return calls

    def tick(self, now: float) -> float:
        """Time passes; when this is to be called again, at the latest."""
        self._now = now
        for consumers in self._consumers.values():
            consumers.tick(now)
        for peer in [*self._open.values()]:
            self._end_too_long(peer)
        self._units.tick(now)
        if now >= self._renew_at and not self._renewing:
            self._renew_at = now + min(self._lease / 4, RENEW)
            held: dict[str, list[TakenGroup]] = {}
            for consumers in self._consumers.values():
                groups = [holding.held for holding in consumers.holdings if not holding.lost]
                held.setdefault(consumers.queue, []).extend(groups)
            self._renewing = True
            self._calls.append(Renew(held))
        return now + (LOOK if self._awaiting else RETRY)

    def arrived(self, queues: Iterable[str] | None = None) -> None:
        """Something may have come to these queues, or to any: from elsewhere, or as it is due."""
        names = [*self._consumers] if queues is None else [*queues]
        if MESSAGES in names:
            names += [name for name in self._consumers if name.startswith(TEMPORARY)]
        for name in names:
            if name in self._consumers:
                self._consumers[name].arrived()

    @property
    def wanted(self) -> list[str]:
        """The queues of which somebody wants something."""
        return [*{consumers.queue for consumers in self._consumers.values() if consumers.links}]

    @property
    def wants(self) -> bool:
        """Whether somebody wants something that is not at hand."""
        return any(consumers.wants for consumers in self._consumers.values())

    @property
    def busy(self) -> bool:
        """Whether something is being stored, or is under way to a receiver."""
        return bool(
            self._units.busy
            or self._subscribers.leaving
            or self._temporary.removing
            or any(
                holding.open
                for consumers in self._consumers.values()
                for holding in consumers.holdings
            )
        )

    @property
    def in_hand(self) -> int:
        """So many messages are under way to receivers."""
        return sum(
            holding.open for consumers in self._consumers.values() for holding in consumers.holdings
        )

    @property
    def awaited(self) -> int:
        """So many guaranteed messages are not acknowledged yet, and their publishers are here."""
        return len(self._awaiting)

    @property
    def taking(self) -> bool:
        """Whether the store is asked for work just now; what goes back would be taken by that."""
        return any(consumers.taking for consumers in self._consumers.values())

    def stop(self) -> None:
        """Take no new work: what is under way may end."""
        self.stopped = True
        for consumers in self._consumers.values():
            consumers.stop()
        for peer in self._open.values():
            for peer_link in peer.links.values():
                if isinstance(peer_link, SenderLink):
                    peer_link.stopped = True

    def close(self) -> None:
        """End all connections; what is under way goes back."""
        for peer in [*self._open.values()]:
            self._gone(peer, orderly=True)
            peer.wire.close(Condition(FORCED, "the server is stopping"))

    # -------- links

    def _other(self, peer: ClientConnection, event: Event) -> None:
        if isinstance(event, Opened):
            peer.container, peer.host = event.container, event.hostname
            why = (
                self._rights.refusal_of_client(peer.user, peer.container, peer.place)
                or self._rights.refusal_of_host(peer.host)
                or self._in_use(peer, event)
            )
            if why is None:
                peer.wire.open()
            else:
                host_refused(peer.who, why)
                peer.wire.close(why)
        elif isinstance(event, Attached):
            self._attached(peer, event.link)
        elif isinstance(event, Detached):
            self._detached(peer, event.link, closed=event.closed, orderly=event.orderly)
        elif isinstance(event, Closed):
            self._gone(peer, orderly=event.orderly)
        elif isinstance(event, Aborted):
            peer_link = peer.links.get(event.link.number)
            if isinstance(peer_link, SenderLink):
                peer_link.used()
                peer_link.grant()
        elif isinstance(event, TooLarge):
            why = Condition(TOO_LARGE, "the message is larger than a message may be")
            self._end_link(peer, event.link, why)

    def _in_use(self, peer: ClientConnection, opened: Opened) -> Condition | None:
        """Why a connection cannot be the only one of its container, if it wants to be that."""
        if SOLE not in opened.desired or not peer.container:
            return None
        of = peer.user, peer.host, peer.container
        for other in self._open.values():
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
            peer_link.came_in(event, self._ledger(peer, event.transaction), self._now)
        elif isinstance(peer_link, SenderLink):
            peer_link.came(event, self._now)

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
        consumers = self._consumers_of(peer_link.queue)
        if event.outcome.transaction is None:
            consumers.disposed(peer_link, event)
            return
        ledger = self._ledger(peer, event.outcome.transaction)
        if ledger is not None:
            ledger.settle(Settled(consumers, peer_link, event))
            peer_link.in_transaction = event.delivery
        else:
            why = Condition(UNKNOWN, "found no such transaction")
            self._end_link(peer, event.link, why)

    def _flowed(self, peer: ClientConnection, event: Flowed) -> None:
        peer_link = peer.links.get(event.link.number)
        if (why := self._refusal_of_flow(peer_link, event)) is not None:
            self._end_link(peer, event.link, why)
        elif isinstance(peer_link, ReceiverLink):
            consumers = self._consumers_of(peer_link.queue)
            consumers.flow(peer_link, event.credit, drain=event.drain)
        elif isinstance(peer_link, BrowserLink):
            peer_link.flow(event.credit, drain=event.drain, now=self._now)
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

    # -------- units

    def _stored(self, unit: Unit) -> None:
        """A unit has happened: what it sent may be for somebody here."""
        if unit.ends:
            self._awaiting.moved()
        touched: dict[str, set[str]] = {}
        for send, answer in zip(unit.sends, unit.answers, strict=False):
            if send.kind == QUEUE:
                of = send.to if send.to.startswith(TEMPORARY) else send.more.get("group", "")
                touched.setdefault(send.to, set()).add(of)
            elif send.kind == CLUSTER:
                self.arrived([name for name, _ in answer.copies])
            elif send.kind == SUBJECT:
                self.arrived(self._subscribers.queues(send.to, send.said["subject"]))
        for queue, groups in touched.items():
            if queue in self._consumers:
                consumers = self._consumers_of(queue)
                for group in groups:
                    consumers.arrived_for(group, seen=queue in self._seen)
