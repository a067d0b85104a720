"""What all connections of a server share: what waits for the store, and who receives what."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.serve.node.calls import CLUSTER, MESSAGES, QUEUE, SUBJECT, TEMPORARY, Call, Take, Unit
from fairlead.serve.node.delivery_counts import DeliveryCounts
from fairlead.serve.node.publisher_confirms import Awaiting
from fairlead.serve.node.queue_consumers import QueueConsumers
from fairlead.serve.node.subjects import Subscribers
from fairlead.serve.node.temporary import TemporaryQueues
from fairlead.serve.node.write_batch import WriteBatches
from fairlead.serve.rights import Rights


class NodeState:
    """What a server has in hand."""

    def __init__(
        self, rights: Rights | None, raises: Callable[[str], bool], *, one_writer: bool
    ) -> None:
        """As `Node` has them."""
        self.rights = Rights()
        self.rights.become(rights or Rights())
        self.raises = raises
        self.one_writer = one_writer
        self.now = 0.0
        self.stopped = False
        self.calls: list[Call] = []
        """What the store is to be asked next."""
        self.units = WriteBatches(self.stored)
        self.submit = self.units.submit
        self.consumers: dict[str, QueueConsumers] = {}
        """By the queue from which they receive."""
        self.seen: set[str] = set()
        """Queues that were taken from after what is told of just now had happened."""
        self.tries = DeliveryCounts()
        self.subscribers = Subscribers(self.ask, self.submit)
        self.awaiting = Awaiting(self.ask)
        self.temporary = TemporaryQueues(self.ask, self.submit)

    def consumers_of(self, queue: str) -> QueueConsumers:
        """Those who receive from a queue, be it that nobody does so far."""
        consumers = self.consumers.get(queue)
        if consumers is None:
            group = queue if queue.startswith(TEMPORARY) else None
            of = MESSAGES if group else queue
            consumers = self.consumers[queue] = QueueConsumers(
                *(of, group, self.ask, self.submit, self.tries), raises=self.raises(queue)
            )
            consumers.stopped = self.stopped
        consumers.now = self.now
        return consumers

    def forget(self, queue: str) -> None:
        """A queue that nobody receives from any more."""
        consumers = self.consumers[queue]
        if not consumers.links and not consumers.taking:
            del self.consumers[queue]

    def ask(self, call: Call) -> None:
        """The store is to be asked this next."""
        if self.one_writer and isinstance(call, Take):
            self.units.take(call)
        else:
            self.calls.append(call)

    def arrived(self, queues: Iterable[str] | None = None) -> None:
        """Something may have come to these queues, or to any: from elsewhere, or as it is due."""
        names = [*self.consumers] if queues is None else [*queues]
        if MESSAGES in names:
            names += [name for name in self.consumers if name.startswith(TEMPORARY)]
        for name in names:
            if name in self.consumers:
                self.consumers[name].arrived()

    def stored(self, unit: Unit) -> None:
        """A unit has happened: what it sent may be for somebody here."""
        if unit.ends:
            self.awaiting.moved()
        touched: dict[str, set[str]] = {}
        for send, answer in zip(unit.sends, unit.answers, strict=False):
            if send.kind == QUEUE:
                of = send.to if send.to.startswith(TEMPORARY) else send.more.get("group", "")
                touched.setdefault(send.to, set()).add(of)
            elif send.kind == CLUSTER:
                self.arrived([name for name, _ in answer.copies])
            elif send.kind == SUBJECT:
                self.arrived(self.subscribers.queues(send.to, send.said["subject"]))
        for queue, groups in touched.items():
            if queue in self.consumers:
                consumers = self.consumers_of(queue)
                for group in groups:
                    consumers.arrived_for(group, seen=queue in self.seen)

    # -------- what it has in hand

    @property
    def wanted(self) -> list[str]:
        """The queues of which somebody wants something."""
        return [*{consumers.queue for consumers in self.consumers.values() if consumers.links}]

    @property
    def wants(self) -> bool:
        """Whether somebody wants something that is not at hand."""
        return any(consumers.wants for consumers in self.consumers.values())

    @property
    def busy(self) -> bool:
        """Whether something is being stored, or is under way to a receiver."""
        return bool(
            self.units.busy
            or self.subscribers.leaving
            or self.temporary.removing
            or any(
                holding.open
                for consumers in self.consumers.values()
                for holding in consumers.holdings
            )
        )

    @property
    def in_hand(self) -> int:
        """So many messages are under way to receivers."""
        return sum(
            holding.open for consumers in self.consumers.values() for holding in consumers.holdings
        )

    @property
    def awaited(self) -> int:
        """So many guaranteed messages are not acknowledged yet, and their publishers are here."""
        return len(self.awaiting)

    @property
    def taking(self) -> bool:
        """Whether the store is asked for work just now; what goes back would be taken by that."""
        return any(consumers.taking for consumers in self.consumers.values())
