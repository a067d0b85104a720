"""What the node asks of a store about subscribers: who subscribes, who leaves, what is left."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlead.balance.change import Change
from fairlead.balance.message import GUARANTEED, REFUSED
from fairlead.balance.objects import listed, repr_of
from fairlead.balance.policies.smartsockets import SMARTSOCKETS
from fairlead.balance.policies.smartsockets_objects import FAILURE
from fairlead.errors import ChangeError, MessageError, NoDestinationError, StaleWorkError
from fairlead.serve import message as messages
from fairlead.serve.node.calls import OWN, SUBJECT, Send
from fairlead.serve.node.subjects import FAILED, GONE, WARM, Wanted, said_in
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.leasing import StoreWork
from fairlead.store.store import Store
from fairlead.store.transaction import Transaction

SUBSCRIPTIONS: Final = f"{OWN}subscriptions"
"""The queue whose work is the subscriptions that servers keep."""
AT_ONCE: Final = 100
"""Groups of a queue that are taken at once."""
AGAIN: Final = 1.0
"""Seconds until somebody looks again at what has not come back yet."""
WAIT: Final = 2.0
"""Seconds for a subscription to be given back that another server has just looked at."""
LEFT: Final = "its subscriber has left"


def project(store: Store, host: str) -> str:
    """The cluster that has a virtual host's subjects. Raises MessageError."""
    every = {name: store.pool(name) for name in store.clusters()}
    found = [name for name, pool in every.items() if pool.policy == SMARTSOCKETS.name]
    if host in found:
        return host
    if len(found) == 1:
        return found[0]
    if not found:
        raise MessageError(
            f"subject: found no cluster with the policy {SMARTSOCKETS.name}, allowed: with one "
            "(fairlead serve -c FILE)"
        )
    raise MessageError(f"virtual host: found {repr_of(host)}, allowed: {listed(found)}")


class _Kept(Struct):
    """What a message of the queue SUBSCRIPTIONS says."""

    cluster: str
    subject: str
    name: str
    queue: str
    durable: bool

    @property
    def found(self) -> Subscription:
        return Subscription(self.cluster, self.subject, self.name, self.queue)


class Subscriptions:
    """The subscriptions of one server's clients, and of servers that are gone.

    Each is work in the queue SUBSCRIPTIONS that the server keeps as long as its client is there.
    So where a server dies, another one, or itself when it is back, gets that work, and lets the
    clients go in its place. Thread-safe.
    """

    def __init__(self, store: Store, lease: float, server: str) -> None:
        """`lease`: seconds for which the work is taken."""
        self._store, self._lease, self._server = store, lease, server
        self._is_there = False
        """Whether there is the queue SUBSCRIPTIONS."""
        self._kept: dict[Subscription, tuple[StoreWork, Wanted]] = {}

    def subscribe(self, wanted: Wanted) -> Subscription:
        """Let a client subscribe. Raises ChangeError, MessageError."""
        cluster = project(self._store, wanted.host)
        with self._store.transaction() as tx:
            found = self._subscribe(tx, cluster, wanted)
            if found in self._kept:
                return found
            told = {**found._asdict(), "durable": wanted.durable}
            tx.send(SUBSCRIPTIONS, told, group=found.queue)
        work = self._store.take(SUBSCRIPTIONS, WAIT, group=found.queue, lease=self._lease)
        if work is not None:  # else another server has a client of this name, and keeps it
            list(work)
            self._kept[found] = work, wanted
        return found

    def _subscribe(self, tx: Transaction, cluster: str, wanted: Wanted) -> Subscription:
        return tx.subscribe(
            *(cluster, wanted.subject, wanted.name),
            load_balanced=wanted.load_balanced,
            disconnect_mode=WARM if wanted.durable else FAILURE,
        )

    def leave(self, found: Subscription, how: str) -> None:
        """Let a client go, or remember it; what waits for one that is gone goes to others."""
        over = self._let_go(found, how)
        kept = self._kept.pop(found, None)
        if kept is not None:
            with suppress(StaleWorkError):
                _end(kept[0], over=over)

    def renew(self) -> None:
        """Keep what is kept; let go the clients of servers that are gone."""
        for found, (work, wanted) in [*self._kept.items()]:
            try:
                work.extend(self._lease)
            except StaleWorkError:  # another server took us for dead
                if self._kept.pop(found, None) is not None:
                    self.subscribe(wanted)
        if not self._is_there:
            try:
                self._store.check_queue(SUBSCRIPTIONS)
            except MessageError:
                return  # nobody has ever subscribed
            self._is_there = True
        for work in self._store.take_many(SUBSCRIPTIONS, AT_ONCE, lease=self._lease):
            if work.attempt == 1:  # the server that is about to take it has not done so yet
                work.release()
                continue
            try:
                every = [msgspec.convert(message.body, _Kept) for message in work]
            except msgspec.ValidationError as error:
                work.reject(str(error))  # no server has written it
                continue
            ends = [self._let_go(each.found, FAILED if each.durable else GONE) for each in every]
            _end(work, over=all(ends))

    def _let_go(self, found: Subscription, how: str) -> bool:
        """Whether that is all; not, while something of what it had comes back only later."""
        target = f"subscriber:{found.name}@{found.subject}"
        try:
            if how == WARM:
                self._store.apply(found.cluster, Change(target, "connected", WARM))
            elif how == FAILED:
                self._store.apply(found.cluster, Change(target, "state", FAILED))
            else:
                self._store.unsubscribe(found.cluster, found.subject, found.name)
        except ChangeError:
            pass  # somebody else has let it go
        return how != GONE or self._clear(found)

    def _clear(self, found: Subscription) -> bool:
        while works := self._store.take_many(found.queue, AT_ONCE):
            for work in works:
                with self._store.transaction() as tx:
                    self._pass_on(tx, found, work)
        return not self._store.later(found.queue, 1)

    def _pass_on(self, tx: Transaction, found: Subscription, work: StoreWork) -> None:
        """What is guaranteed is published again; what is not, is lost, as the document has it."""
        dead = False
        for message in work:
            envelope = message.envelope
            if envelope is None:  # a program in Python or SQL published it: nobody knows its mode
                dead = True
                continue
            again = messages.incoming(messages.redelivered(envelope))
            said = said_in(again, found.subject, self._server)
            if isinstance(said, dict) and said.get("delivery") in GUARANTEED:
                more: dict[str, Any] = {"group": message.group, "type": message.type}
                kept = {key: value for key, value in more.items() if value}
                publish(self._store, tx, Send(found.cluster, SUBJECT, again.body, kept, said))
        if dead:
            tx.reject(LEFT, work)
        else:
            tx.accept(work)


def _end(work: StoreWork, *, over: bool) -> None:
    if over:
        work.accept()
    else:
        work.release(AGAIN)


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
