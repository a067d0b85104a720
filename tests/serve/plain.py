"""Peers of a node that say anything, and the plainest model of what they may see."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from typing import Any

from fairlead.errors import StoreError, UserError
from fairlead.serve import message as messages
from fairlead.serve.codec import DescribedValue, ULong, encode
from fairlead.serve.executor import Executor
from fairlead.serve.node.calls import Call, More, Take, Write
from fairlead.serve.node.connections import ClientConnection
from fairlead.serve.node.node import Node
from fairlead.serve.node.open_transaction import OpenTransaction
from fairlead.serve.node.transactions import DECLARE, DISCHARGE
from fairlead.serve.wire import events as r
from fairlead.store.store import Store

QUEUE = "orders"
VALUE = b"\x00\x53\x77"
GONE = StoreError("the database is gone")


class PlainWire:
    """A connection of which one sees what is said on it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.next = 0
        self.pending = 0
        self.held = 0
        self.full = False
        self.most_held = 2**20
        self.said: list[tuple[int, r.Outcome]] = []
        self.credits: dict[int, int] = defaultdict(int)
        self.refused: dict[int, r.Condition] = {}

    def open(self) -> None: ...

    def close(self, condition: r.Condition | None = None) -> None: ...

    def attach(
        self,
        link: r.Link,
        *,
        properties: dict[Any, Any] | None = None,
        address: str = "",
        source: str = "",
        filters: dict[Any, Any] | None = None,
    ) -> None:
        link.open = True

    def refuse(self, link: r.Link, condition: r.Condition) -> None:
        self.refused[link.number] = condition

    def detach(self, link: r.Link, condition: r.Condition | None = None) -> None:
        link.open = False
        if condition is not None:
            self.refused[link.number] = condition

    def credit(self, link: r.Link, more: int) -> None:
        self.credits[link.number] += more

    def drained(self, link: r.Link) -> None:
        self.world.drained(link)

    def send(self, link: r.Link, sections: bytes, *, settled: bool) -> int:
        if not link.open:
            return 0
        self.next += 1
        self.world.sent(link, self.next, sections, settled=settled)
        return 0 if settled else self.next

    def settle(self, delivery: int, outcome: r.Outcome) -> None:
        self.said.append((delivery, outcome))

    def say(self, delivery: int, outcome: r.Outcome) -> None: ...


class Receiver:
    """A link that receives, as its peer knows it."""

    def __init__(self, peer: ClientConnection, link: r.Link) -> None:
        self.peer, self.link = peer, link
        self.credit = 0
        self.has: dict[int, int] = {}
        """Delivery → the message's number."""


