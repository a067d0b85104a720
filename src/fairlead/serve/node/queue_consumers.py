"""A queue, as its receivers' links see it: who wants something, and who holds what."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from fairlead.errors import StoreError
from fairlead.serve import message as messages
from fairlead.serve.message import DeliveryFacts
from fairlead.serve.node.calls import Call, Ending, More, Take, Unit
from fairlead.serve.node.client_log import STILL, Who, settles_nothing
from fairlead.serve.node.conditions import condition_of
from fairlead.serve.node.delivery_counts import DeliveryCounts
from fairlead.serve.node.group_delivery import LOST, ROLLED_BACK, GroupDelivery
from fairlead.serve.node.port import Wire
from fairlead.serve.node.prefetch import Prefetch
from fairlead.serve.wire.events import (
    ACCEPTED,
    REJECTED,
    Disposed,
    Link,
    Outcome,
)
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.queues.failing import ERROR, PROCESS
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import RELEASE, Given
from fairlead.store.queues.taken_group import TakenGroup

IDLE: Final = 5.0
"""Seconds for which a link may hold a group of which it wants nothing more."""
NAMED: Final = 3
"""So many clients, at most, are named as those for whom something is taken."""
_ACCEPTED: Final = Outcome(ACCEPTED)


class ReceiverLink:
    """A link on which the peer receives."""

    def __init__(
        self,
        wire: Wire,
        link: Link,
        queue: str,
        subscription: Subscription | None = None,
        who: Who | None = None,
    ) -> None:
        """On one connection. `subscription`: whose queue it is, if it is one's. `who`: a client."""
        self.who = who or Who()
        self.wire, self.link = wire, link
        self.queue, self.subscription = queue, subscription
        self.credit = 0
        self.drain = 0
        """The number of the take after which its credit is given back; 0: it keeps it."""
        self.holdings: dict[int, GroupDelivery] = {}
        """By the groups' ids."""
        self.ready: deque[GroupDelivery] = deque()
        """Those of which there may be something to give, the first to be given first."""
        self.late: list[GroupDelivery] = []
        """Those for which something came while it wanted nothing."""
        self.under_way: dict[int, tuple[GroupDelivery, Given]] = {}
        """By the numbers of the deliveries, in their order."""
        self.in_transaction = 0
        """The delivery that was settled last in a transaction that may not have ended yet."""
        self.still_since: float | None = None
        """Since when it has messages in hand and settles none; None: it has none, or is told of."""
        self._oldest, self._oldest_since = 0, 0.0
        self.too_long = ""
        """Why it ends, where its client has kept a message for longer than the queue allows."""

    def keeps_too_long(self, now: float) -> str:
        """What its client keeps for longer than the queue allows, in words; "" if it does not.

        Of all that is under way, a client works on the oldest.
        """
        number, (holding, message) = next(iter(self.under_way.items()), (0, (None, None)))
        if number != self._oldest:
            self._oldest, self._oldest_since = number, now
        most = None if holding is None else holding.held.max_seconds
        seconds = now - self._oldest_since
        if holding is None or message is None or most is None or seconds < most:
            return ""
        return (
            f"queue {self.queue!r}, group {holding.held.group!r}, message {message.key!r}: held "
            f"for {seconds:.0f} s without being settled, allowed: max_seconds = {most}"
        )

    @property
    def wanted(self) -> int:
        """So many messages it wants that are not at hand."""
        if self.wire.full:
            return 0
        left = self.credit
        for holding in self.ready:
            if holding.next:
                left -= len(holding.waiting)
        return max(left, 0)


