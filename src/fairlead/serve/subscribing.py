"""What the node asks of a store about subscribers: who subscribes, who leaves, what is left."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from fairlead.balance.change import Change
from fairlead.balance.message import GUARANTEED, REFUSED
from fairlead.balance.objects import repr_of
from fairlead.balance.policies.smartsockets import SMARTSOCKETS
from fairlead.balance.policies.smartsockets_objects import FAILURE
from fairlead.errors import ChangeError, MessageError, NoDestinationError, StaleWorkError
from fairlead.serve.node.calls import GoneError, Send
from fairlead.serve.node.subjects import FAILED, GONE, WARM, SubjectRequest
from fairlead.store.arguments import OWN
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.leasing import StoreWork
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import ACCEPTED, Given, Settlement
from fairlead.store.store import Store
from fairlead.store.transaction import Transaction

SUBSCRIPTIONS: Final = f"{OWN}subscriptions"
"""The queue whose work is the subscriptions that servers keep."""
AT_ONCE: Final = 100
"""Groups of a queue that are taken at once."""
WAIT: Final = 2.0
"""Seconds for a subscription to be given back that another server has just looked at."""
ALIVE: Final = f"{OWN}server:"
"""So a group of SUBSCRIPTIONS begins that a server keeps as long as it lives; its id follows."""


def project(store: Store, host: str) -> str:
    """The cluster that has a virtual host's subjects. Raises GoneError, where it has none."""
    every = {name: store.pool(name) for name in store.clusters()}
    names = [name for name, pool in every.items() if pool.policy == SMARTSOCKETS.name]
    if host in names:
        return host
    if len(names) == 1:
        return names[0]
    if not names:
        raise GoneError(
            f"subject, or topic: found no cluster with the policy {SMARTSOCKETS.name}, allowed: "
            "with one (fairlead serve -c FILE)"
        )
    raise GoneError(
        f"virtual host: found {repr_of(host)}, which has no subjects, allowed: the name of a "
        f"cluster with the policy {SMARTSOCKETS.name}"
    )


def find(store: Store, host: str, name: str) -> str | None:
    """The subject to which a client of this name has subscribed at a virtual host, if it has."""
    for machine in store.pool(project(store, host)).machines:
        if machine.name == name and machine.attributes["present"]:
            return str(machine.attributes["subject"])
    return None


class _SubscriptionNote(Struct):
    """What a message of the queue SUBSCRIPTIONS says: a server has a client with a subscription."""

    cluster: str
    subject: str
    name: str
    queue: str
    durable: bool
    server: str = ""

    @property
    def found(self) -> Subscription:
        return Subscription(self.cluster, self.subject, self.name, self.queue)


class _Own(Struct):
    """A subscription of a client that is here."""

    wanted: SubjectRequest
    work: StoreWork | None
    """None: another server keeps it, which has a client of that name, too."""


class _Leaving(NamedTuple):
    """A client that has left, and for which something is still to be done."""

    work: StoreWork
    told: list[Received]
    """What servers had told of it when it left."""


class _SharedError(Exception):
    """Another server has a client of that name."""