class World:
    """A node on a store, its peers, and what they have seen.

    It holds the node to this: of each group, messages come in their order, to one link at a time;
    what is done never comes again; what comes again is marked.
    """

    def __init__(self, store: Store, seed: int, *, faults: bool = False, groups: int = 5) -> None:
        """`faults`: whether the database is gone now and then."""
        self.names = [f"g{k}" for k in range(groups)]
        self.faults = faults
        self.random = random.Random(seed)  # noqa: S311
        self.node = Node(one_writer=bool(seed % 2))
        self.executor = Executor(store, 60.0)
        self.store = store
        self.now = 1_000.0
        self.links = 0
        self.groups: dict[int, str] = {}
        """Message → its group; "" for one without."""
        self.accepted: set[int] = set()
        """By the store, from their senders."""
        self.when: dict[int, int] = {}
        """After how many calls the store had it."""
        self.executed = 0
        self.finished: set[int] = set()
        self.unsure: set[int] = set()
        """Settled, but a lost connection may have carried that away."""
        self.seen: set[int] = set()
        self.receivers: dict[int, Receiver] = {}
        self.senders: list[tuple[ClientConnection, r.Link]] = []
        self.pending: dict[tuple[int, int], int] = {}
        self.transactors: list[tuple[ClientConnection, r.Link, r.Link, r.Link]] = []
        self.discharges: dict[tuple[int, int], list[int]] = {}
        """What a transaction has sent, until its end is answered."""
        self.last = 0
        self.calls: list[Call] = []
        self.drained_links: set[int] = set()

    # -------- what the node does

    def sent(self, link: r.Link, delivery: int, sections: bytes, *, settled: bool) -> None:
        found = messages.incoming(sections)
        number = int(found.properties["message_id"].removeprefix("m"))
        marked = b"\x00\x53\x70" in sections[:3] and _count(sections) > 0
        receiver = self.receivers[link.number]
        group = self.groups[number]
        assert number not in self.finished, f"{number} is done"
        assert number not in self.seen or marked, f"{number} comes again"
        assert all(number not in each.has.values() for each in self.receivers.values())
        if group:
            before = {
                n for n in self.accepted if self.groups[n] == group and self.is_before(n, number)
            }
            mine = set(receiver.has.values())
            left = (before & self.accepted) - self.finished - self.unsure - mine
            assert not left, f"{number} before {left}"
            for other in self.receivers.values():
                if other is not receiver:
                    assert all(self.groups[n] != group for n in other.has.values())
        assert receiver.credit > 0
        receiver.credit -= 1
        self.seen.add(number)
        if settled:
            self.finished.add(number)
        else:
            receiver.has[delivery] = number

    def store_has(self, *numbers: int) -> None:
        self.accepted.update(numbers)
        self.when.update(dict.fromkeys(numbers, self.executed))

    def is_before(self, one: int, other: int) -> bool:
        """Whether a message was stored before another: a transaction may have had to wait."""
        return (self.when[one], one) < (self.when.get(other, self.executed), other)

    def drained(self, link: r.Link) -> None:
        self.drained_links.add(link.number)
        self.receivers[link.number].credit = 0

    # -------- what peers do

    def connect(self) -> ClientConnection:
        peer = self.node.connected(PlainWire(self))
        self.heard(peer, r.Opened(f"c{self.random.random()}", "", {}))
        return peer

    def heard(self, peer: ClientConnection, event: r.Event) -> None:
        self.now += 0.001
        self.node.heard(peer, [event], self.now)

    def link(self, peer: ClientConnection, *, sends: bool, settled: bool = False) -> r.Link:
        self.links += 1
        near, far = r.Terminus(QUEUE), r.Terminus(None)
        link = r.Link(
            *(self.links, f"l{self.links}", sends, near if sends else far),
            *(far if sends else near, {}, settled, 0),
        )
        if sends:
            self.receivers[link.number] = Receiver(peer, link)
        self.heard(peer, r.Attached(link))
        return link

    def send(self, count: int) -> None:
        peer, link = self.random.choice(self.senders)
        wire: Any = peer.wire
        for _ in range(min(count, wire.credits[link.number])):
            number = self.say(peer, link)
            self.pending[id(wire), number] = number

    def say(self, peer: ClientConnection, link: r.Link, transaction: bytes | None = None) -> int:
        """Send a message; its number."""
        self.last += 1
        number = self.last
        group = self.groups[number] = self.random.choice(
            ["", "", *self.random.choices(self.names, k=5)]
        )
        wire: Any = peer.wire
        wire.credits[link.number] -= 1
        properties = [f"m{number}", *[None] * 9, group or None]
        sections = b"\x00\x53\x73" + encode(properties) + b"\x00\x53\x77" + encode(number)
        self.heard(peer, r.Delivered(link, number, sections, transaction))
        return number

    def coordinate(self) -> None:
        """Let a peer join that sends and receives in transactions."""
        peer = self.connect()
        sender, receiver = self.link(peer, sends=False), self.link(peer, sends=True)
        self.links += 1
        nowhere, coordinator = r.Terminus(None), r.Terminus(None, coordinates=True)
        link = r.Link(*(self.links, f"l{self.links}", False, nowhere, coordinator, {}, False, 0))
        self.heard(peer, r.Attached(link))
        self.transactors.append((peer, sender, receiver, link))

    def transact(self) -> None:
        """Send and settle some messages in a transaction, and commit it or roll it back."""
        peer, sender, link, coordinator = self.random.choice(self.transactors)
        wire: Any = peer.wire
        self.take_answers()
        transaction = self.declared(peer, coordinator)
        count = min(self.random.randrange(4), wire.credits[sender.number])
        sent = [self.say(peer, sender, transaction) for _ in range(count)]
        commits = bool(self.random.randrange(2))
        receiver = self.receivers.get(link.number, Receiver(peer, link))
        for delivery in self.random.sample([*receiver.has], min(2, len(receiver.has))):
            settled = bool(self.random.randrange(2))
            outcome = r.Outcome(r.ACCEPTED, transaction=transaction)
            self.heard(peer, r.Disposed(link, delivery, outcome, settled))
            if commits:
                self.finished.add(receiver.has[delivery])
            if commits or settled:
                del receiver.has[delivery]
        if not commits:
            for number in sent:
                del self.groups[number]
        self.last += 1
        self.discharges[id(wire), self.last] = sent if commits else []
        self.discharge(peer, coordinator, transaction, fail=not commits)

    def declared(self, peer: ClientConnection, coordinator: r.Link) -> bytes:
        """Begin a transaction."""
        declare = DescribedValue(ULong(DECLARE), [])
        self.heard(peer, r.Delivered(coordinator, -1, VALUE + encode(declare)))
        wire: Any = peer.wire
        ((_, found),) = wire.said
        wire.said.clear()
        transaction: bytes = found.transaction
        return transaction

    def discharge(
        self, peer: ClientConnection, coordinator: r.Link, transaction: bytes, *, fail: bool
    ) -> None:
        """End a transaction."""
        discharge = DescribedValue(ULong(DISCHARGE), [transaction, fail])
        self.heard(peer, r.Delivered(coordinator, self.last, VALUE + encode(discharge)))

    def flow(self, *, drain: bool) -> None:
        if self.receivers:
            receiver = self.random.choice([*self.receivers.values()])
            receiver.credit = max(receiver.credit, self.random.randrange(6))
            self.heard(receiver.peer, r.Flowed(receiver.link, receiver.credit, drain))

    def dispose(self) -> None:
        holders = [each for each in self.receivers.values() if each.has]
        if not holders:
            return
        receiver = self.random.choice(holders)
        delivery = self.random.choice([*receiver.has])
        number = receiver.has.pop(delivery)
        outcome = self.random.choice(
            [
                *[r.Outcome(r.ACCEPTED)] * 6,
                r.Outcome(r.REJECTED, condition=r.Condition("spoilt")),
                r.Outcome(r.RELEASED),
                r.Outcome(r.MODIFIED, failed=True),
                r.Outcome(r.MODIFIED, elsewhere=True),
                r.Outcome(0),
            ]
        )
        if outcome.kind in (r.ACCEPTED, r.REJECTED) or outcome.elsewhere:
            self.finished.add(number)
        settled = bool(not outcome.kind or self.random.randrange(2))
        self.heard(receiver.peer, r.Disposed(receiver.link, delivery, outcome, settled))

    def leave(self) -> None:
        if self.receivers:
            receiver = self.random.choice([*self.receivers.values()])
            self.end(receiver, orderly=bool(self.random.randrange(2)))

    def end(self, receiver: Receiver, *, orderly: bool) -> None:
        receiver.link.open = False
        del self.receivers[receiver.link.number]
        receiver.has.clear()
        self.heard(receiver.peer, r.Detached(receiver.link, closed=True, orderly=orderly))

    # -------- the store

    def work(self, *, most: int = 10**9) -> None:
        """Execute some of what the node asks, in any order that threads may have."""
        while most > 0:
            self.calls += self.node.calls()
            if not self.calls:
                return
            most -= 1
            self.executed += 1
            call = self.calls.pop(self.random.randrange(len(self.calls)))
            result, failed = None, None
            is_gone = self.faults and self._can_miss(call) and not self.random.randrange(4)
            try:
                if is_gone and (self._is_to_hear(call) or self.random.randrange(2)):
                    raise GONE
                result = self.executor.execute(call)
                if is_gone:
                    raise GONE  # it is done, and nobody hears of it
            except UserError as error:
                failed = error
            self.node.done(call, result, failed, self.now)
            self.take_answers()

    def _can_miss(self, call: Call) -> bool:
        """Whether the database may be gone for a call: not where a sender is to be told."""
        if isinstance(call, Write):
            return all(unit.ends and not unit.sends for unit in call.units)
        return isinstance(call, Take | More)

    def _is_to_hear(self, call: Call) -> bool:
        """Whether all is to be heard of that is done: what was taken, and ends of transactions."""
        if isinstance(call, Write):
            ledgers = [isinstance(unit.owner[-1], OpenTransaction) for unit in call.units]
            return any(ledgers) or bool(call.takes)
        return isinstance(call, Take)

    def later(self) -> None:
        """What could not be stored before is told again."""
        self.work()
        self.now += 2
        self.node.tick(self.now)
        self.work()

    def take_answers(self) -> None:
        for peer, *_ in self.transactors:
            said: Any = peer.wire
            for number, outcome in said.said:
                if (id(said), number) in self.discharges:
                    assert outcome.kind == r.ACCEPTED, outcome
                    self.store_has(*self.discharges.pop((id(said), number)))
            said.said.clear()
        for peer, _ in self.senders:
            wire: Any = peer.wire
            for number, outcome in wire.said:
                assert outcome.kind == r.ACCEPTED, outcome
                if self.pending.pop((id(wire), number), None) is not None:
                    self.store_has(number)
            wire.said.clear()

    def step(self) -> None:
        act = self.random.randrange(20)
        if act < 5:
            self.send(self.random.randrange(1, 6))
        elif act < 9:
            self.flow(drain=self.random.randrange(8) == 0)
        elif act < 15:
            self.dispose()
        elif act < 16 and len(self.receivers) < 4:
            settled = self.random.randrange(4) == 0
            self.link(self.connect(), sends=True, settled=settled)
        elif act < 17 and self.random.randrange(3) == 0:
            self.leave()
        elif act < 18:
            self.now += self.random.randrange(4)
            self.node.tick(self.now)
        elif self.transactors:
            self.transact()
        self.work(most=self.random.randrange(4))

    def finish(self) -> None:
        """Everybody who is there leaves; one receiver gets the rest."""
        self.faults = False
        self.later()
        for receiver in [*self.receivers.values()]:
            self.end(receiver, orderly=True)
        self.work()
        link = self.link(self.connect(), sends=True)
        self.work()
        receiver = self.receivers[link.number]
        while True:
            receiver.credit = 100
            self.heard(receiver.peer, r.Flowed(link, 100, drain=True))
            self.work()
            if not receiver.has:
                if not self.left:
                    break
                time.sleep(0.05)  # something was given back often, and waits
                self.node.state.arrived()
            for delivery, number in [*receiver.has.items()]:
                del receiver.has[delivery]
                self.finished.add(number)
                outcome = r.Outcome(r.ACCEPTED)
                self.heard(receiver.peer, r.Disposed(link, delivery, outcome, settled=True))
            self.work()
        assert link.number in self.drained_links

    @property
    def left(self) -> int:
        """Messages that the store has."""
        return sum(each.messages for each in self.store.queues() if each.queue == QUEUE)


def _count(sections: bytes) -> int:
    parts = messages.sections(sections)
    from fairlead.serve import codec

    fields = codec.decode(sections[parts[0].value : parts[0].end])
    return int(fields[4]) if len(fields) > 4 else 0