class QueueConsumers:
    """A queue's receivers. What it asks is `ask`ed; what is to be stored is `submit`ted."""

    def __init__(
        self,
        queue: str,
        group: str | None,
        ask: Callable[[Call], None],
        submit: Callable[[Unit], None],
        tries: DeliveryCounts,
        *,
        raises: bool = False,
    ) -> None:
        """Nobody receives yet. `group`: the only one that is wanted; None: all are.

        `tries`: how often the server's messages were given in vain. `raises`: whether a message's
        priority raises its group here.
        """
        self.queue, self._group = queue, group
        self._raises = raises
        self._tries = tries
        self._ask, self._submit = ask, submit
        self.links: deque[ReceiverLink] = deque()
        self._by_group: dict[str, tuple[ReceiverLink, GroupDelivery]] = {}
        """Who holds what, of the groups that have names."""
        self._taking = False
        self._again = True
        """Whether there may be something to take."""
        self._takes = 0
        self._portions = Prefetch()
        self.stopped = False
        self.now = 0.0

    @property
    def wants(self) -> bool:
        """Whether somebody wants something that is not at hand."""
        return not self.stopped and any(receiver.wanted for receiver in self.links)

    @property
    def taking(self) -> bool:
        """Whether the store is asked just now."""
        return self._taking

    @property
    def holdings(self) -> Iterable[GroupDelivery]:
        """All that is held."""
        return (holding for receiver in self.links for holding in receiver.holdings.values())

    # -------- what peers do

    def join(self, receiver: ReceiverLink) -> None:
        """A link was attached."""
        self.links.append(receiver)

    def leave(self, receiver: ReceiverLink, *, orderly: bool) -> None:
        """A link has ended; what it holds goes back."""
        self.links.remove(receiver)
        blamed, failed, why = self._blamed(receiver, orderly=orderly)
        by_holding: dict[int, list[Given]] = {}
        for holding, message in receiver.under_way.values():
            by_holding.setdefault(holding.held.id, []).append(message)
        receiver.under_way.clear()
        for holding in [*receiver.holdings.values()]:
            holding.gone(by_holding.get(holding.held.id, []), blamed, failed, why)
            self._finish(receiver, holding)

    def _blamed(self, receiver: ReceiverLink, *, orderly: bool) -> tuple[Given | None, str, str]:
        """Which message is to blame that a link has ended, and for what.

        Of all that was under way, its client has looked at one: at the last that it settled in a
        transaction, which is rolled back by that, or else at the oldest.
        """
        if self.stopped or receiver.subscription is not None or not receiver.under_way:
            return None, "", ""  # what was a subscriber's goes to another one at once
        if receiver.too_long:
            _, oldest = next(iter(receiver.under_way.values()))
            return oldest, ERROR, receiver.too_long
        failed, why = (ERROR, ROLLED_BACK) if orderly else (PROCESS, LOST)
        _, blamed = receiver.under_way.get(receiver.in_transaction, (None, None))
        if blamed is None and not orderly:
            _, blamed = next(iter(receiver.under_way.values()))
        return blamed, failed, why

    def rolled_back(self, receiver: ReceiverLink, delivery: int) -> None:
        """A transaction was rolled back in which this was settled last."""
        pair = receiver.under_way.get(delivery)
        if pair is not None and not self.stopped:
            holding, message = pair
            holding.suspect(message)

    def flow(self, receiver: ReceiverLink, credit: int, *, drain: bool) -> None:
        """A link wants so many messages; `drain`: or the rest of its credit back."""
        receiver.credit = credit
        receiver.drain = 0
        if drain:
            receiver.drain = self._takes + 1
            self._again = True
        self.serve(receiver)
        if receiver.credit:
            late, receiver.late = receiver.late, []
            for holding in late:
                self._look_for_more(receiver, holding)
        self.look()

    def disposed(self, receiver: ReceiverLink, event: Disposed) -> None:
        """A peer says what became of a message."""
        pair = receiver.under_way.get(event.delivery)
        if pair is None:
            return
        if not event.settled and not event.outcome.kind:
            return
        del receiver.under_way[event.delivery]
        receiver.still_since = self.now if receiver.under_way else None
        holding, message = pair
        if holding.over:  # the group went back with a transaction
            receiver.wire.settle(event.delivery, Outcome(0))
            return
        holding.ended(message, event.outcome)
        answer = None if event.settled else event
        if not holding.open and not holding.next and not holding.asked:
            self._settle(receiver, holding, answer)
        elif (part := holding.part()) is not None:
            self._store([part], receiver, holding, answer)
        elif answer is not None:
            receiver.wire.settle(answer.delivery, answer.outcome)
        if not holding.open:
            holding.idle_since = self.now

    def has(self, receiver: ReceiverLink, delivery: int) -> bool:
        """Whether a message is under way to a link, which holds its group."""
        pair = receiver.under_way.get(delivery)
        return pair is not None and not pair[0].over

    def ended_in(
        self, receiver: ReceiverLink, delivery: int, outcome: Outcome
    ) -> tuple[GroupDelivery | None, list[Ending]]:
        """What a transaction says of a message, for the store; `ended_with` says how that went."""
        pair = receiver.under_way.pop(delivery, None)
        receiver.still_since = self.now if receiver.under_way else None
        if pair is None or pair[0].over:
            return None, []
        holding, message = pair
        holding.ended(message, outcome)
        if not holding.open and not holding.next and not holding.asked:
            self._drop(receiver, holding)
            return holding, holding.last()
        part = holding.part()
        return holding, [] if part is None else [part]

    def ended_with(
        self,
        receiver: ReceiverLink,
        event: Disposed,
        holding: GroupDelivery | None,
        *,
        stored: bool,
    ) -> None:
        """What a transaction said of a message is stored; if not, its group goes back."""
        receiver.wire.settle(event.delivery, event.outcome if stored else Outcome(0))
        if not stored and holding is not None:
            self._drop(receiver, holding)
            unit = Unit(self._stored, ends=holding.back(), owner=(receiver, holding, None))
            self._submit(unit)
        self._again = True
        self.look()

    def _drop(self, receiver: ReceiverLink, holding: GroupDelivery) -> None:
        receiver.holdings.pop(holding.held.id, None)
        self._by_group.pop(holding.held.group, None)

    def _settle(
        self, receiver: ReceiverLink, holding: GroupDelivery, answer: Disposed | None = None
    ) -> None:
        self._drop(receiver, holding)
        if holding.lost:
            holding.over = True
            return
        self._store(holding.last(), receiver, holding, answer)

    def _finish(self, receiver: ReceiverLink, holding: GroupDelivery) -> None:
        if not holding.over:
            self._settle(receiver, holding)

    def _store(
        self,
        ends: list[Ending],
        receiver: ReceiverLink,
        holding: GroupDelivery,
        answer: Disposed | None,
    ) -> None:
        self._submit(Unit(self._stored, ends=ends, owner=(receiver, holding, answer)))

    def _stored(self, unit: Unit, error: Exception | None) -> None:
        receiver, holding, answer = unit.owner
        if error is not None:
            holding.lost = True
        if answer is not None:
            refused = error and Outcome(REJECTED, condition=condition_of(error))
            receiver.wire.settle(answer.delivery, refused or answer.outcome)
        if any(ending.end.group or ending.end.kind == RELEASE for ending in unit.ends):
            self._again = True  # something may be left of the group, or it comes back
            self.look()

    # -------- what the store gives

    def look(self) -> None:
        """Take what is wanted, if nobody takes just now."""
        if self._taking or self.stopped:
            return
        wanted = sum(receiver.wanted for receiver in self.links)
        if not wanted or not self._again:
            return
        self._again = False
        self._taking = True
        self._takes += 1
        clients = {receiver.who.name for receiver in self.links if receiver.wanted}
        named = " or ".join(sorted(clients)) if len(clients) <= NAMED else ""
        self._ask(Take(self.queue, *self._portions.next(wanted), self._group, named))

    def coming(self) -> None:
        """Something is about to be stored, and can be taken in the same transaction."""
        self._again = True
        self.look()

    def arrived(self) -> None:
        """Something may have come."""
        self._again = True
        for receiver in self.links:
            if receiver.credit:
                for holding in [*receiver.holdings.values()]:
                    self._look_for_more(receiver, holding)
        self.look()

    def arrived_for(self, group: str, *, seen: bool = False) -> None:
        """Something has come for a group that somebody may hold here.

        `seen`: whether it was there already when the queue was taken from last.
        """
        self._again = self._again or not seen
        if group in self._by_group:
            self._look_for_more(*self._by_group[group])
        self.look()

    def _look_for_more(self, receiver: ReceiverLink, holding: GroupDelivery) -> None:
        if not holding.held.group or holding.over:
            return
        if holding.asked or holding.waiting or holding.returns or not receiver.credit:
            if holding not in receiver.late:
                receiver.late.append(holding)
            return
        holding.asked = True
        holding.held.page = self._portions.page()
        self._ask(More(holding.held, holding.seen, (self, receiver, holding)))

    def found_more(
        self,
        receiver: ReceiverLink,
        holding: GroupDelivery,
        found: list[Received],
        error: Exception | None,
    ) -> None:
        """What came for a group meanwhile."""
        holding.asked = False
        if holding.over:
            return
        if isinstance(error, StoreError):  # the database is gone for a moment: the group is ours
            receiver.late.append(holding)
        elif error is not None:
            holding.lost = True
        holding.more(found)
        receiver.ready.append(holding)
        self._serve_with(receiver, holding)

    def took(self, call: Take, found: list[TakenGroup], error: Exception | None) -> None:
        """Groups were taken, or could not be."""
        self._taking = False
        if error is None:
            self._portions.found([len(held.messages) for held in found])
        for held in found:
            self._give(GroupDelivery(self.queue, held, self._tries, raises=self._raises))
        self._again = self._again or len(found) == call.most
        if error is None and not self._again:
            self._drained()
        self.look()

    def _drained(self) -> None:
        for receiver in self.links:
            if receiver.drain and receiver.drain <= self._takes and not self._taking:
                receiver.wire.drained(receiver.link)
                receiver.credit = receiver.drain = 0

    def _give(self, holding: GroupDelivery) -> None:
        """To the next link that wants something."""
        for _ in range(len(self.links)):
            receiver = self.links[0]
            self.links.rotate(-1)
            if receiver.wanted and not self.stopped:
                receiver.holdings[holding.held.id] = holding
                holding.held.client = receiver.who.in_full
                if holding.held.group:
                    self._by_group[holding.held.group] = receiver, holding
                receiver.ready.append(holding)
                self._serve_with(receiver, holding)
                return
        self._submit(Unit(self._stored, ends=holding.last(), owner=(None, holding, None)))

    def _serve_with(self, receiver: ReceiverLink, holding: GroupDelivery) -> None:
        """Send what was read of a group, and fill the credit with the rest of it."""
        self.serve(receiver)
        if not holding.is_read:
            self._look_for_more(receiver, holding)
        self._check(receiver, holding)

    def serve(self, receiver: ReceiverLink) -> None:
        """Send what is at hand, as far as the credit goes."""
        ready = receiver.ready
        while receiver.credit > 0 and ready and not (self.stopped or receiver.wire.full):
            holding = ready[0]
            if holding.next:
                self._send(receiver, holding)
            if not holding.next:
                ready.popleft()
            if not holding.open:
                self._check(receiver, holding)

    def _check(self, receiver: ReceiverLink, holding: GroupDelivery) -> None:
        """Settle a group of which nothing is under way, and nothing is left to be given."""
        if holding.open or holding.over or holding.asked:
            return
        if not holding.next:
            self._settle(receiver, holding)
        elif holding.idle_since is None:
            holding.idle_since = self.now

    def _send(self, receiver: ReceiverLink, holding: GroupDelivery) -> None:
        message = holding.give()
        holding.idle_since = None
        attempt = holding.tries_of(message) + 1
        facts = DeliveryFacts(
            *(message.id, message.group, message.type, message.sent, attempt, self.now)
        )
        sections = messages.outgoing(message.envelope, message.body, facts)
        self._portions.sent(len(sections))
        settled = receiver.link.settled
        record = Given(message.number, message.id, message.cost)  # its body is kept no longer
        number = receiver.wire.send(receiver.link, sections, settled=settled)
        receiver.credit -= 1
        if number:
            if not receiver.under_way:
                receiver.still_since = self.now
            receiver.under_way[number] = holding, record
            return
        holding.ended(record, _ACCEPTED if settled else Outcome(0))
        if (holding.open or holding.next) and (part := holding.part()) is not None:
            self._store([part], receiver, holding, None)

    # -------- time

    def tick(self, now: float) -> None:
        """Give back what nobody wants more of, and find what clients keep for too long."""
        self.now = now
        for receiver in [*self.links]:
            if receiver.still_since is not None and now - receiver.still_since >= STILL:
                count, still = len(receiver.under_way), now - receiver.still_since
                settles_nothing(receiver.who, self.queue, count, still)
                receiver.still_since = None
            if receiver.subscription is None and not self.stopped:
                receiver.too_long = receiver.keeps_too_long(now)
            for holding in [*receiver.holdings.values()]:
                since = holding.idle_since
                if since is not None and not holding.open and now - since >= IDLE:
                    self._settle(receiver, holding)

    def stop(self) -> None:
        """Give out nothing more."""
        self.stopped = True

    def lose(self, tokens: set[int]) -> None:
        """Work that is somebody else's by now."""
        for holding in self.holdings:
            if holding.held.token in tokens:
                holding.lost = True
                holding.waiting.clear()