class Subscriptions:
    """The subscriptions of one server's clients, and of servers that are gone.

    Each is a group of the queue SUBSCRIPTIONS, with a message of each server that has a client of
    that name. One of them keeps it as work, as long as its client is there. So where a server dies,
    another one, or itself when it is back, gets that work, and lets the clients go in its place;
    not those of servers that live, as the work shows that these keep for themselves. Thread-safe.
    """

    def __init__(self, store: Store, lease: float) -> None:
        """`lease`: seconds for which the work is taken."""
        self._store, self._lease = store, lease
        self._id = secrets.token_hex(8)
        self._alive: StoreWork | None = None
        """The work that shows that this server lives; there is none before it has a client."""
        self._signing_on = threading.Lock()
        self._is_there = False
        """Whether there is the queue SUBSCRIPTIONS."""
        self._kept: dict[Subscription, _Own] = {}
        self._leaving: dict[Subscription, _Leaving] = {}
        """Of clients that have left: something waits for them that is to go to others."""

    def subscribe(self, wanted: SubjectRequest) -> Subscription:
        """Let a client subscribe. Raises ChangeError, MessageError."""
        cluster = project(self._store, wanted.host)
        self._sign_on()
        with self._store.transaction() as tx:
            subscription = self._subscribe(tx, cluster, wanted)
            if subscription in self._kept:
                return subscription
            body = {**subscription._asdict(), "durable": wanted.durable, "server": self._id}
            tx.send(SUBSCRIPTIONS, body, group=subscription.queue)
            client = self._kept[subscription] = _Own(wanted, None)
        left = self._leaving.pop(subscription, None)
        work = self._take(subscription.queue) if left is None else left.work
        if work is not None:
            client.work = work
        return subscription

    def _sign_on(self) -> None:
        with self._signing_on:
            while self._alive is None:
                self._store.send(SUBSCRIPTIONS, None, group=ALIVE + self._id)
                self._alive = self._take(ALIVE + self._id)

    def stop(self) -> None:
        """The server ends; its clients have left. Another one goes on with what is to be done."""
        for leaving in self._leaving.values():
            with suppress(StaleWorkError):
                leaving.work.release()
        if self._alive is not None:
            with suppress(StaleWorkError):
                self._accept(self._alive, self._told(self._alive))

    def _take(self, group: str) -> StoreWork | None:
        return self._store.take(SUBSCRIPTIONS, WAIT, group=group, lease=self._lease)

    def _subscribe(self, tx: Transaction, cluster: str, wanted: SubjectRequest) -> Subscription:
        return tx.subscribe(
            *(cluster, wanted.subject, wanted.name),
            load_balanced=wanted.load_balanced,
            disconnect_mode=wanted.disconnect_mode,
        )

    def leave(self, subscription: Subscription, how: str) -> bool:
        """Let a client go, or remember it; what waits for one that is gone goes to others.

        Whether that is all; if not, `renew` goes on with it.
        """
        client = self._kept.pop(subscription, None)
        work = (
            client.work
            if client is not None and client.work is not None
            else self._take(subscription.queue)
        )
        if work is not None:  # else another server keeps it
            with suppress(StaleWorkError):  # another server took us for dead, and has let it go
                self._leave(work, subscription, how)
        return subscription not in self._leaving

    def _leave(self, work: StoreWork, subscription: Subscription, how: str) -> None:
        messages = self._told(work)
        mine = [message for message in messages if _told_in(message).server == self._id]
        if len(mine) == len(messages):
            self._let_go(work, messages, subscription, how)
        else:
            self._accept(work, mine)

    def renew(self) -> bool:
        """Keep what is kept; let go the clients of servers that are gone.

        Whether nobody is left who is still to be let go.
        """
        self._keep()
        for subscription, leaving in [*self._leaving.items()]:
            with suppress(StaleWorkError):
                self._go_on(leaving, subscription)
        self._look()
        return not self._leaving

    def _look(self) -> None:
        """See what servers that are gone have left."""
        if not self._is_there:
            try:
                self._store.check_queue(SUBSCRIPTIONS)
            except MessageError:
                return  # nobody has ever subscribed
            self._is_there = True
        works = self._store.take_many(SUBSCRIPTIONS, AT_ONCE, lease=self._lease)
        if not works:
            return
        living = {work.group for work in self._store.working(SUBSCRIPTIONS)}
        living -= {work.group for work in works} | {ALIVE + self._id}
        for work in works:
            with suppress(StaleWorkError):
                self._look_at(work, living)

    def _keep(self) -> None:
        if is_dead := not self._is_extended(self._alive):  # another server took us for that
            self._alive = None
            self._sign_on()
        for subscription, client in [*self._kept.items()]:
            is_lost = is_dead if client.work is None else not self._is_extended(client.work)
            if is_lost and self._kept.pop(subscription, None) is not None:
                self.subscribe(client.wanted)

    def _is_extended(self, work: StoreWork | None) -> bool:
        try:
            if work is not None:
                work.extend(self._lease)
        except StaleWorkError:
            return False
        return True

    def _look_at(self, work: StoreWork, living: set[str]) -> None:
        """See whose work this was that nobody kept."""
        if work.attempt == 1:  # the server that is about to take it has not done so yet
            work.release()
            return
        messages = self._told(work)
        if work.group.startswith(ALIVE):
            self._accept(work, messages)
            return
        try:
            every = [_told_in(message) for message in messages]
        except msgspec.ValidationError as error:
            list(work)
            work.reject(str(error))  # no server has written it
            return
        client = self._kept.get(every[0].found)
        if client is not None and client.work is None:
            client.work = work
        elif any(ALIVE + entry.server in living for entry in every):
            work.release()
        else:
            self._let_go(work, messages, every[0].found, FAILED if every[0].durable else GONE)

    def _told(self, work: StoreWork) -> list[Received]:
        """All that servers have told of a subscription."""
        read = work.held.messages
        return [*read, *self._store.more(work.held, [message.number for message in read])]

    def _accept(self, work: StoreWork, told: Iterable[Received]) -> None:
        """Forget so much of it; what others have told stays."""
        with self._store.transaction() as tx:
            _accept(tx, work, told)

    def _let_go(
        self, work: StoreWork, told: list[Received], subscription: Subscription, how: str
    ) -> None:
        """Let a client go, unless another server tells just now that it has one of that name."""
        target = f"subscriber:{subscription.name}@{subscription.subject}"
        changes = {
            GONE: Change(target, "connected", value=False),
            WARM: Change(target, "connected", WARM),
            FAILED: Change(target, "state", FAILED),
        }
        leaving = _Leaving(work, told)
        is_alone = self._change(leaving, lambda tx: tx.apply(subscription.cluster, changes[how]))
        if is_alone and how != WARM:
            self._leaving[subscription] = leaving
            self._go_on(leaving, subscription)
        else:
            self._accept(work, told)

    def _go_on(self, leaving: _Leaving, subscription: Subscription) -> None:
        """Let what waits for a client that has left go to others; then it is forgotten."""
        work = leaving.work
        try:
            work.extend(self._lease)
            if not self._store.reroute(*subscription[:3]):
                return  # it is warm, or somebody has something of it in hand
            self._change(leaving, lambda tx: tx.unsubscribe(*subscription[:3]))
        except ChangeError:
            pass  # it has come back
        except StaleWorkError:
            self._leaving.pop(subscription, None)
            raise
        if self._leaving.pop(subscription, None) is not None:
            self._accept(work, leaving.told)

    def _change(self, leaving: _Leaving, change: Callable[[Transaction], None]) -> bool:
        """Change a cluster; not where somebody tells just now that he has such a client."""
        numbers = [message.number for message in leaving.told]
        try:
            with self._store.transaction() as tx:
                change(tx)
                # who subscribes has had to wait from here on
                if tx.more(leaving.work.held, numbers):
                    raise _SharedError
        except ChangeError:
            return True  # somebody else has let it go
        except _SharedError:
            return False
        return True


