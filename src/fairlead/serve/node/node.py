"""The node: all connections of a server, and what they want of the store."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from msgspec import Struct

from fairlead.errors import MessageError, StoreError
from fairlead.serve.node.calls import (
    CLUSTER,
    QUEUE,
    SUBJECT,
    Call,
    Leave,
    More,
    Project,
    Renew,
    Resolve,
    Subscribe,
    Take,
    Unit,
    Write,
)
from fairlead.serve.node.conditions import (
    FORCED,
    LIMIT,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    STOLEN,
    TOO_LARGE,
    condition_of,
)
from fairlead.serve.node.desk import Desk, ReceiverLink
from fairlead.serve.node.ledger import UNKNOWN, Ledger, Settled
from fairlead.serve.node.port import Wire
from fairlead.serve.node.senders import SenderLink
from fairlead.serve.node.subjects import Subscribers, refusal_of, said_in, subject_in, wanted_by
from fairlead.serve.node.transactions import Coordinator
from fairlead.serve.rights import Rights
from fairlead.serve.sasl import NOBODY
from fairlead.serve.wire.records import (
    Aborted,
    Attached,
    Closed,
    Condition,
    Delivered,
    Detached,
    Disposed,
    Event,
    Flowed,
    Link,
    Opened,
    TooLarge,
)
from fairlead.store.arguments import queue_name
from fairlead.store.clusters.subscription import Subscription

LEASE: Final = 60.0
"""Seconds."""
LINKS: Final = 1000
MOST_UNITS: Final = 1000
"""So many are done in one transaction."""
MOST_BYTES: Final = 16 * 1024 * 1024
RETRY: Final = 1.0
"""Seconds until the store is told again what it could not take, as its database was gone."""
Attachment = SenderLink | ReceiverLink | Coordinator


class Peer(Struct, eq=False):
    """A connection, and the links on it."""

    wire: Wire
    container: str = ""
    host: str = ""
    """The virtual host that it wants."""
    user: str = NOBODY
    links: dict[int, Attachment] = {}
    """By their numbers, once they are answered."""
    waiting: set[int] = set()
    """Links of which is still to be found out what they are for."""
    flows: dict[int, Flowed] = {}
    """What such links said of their credit meanwhile."""


class Node:
    """What a server knows, and decides to ask and to answer."""

    def __init__(
        self, lease: float = LEASE, name: str = "", rights: Rights | None = None, links: int = LINKS
    ) -> None:
        """`lease`: seconds for which groups are taken; they are kept as long as their links are.

        `name`: the server's, by which subjects keep their lists; "": that of all that have none.
        `rights`: who may do what; None: all may. `links`: so many may be on one connection.
        """
        self._rights = rights or Rights()
        self._most_links = links
        self._lease = lease
        self._server = name
        self._now = 0.0
        self._calls: list[Call] = []
        self._units: deque[Unit] = deque()
        self._writing = False
        self._later: list[tuple[float, Unit]] = []
        self._desks: dict[str, Desk] = {}
        self._peers: set[int] = set()
        self._open: dict[int, Peer] = {}
        self._names: dict[tuple[str, str, bool], tuple[Peer, Link]] = {}
        """Links by their container, name and direction: there is one of each."""
        self._subscribers = Subscribers(self._calls_append, self._submit)
        self._renewed = 0.0
        self._renewing = False
        self.stopped = False

    # -------- what happens

    def connected(self, wire: Wire, user: str = NOBODY) -> Peer:
        """Somebody has connected, and said who it is."""
        peer = Peer(wire, "", "", user, {}, set(), {})
        self._open[id(peer)] = peer
        return peer

    def heard(self, peer: Peer, events: Iterable[Event], now: float) -> None:
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

    def done(self, call: Call, result: Any, error: Exception | None, now: float) -> None:  # noqa: ANN401
        """What the store said to a call."""
        self._now = now
        if isinstance(call, Write):
            self._written(call, result, error)
        elif isinstance(call, Take):
            self._desk(call.queue).took(call, result or [], error)
            self._forget(call.queue)
        elif isinstance(call, More):
            desk, receiver, holding = call.owner
            desk.found_more(receiver, holding, result or [], error)
        elif isinstance(call, Renew):
            self._renewing = False
            for desk in self._desks.values():
                desk.lose(set(result or ()))
        elif isinstance(call, Resolve):
            self._resolved(call, result, error)
        elif isinstance(call, Project):
            self._publishes(call, result, error)
        elif isinstance(call, Subscribe):
            self._subscribed(call, result, error)
        elif isinstance(call, Leave):
            self.arrived(self._subscribers.has_left(call))

    def calls(self) -> list[Call]:
        """What the store is to be asked now; each is answered by `done`."""
        found, self._calls = self._calls, []
        if self._units and not self._writing:
            self._writing = True
            found.append(Write(self._batch()))
        return found

    def tick(self, now: float) -> float:
        """Time passes; when this is to be called again, at the latest."""
        self._now = now
        for desk in self._desks.values():
            desk.tick(now)
        again, self._later = self._later, []
        for at, unit in again:
            if at <= now:
                self._units.append(unit)
            else:
                self._later.append((at, unit))
        if now - self._renewed >= self._lease / 4 and not self._renewing:
            self._renewed = now
            held = [
                each.held
                for desk in self._desks.values()
                for each in desk.holdings
                if not each.lost
            ]
            if held:
                self._renewing = True
                self._calls.append(Renew(held))
        return now + RETRY

    def arrived(self, queues: Iterable[str] | None = None) -> None:
        """Something may have come to these queues, or to any: from elsewhere, or as it is due."""
        for name in [*self._desks] if queues is None else queues:
            if name in self._desks:
                self._desks[name].arrived()

    @property
    def wanted(self) -> list[str]:
        """The queues of which somebody wants something."""
        return [name for name, desk in self._desks.items() if desk.links]

    @property
    def busy(self) -> bool:
        """Whether something is being stored, or is under way to a receiver."""
        return bool(
            self._units
            or self._writing
            or self._later
            or self._subscribers.leaving
            or any(each.open for desk in self._desks.values() for each in desk.holdings)
        )

    @property
    def taking(self) -> bool:
        """Whether the store is asked for work just now; what goes back would be taken by that."""
        return any(desk.taking for desk in self._desks.values())

    def stop(self) -> None:
        """Take no new work: what is under way may end."""
        self.stopped = True
        for desk in self._desks.values():
            desk.stop()
        for peer in self._open.values():
            for each in peer.links.values():
                if isinstance(each, SenderLink):
                    each.stopped = True

    def close(self) -> None:
        """End all connections; what is under way goes back."""
        for peer in [*self._open.values()]:
            self._gone(peer, orderly=True)
            peer.wire.close(Condition(FORCED, "the server is stopping"))

    # -------- links

    def _other(self, peer: Peer, event: Event) -> None:
        if isinstance(event, Opened):
            peer.container, peer.host = event.container, event.hostname
            why = self._rights.refusal_of_host(peer.host)
            if why is None:
                peer.wire.open()
            else:
                peer.wire.close(why)
        elif isinstance(event, Attached):
            self._attached(peer, event.link)
        elif isinstance(event, Detached):
            self._detached(peer, event.link, closed=event.closed, orderly=event.orderly)
        elif isinstance(event, Closed):
            self._gone(peer, orderly=event.orderly)
        elif isinstance(event, Aborted):
            found = peer.links.get(event.link.number)
            if isinstance(found, SenderLink):
                found.used()
                found.grant()
        elif isinstance(event, TooLarge):
            why = Condition(TOO_LARGE, "the message is larger than a message may be")
            self._end_link(peer, event.link, why)

    def _attached(self, peer: Peer, link: Link) -> None:
        why = self._refusal(link) or self._denial(peer, link)
        if why is not None:
            peer.wire.refuse(link, why)
            return
        self._steal(peer, link)
        if link.target.coordinates:
            peer.wire.attach(link)
            peer.links[link.number] = Coordinator(peer.wire, link, self._submit)
            return
        address = link.source.address if link.sends else link.target.address
        subject = subject_in(address)
        if subject is not None:
            self._attached_to(peer, link, subject)
            return
        if address is None:
            peer.wire.attach(link)
            deny = partial(self._rights.refusal, peer.user, peer.host, "send")
            sender = SenderLink(peer.wire, link, None, QUEUE, self._submit, deny=deny)
            peer.links[link.number] = sender
            sender.grant()
            return
        peer.waiting.add(link.number)
        self._calls.append(Resolve(address, (peer, link)))

    def _refusal(self, link: Link) -> Condition | None:
        if self.stopped:
            return Condition(FORCED, "the server is stopping")
        terminus = link.source if link.sends else link.target
        if terminus.dynamic:
            return Condition(NOT_IMPLEMENTED, "dynamic addresses are not implemented")
        if link.sends and terminus.copies:
            return Condition(NOT_IMPLEMENTED, "browsing is not implemented")
        if terminus.address is None:
            return Condition(NOT_FOUND, "found no address") if link.sends else None
        try:
            queue_name(terminus.address)
        except MessageError as error:
            return Condition(NOT_FOUND, str(error))
        return None

    def _denial(self, peer: Peer, link: Link) -> Condition | None:
        if len(peer.links) + len(peer.waiting) >= self._most_links:
            most = self._most_links
            return Condition(
                LIMIT, f"links: found more than {most} on a connection, allowed: {most}"
            )
        return self._rights.refusal_of_link(peer.user, peer.host, link)

    def _steal(self, peer: Peer, link: Link) -> None:
        key = (peer.container or f"-{id(peer)}", link.name, link.sends)
        before = self._names.get(key)
        if before is not None:
            self._end_link(*before, Condition(STOLEN, "another connection has attached the link"))
        self._names[key] = peer, link

    def _resolved(self, call: Resolve, kind: str, error: Exception | None) -> None:
        peer, link = call.owner
        wire: Wire = peer.wire
        if not self._answered(peer, link, error):
            return
        if link.sends:
            if kind == CLUSTER:
                why = "found a cluster, allowed: a queue; messages are received from the queues"
                wire.refuse(link, Condition(NOT_ALLOWED, why))
                return
            wire.attach(link)
            self._receives(peer, ReceiverLink(wire, link, call.name))
            return
        wire.attach(link)
        sender = SenderLink(wire, link, call.name, kind, self._submit)
        peer.links[link.number] = sender
        sender.grant()

    def _receives(self, peer: Peer, receiver: ReceiverLink) -> None:
        number = receiver.link.number
        peer.links[number] = receiver
        desk = self._desk(receiver.queue)
        desk.join(receiver)
        if (flowed := peer.flows.pop(number, None)) is not None:
            desk.flow(receiver, flowed.credit, drain=flowed.drain)

    def _attached_to(self, peer: Peer, link: Link, subject: str) -> None:
        """A link to a subject: its peer publishes to it, or subscribes."""
        wanted = refusal_of(subject) or wanted_by(link, subject, peer.container, peer.host)
        if isinstance(wanted, Condition):
            peer.wire.refuse(link, wanted)
            return
        peer.waiting.add(link.number)
        if link.sends:
            self._subscribers.join(wanted, (peer, link))
        else:
            self._calls.append(Project(peer.host, (peer, link, subject)))

    def _publishes(self, call: Project, cluster: str, error: Exception | None) -> None:
        peer, link, subject = call.owner
        if not self._answered(peer, link, error):
            return
        peer.wire.attach(link)
        said = partial(said_in, subject=subject, server=self._server)
        sender = SenderLink(peer.wire, link, cluster, SUBJECT, self._submit, said=said)
        peer.links[link.number] = sender
        sender.grant()

    def _subscribed(self, call: Subscribe, found: Subscription, error: Exception | None) -> None:
        peer, link = call.owner
        if error is None:
            self._subscribers.joined(found, link)
        if not self._answered(peer, link, error):
            if error is None:
                how = {"durable": call.wanted.durable, "closed": False, "orderly": True}
                self._subscribers.left(found, link, **how)
            return
        peer.wire.attach(link)
        self._receives(peer, ReceiverLink(peer.wire, link, found.queue, found))

    def _answered(self, peer: Peer, link: Link, error: Exception | None) -> bool:
        """Whether a link that was waiting can be attached; refuses it if not."""
        if link.number not in peer.waiting:
            return False  # it has ended meanwhile
        peer.waiting.discard(link.number)
        if error is not None:
            peer.flows.pop(link.number, None)
            peer.wire.refuse(link, condition_of(error))
        return error is None

    def _detached(self, peer: Peer, link: Link, *, closed: bool, orderly: bool) -> None:
        peer.waiting.discard(link.number)
        peer.flows.pop(link.number, None)
        found = peer.links.pop(link.number, None)
        key = (peer.container or f"-{id(peer)}", link.name, link.sends)
        if self._names.get(key) == (peer, link):
            del self._names[key]
        if isinstance(found, Coordinator):
            found.end()
        if isinstance(found, ReceiverLink):
            self._desk(found.queue).leave(found, orderly=orderly)
            self._forget(found.queue)
            if found.subscription is not None:
                durable = link.source.durable or link.source.expires == "never"
                how = {"durable": durable, "closed": closed, "orderly": orderly}
                self._subscribers.left(found.subscription, link, **how)

    def _forget(self, queue: str) -> None:
        """A queue that nobody receives from any more."""
        desk = self._desks[queue]
        if not desk.links and not desk.taking:
            del self._desks[queue]

    def _end_link(self, peer: Peer, link: Link, why: Condition) -> None:
        if link.open:
            peer.wire.detach(link, why)
        else:
            peer.wire.refuse(link, why)
        self._detached(peer, link, closed=True, orderly=True)

    def _gone(self, peer: Peer, *, orderly: bool) -> None:
        for each in [*peer.links.values()]:
            self._detached(peer, each.link, closed=False, orderly=orderly)
        self._open.pop(id(peer), None)

    def _desk(self, queue: str) -> Desk:
        found = self._desks.get(queue)
        if found is None:
            found = self._desks[queue] = Desk(queue, self._calls_append, self._submit)
            found.stopped = self.stopped
        found.now = self._now
        return found

    def _calls_append(self, call: Call) -> None:
        self._calls.append(call)

    # -------- messages

    def _delivered(self, peer: Peer, event: Delivered) -> None:
        found = peer.links.get(event.link.number)
        if isinstance(found, Coordinator):
            found.came(event)
        elif isinstance(found, SenderLink) and event.transaction is not None:
            found.came_in(event, self._ledger(peer, event.transaction), self._now)
        elif isinstance(found, SenderLink):
            found.came(event, self._now)

    def _ledger(self, peer: Peer, transaction: bytes) -> Ledger | None:
        """A transaction of a connection: its links share them."""
        for each in peer.links.values():
            if isinstance(each, Coordinator):
                found = each.ledger(transaction)
                if found is not None:
                    return found
        return None

    def _disposed(self, peer: Peer, event: Disposed) -> None:
        found = peer.links.get(event.link.number)
        if not isinstance(found, ReceiverLink):
            return
        desk = self._desk(found.queue)
        if event.outcome.transaction is None:
            desk.disposed(found, event)
            return
        ledger = self._ledger(peer, event.outcome.transaction)
        if ledger is not None:
            ledger.settle(Settled(desk, found, event))
        else:
            why = Condition(UNKNOWN, "found no such transaction")
            self._end_link(peer, event.link, why)

    def _flowed(self, peer: Peer, event: Flowed) -> None:
        found = peer.links.get(event.link.number)
        if isinstance(found, ReceiverLink):
            desk = self._desk(found.queue)
            desk.flow(found, event.credit, drain=event.drain)
        elif event.link.number in peer.waiting:
            peer.flows[event.link.number] = event

    # -------- units

    def _submit(self, unit: Unit) -> None:
        self._units.append(unit)

    def _batch(self) -> list[Unit]:
        found: list[Unit] = []
        size = 0
        while self._units and len(found) < MOST_UNITS and size < MOST_BYTES:
            unit = self._units.popleft()
            found.append(unit)
            size += unit.size
        return found

    def _written(
        self, call: Write, result: list[Exception | None] | None, error: Exception | None
    ) -> None:
        self._writing = False
        results = result if result is not None else [error] * len(call.units)
        touched: dict[str, set[str]] = {}
        for unit, refused in zip(call.units, results, strict=True):
            if unit.ends and not unit.sends and _is_to_be_told_again(refused):
                self._later.append((self._now + RETRY, unit))
                continue
            unit.done(unit, refused)
            sent = zip(unit.sends, unit.answers, strict=False) if refused is None else ()
            for send, answer in sent:
                if send.kind == QUEUE:
                    touched.setdefault(send.to, set()).add(send.more.get("group", ""))
                elif send.kind == CLUSTER:
                    self.arrived([name for name, _ in answer.copies])
                elif send.kind == SUBJECT:
                    self.arrived(self._subscribers.queues(send.to, send.said["subject"]))
        for queue, groups in touched.items():
            if queue in self._desks:
                desk = self._desk(queue)
                for group in groups:
                    desk.arrived_for(group)


def _is_to_be_told_again(error: Exception | None) -> bool:
    """Whether the database was gone, so that nobody knows what it has of it."""
    return isinstance(error, StoreError)
