"""What the node asks of the store, done: with threads that wait for the database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from fairlead.errors import MessageError, StoreError, UserError
from fairlead.serve import message as messages
from fairlead.serve.channel_ends import AgreedChannel, ServedManager
from fairlead.serve.node.browsing import MOST
from fairlead.serve.node.calls import (
    ANY,
    CLUSTER,
    PUT,
    QUEUE,
    SUBJECT,
    AgreeChannel,
    Answer,
    Ask,
    Browse,
    Call,
    CloseOpener,
    Find,
    GoneError,
    Leave,
    Make,
    More,
    Project,
    ReceiveBatch,
    Remove,
    Renew,
    Resolve,
    Send,
    Subscribe,
    Take,
    Unit,
    Write,
    Written,
)
from fairlead.serve.selector import facts_of
from fairlead.serve.subscribing import Subscriptions, find, project, publish
from fairlead.serve.temporary import Temporaries
from fairlead.store.channels.kept_queues import OUTBOX, check_put_queue
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.message import Message
from fairlead.store.queues.bodies import Envelope
from fairlead.store.queues.settlement import ACCEPTED, Settlement
from fairlead.store.queues.taken_group import Claim, TakenGroup
from fairlead.store.queues.temporary import TEMPORARY, gone, landing_arguments
from fairlead.store.store import Store
from fairlead.store.transaction import Transaction
from fairlead.store.workers.health import HealthWatch

KNOWN: Final = 10.0
"""Seconds for which what a queue allows is known without asking the store."""
LONG: Final = 5.0
"""Seconds: a store that fails after longer was not refusing: it did not answer."""
SILENT: Final = 0
"""Stands among the tokens of work that could not be stored for all of it; none has it."""
LOOKED_AT: Final = 1000
"""So many messages of a group are looked at for the highest priority."""


class Executor:
    """Executes calls of a node on a store. Thread-safe, as the store is."""

    def __init__(self, store: Store, lease: float, manager: ServedManager | None = None) -> None:
        """`lease`: seconds for which work is taken. `manager`: the queue manager, if it is one."""
        self._store = store
        self._manager = manager
        self._subscriptions = Subscriptions(store, lease)
        self._temporaries = Temporaries(store, lease)
        self._lease = lease
        store.hold_for_others()
        self._most: dict[str, tuple[float, int | None]] = {}
        """Queue → until when it is known for how long a message may be held."""
        self._health = HealthWatch(store)
        self._read: set[str] = set()
        """The queues that somebody receives from."""
        store.claim(lease)  # from now on room is kept for what is taken on a full disk

    def execute(self, call: Call) -> Any:  # noqa: ANN401 - as the call says
        """Its result. Raises UserError."""
        store = self._store
        if isinstance(call, Write):
            return self._round(call.units, call.takes)
        if isinstance(call, Take):
            return self._take(call)
        if isinstance(call, More):
            return store.more(call.held, call.given)
        if isinstance(call, Renew):
            return self._renew(call)
        if isinstance(call, Browse):
            return self._browse(call)
        if isinstance(call, Ask):
            return store.deliveries(call.numbers)
        if isinstance(call, AgreeChannel):
            return self._agree(call)
        if isinstance(call, ReceiveBatch):
            claim = store.claim(self._lease)
            return store.moving.receive_batch(
                call.end, claim, call.number, call.token, call.content
            )
        if isinstance(call, CloseOpener):
            return store.close_opener(call.queue, call.opener)
        return self._of_link(call)

    def _agree(self, call: AgreeChannel) -> AgreedChannel:
        if self._manager is None:
            raise GoneError(
                f"channel: found {call.channel!r}, allowed: a queue, as this server is no queue "
                "manager"
            )
        return self._manager.agree(call.channel, call.properties)

    def _browse(self, call: Browse) -> list[Message]:
        try:
            self._store.check_queue(call.name)
        except MessageError:  # which names those that there are: they are no peer's business
            raise GoneError(f"{call.name}: found no queue that is called so") from None
        waiting = self._store.peek(call.name, most=MOST, groups=MOST, room=call.room)
        wanted = call.wanted
        if wanted is None:
            return waiting
        return [message for message in waiting if wanted(facts_of(message))]

    def _of_link(self, call: Resolve | Make | Remove | Project | Find | Subscribe | Leave) -> Any:  # noqa: ANN401 - as the call says
        """What a link is for, and what goes with it."""
        if isinstance(call, Find):
            return find(self._store, call.host, call.name)
        if isinstance(call, Project):
            return project(self._store, call.host)
        if isinstance(call, Subscribe):
            return self._subscriptions.subscribe(call.wanted)
        if isinstance(call, Make):
            return self._temporaries.make()
        if isinstance(call, Remove):
            return self._temporaries.remove(call.address)
        if isinstance(call, Leave):
            return self._subscriptions.leave(call.subscription, call.how)
        return self._resolve(call)

    def stop(self) -> None:
        """The server ends. Raises UserError."""
        self._subscriptions.stop()

    def _renew(self, call: Renew) -> tuple[list[int], bool]:
        """Work first: whatever becomes of subscriptions, it is kept."""
        lost: list[int] = []
        if every := [held for groups in call.held.values() for held in groups]:
            with self._store.transaction() as tx:
                lost = tx.renew(every, self._lease)
            for queue, groups in call.held.items():
                self._limited(queue, groups)
        self._temporaries.renew()
        return lost, self._subscriptions.renew()

    def _take(self, call: Take) -> list[TakenGroup]:
        if not self._store.ready(call.queue):  # a look costs less than a take that finds nothing
            return []
        works = self._store.take_now(call.queue, self._claim(call))
        return self._limited(call.queue, [work.held for work in works])

    def _limited(self, queue: str, found: list[TakenGroup]) -> list[TakenGroup]:
        """What is held, with how long its messages may be."""
        if found:
            until, most = self._most.get(queue, (0.0, None))
            if time.monotonic() >= until:
                with suppress(UserError):  # a database that is gone is asked again
                    most = self._store.max_seconds(queue)
                self._most[queue] = time.monotonic() + KNOWN, most
            for held in found:
                held.max_seconds = most
        return found

    def _round(self, units: list[Unit], takes: list[Take]) -> Written:
        """Do units, and take, in one transaction; where something is refused, in several."""
        if not units:
            return Written([], [self._tried(take) for take in takes])
        began = time.monotonic()
        try:
            taken = self._write(units, takes)
            for call, result in zip(takes, taken, strict=True):
                if isinstance(result, list):
                    self._limited(call.queue, result)
            return Written([None] * len(units), taken)
        except UserError as error:
            if _is_silent(error, began):
                return Written([error] * len(units), [error] * len(takes))
            return Written(self.write(units), [self._tried(take) for take in takes])

    def _tried(self, call: Take) -> list[TakenGroup] | Exception:
        try:
            return self._take(call)
        except UserError as error:
            return error

    def write(self, units: list[Unit]) -> list[Exception | None]:
        """Do units in one transaction; where one is refused, in several."""
        return self._in_parts(units, {})

    def _in_parts(self, units: list[Unit], missed: dict[int, StoreError]) -> list[Exception | None]:
        """`missed`: work of which something could not be stored; nor is what follows of it, then.

        So what is said of it is stored in its order, though the database may be back meanwhile.
        Where the database did not answer, no part is tried: peers would wait for each of them.
        """
        began = time.monotonic()
        if silent := missed.get(SILENT):
            return [silent] * len(units)
        try:
            for token in missed and (token for unit in units for token in unit.tokens):
                if token in missed:
                    raise missed[token]
            self._write(units)
        except UserError as error:
            if isinstance(error, StoreError) and _is_silent(error, began):
                missed[SILENT] = error
                return [error] * len(units)
            if len(units) == 1:
                if isinstance(error, StoreError):
                    missed.update(dict.fromkeys(units[0].tokens, error))
                return [error]
            half = len(units) // 2
            first = self._in_parts(units[:half], missed)
            return [*first, *self._in_parts(units[half:], missed)]
        return [None] * len(units)

    def _write(
        self, units: list[Unit], takes: Sequence[Take] = ()
    ) -> list[list[TakenGroup] | Exception]:
        self._read.update(take.queue for take in takes)
        if any(unit.sends for unit in units):
            taken = self._do(units, takes)
        else:
            taken = self._store.even_if_full(lambda: self._do(units, takes))  # it makes room
        if self._health.watches:
            self._tell_health(units)
        return taken

    def look_at_health(self) -> None:
        """See how the destinations stand whose queues are received from. Raises StoreError."""
        self._health.look(self._read)

    def _tell_health(self, units: list[Unit]) -> None:
        """A message that its receiver has failed with is a failure; one that it rejects is none."""
        for ending in (ending for unit in units for ending in unit.ends):
            end = ending.end
            if end.failed:
                self._health.heard(ending.queue, end.reason or "its receiver has failed")
            elif end.kind == ACCEPTED and len(end.given) > len(end.dead):
                self._health.heard(ending.queue, None)

    def _do(self, units: list[Unit], takes: Sequence[Take]) -> list[list[TakenGroup] | Exception]:
        claims = [self._claim(take) for take in takes]
        for take in takes:
            self._store.tend(take.queue)
        missing = self._missing(units)
        sends = (send for unit in units for send in unit.sends)
        for name in {send.to for send in sends if send.kind in {CLUSTER, ANY}}:
            self._store.refuse_held(name)
        with self._store.taking() as took:
            with self._store.transaction() as tx:
                _Doing(self._store, tx, missing, self._manager).do(units)
                taken = [
                    tx.take_now(take.queue, claim)
                    for take, claim in zip(takes, claims, strict=True)
                ]
            took(held for groups in taken for held in groups)
        return list(taken)

    def _claim(self, call: Take) -> Claim:
        claim = self._store.claim(self._lease, most=call.most, page=call.page, group=call.group)
        if not call.client:
            return claim
        return claim._replace(actor=f"{claim.actor} for {call.client}".replace("\0", " "))

    def _missing(self, units: list[Unit]) -> set[str]:
        """Temporary queues that are not there any more, of those that something is for."""
        named = {
            to
            for unit in units
            for send in unit.sends
            for to in (send.to, send.answer.to if send.answer else "")
            if to.startswith(TEMPORARY)
        }
        return self._temporaries.missing(named) if named else named

    def _resolve(self, call: Resolve) -> str:
        kind = kind_of(self._store, call.name)
        if kind == QUEUE and call.name.startswith(TEMPORARY):
            for address in self._temporaries.missing({call.name}):
                raise GoneError(gone(address))
        return kind


def kind_of(store: Store, name: str) -> str:
    """What is called so."""
    if name in store.clusters():
        return CLUSTER
    return PUT if store.opened_queue(name).goes_by_cluster else QUEUE


def _is_silent(error: UserError, began: float) -> bool:
    """Whether the store took so long to fail that nobody answers there."""
    return isinstance(error, StoreError) and time.monotonic() - began > LONG


class _Doing:
    """Units of work in one transaction: the sends to one queue together, then what is settled."""

    def __init__(
        self, store: Store, tx: Transaction, missing: set[str], manager: ServedManager | None
    ) -> None:
        """`tx`: open; whoever made it commits it. `missing`: temporary queues that are gone."""
        self._manager = manager
        self._store, self._tx, self._missing = store, tx, missing
        self._batches: dict[str, list[dict[str, Any]]] = {}
        self._ends: dict[str, list[Settlement]] = {}
        self._raised: list[tuple[str, TakenGroup, Settlement]] = []
        """Groups that are let go of, and are to be raised by what waits in them."""
        self._reads: dict[str, list[str]] = {}
        """What the policies of clusters read of a message."""
        self._kinds: dict[str, str] = {}

    def do(self, units: Iterable[Unit]) -> None:
        """All of these, in their order."""
        for unit in units:
            unit.answers = [self._send(send) for send in unit.sends]
            for ending in unit.ends:
                self._ends.setdefault(ending.queue, []).append(ending.end)
                if ending.raises:
                    self._raised.append((ending.queue, ending.held, ending.end))
        for queue in sorted(self._batches):
            self._tx.send_many(queue, self._batches[queue])
        raised = [
            (queue, held.group, self._highest(held, end)) for queue, held, end in self._raised
        ]
        for queue in sorted(self._ends):
            self._tx.settle(queue, self._ends[queue])
        for queue, group, priority in raised:
            if priority is not None:
                self._tx.prioritise(queue, group, priority)

    def _highest(self, held: TakenGroup, end: Settlement) -> int | None:
        """The highest priority of what waits in a group behind what is done; None: nothing does."""
        numbers = [message.number for message in end.given]
        priorities: list[int] = []
        while len(numbers) < LOOKED_AT and (more := self._tx.more(held, numbers)):
            numbers += [message.number for message in more]
            priorities += [
                messages.priority_in(message.envelope) for message in more if message.envelope
            ]
        return max(priorities, default=None)

    def _send(self, send: Send) -> object:
        if send.kind == ANY:
            send.kind = self._kind_of(send.to)
        if send.kind == SUBJECT:
            return publish(self._store, self._tx, send)
        if send.kind == CLUSTER:
            return self._publish(send)
        if send.kind == PUT:
            return self._put(send)
        self._later(send.to, {"body": send.body, **send.more})
        return None

    def _kind_of(self, name: str) -> str:
        if name not in self._kinds:
            self._kinds[name] = kind_of(self._store, name)
        return self._kinds[name]

    def _put(self, send: Send) -> StoreDecision:
        """By the link on which it came the queue is open, if it came on one for that queue."""
        body = send.body
        if self._manager is not None and send.reply_to and isinstance(body, Envelope):
            body = messages.answered_at(body, self._manager.name)
        return self._tx.put(send.to, body, send.said, **send.more)

    def _publish(self, send: Send) -> StoreDecision:
        """Of what a program says in its application properties, the policy gets what it reads."""
        if send.to not in self._reads:
            self._reads[send.to] = self._store.pool(send.to).reads
        attributes = {name: send.said[name] for name in self._reads[send.to] if name in send.said}
        decision = self._tx.publish(send.to, send.body, attributes, **send.more)
        if send.answer is not None:
            self._later(send.answer.to, _answer(decision, send.answer))
        return decision

    def _later(self, queue: str, message: dict[str, Any]) -> None:
        if self._manager is not None or not queue.startswith(OUTBOX):  # only managers have these
            check_put_queue(queue)
        if queue in self._missing:
            raise GoneError(gone(queue))
        lies_in, message = landing_arguments(queue, message)
        self._batches.setdefault(lies_in, []).append(message)


def _answer(decision: StoreDecision, wanted: Answer) -> dict[str, Any]:
    fields = {
        "destination": decision.destination,
        "address": decision.address,
        "sequence": decision.sequence,
        "outcome": decision.outcome,
    }
    return {"body": messages.answer(decision.destination, fields, wanted.correlation)}