def _accept(tx: Transaction, work: StoreWork, told: Iterable[Received]) -> None:
    held = work.held
    records = [Given(message.number, message.id, message.cost) for message in told]
    end = Settlement(
        *(ACCEPTED, held.id, held.token, held.group, records), redelivers=held.attempt > 1
    )
    tx.settle(work.queue, [end])


def _told_in(message: Received) -> _SubscriptionNote:
    """Raises ValidationError."""
    return msgspec.convert(message.body, _SubscriptionNote)


def publish(store: Store, tx: Transaction, send: Send) -> StoreDecision | None:
    """Publish to a subject; None: it had no subscriber, which is nobody's fault.

    Raises MessageError; NoDestinationError for what is guaranteed, where the cluster's
    `zero_receivers` says that this is a failure.
    """
    try:
        return tx.publish(send.to, send.body, send.said, **send.more)
    except NoDestinationError as error:
        guaranteed = send.said.get("delivery") in GUARANTEED
        if error.outcome == REFUSED or (guaranteed and _is_failure(store, send.to)):
            raise
        return None


def _is_failure(store: Store, cluster: str) -> bool:
    """Whether it is one that nobody gets a guaranteed message."""
    return bool(store.pool(cluster).file["options"]["zero_receivers"] == FAILURE)
