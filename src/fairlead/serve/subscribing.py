"""What the node asks of a store about subscribers: who subscribes, who leaves, what is left."""

from __future__ import annotations

from typing import Any, Final

from fairlead.balance.change import Change
from fairlead.balance.message import GUARANTEED, REFUSED
from fairlead.balance.objects import listed, repr_of
from fairlead.balance.policies.smartsockets import SMARTSOCKETS
from fairlead.balance.policies.smartsockets_objects import FAILURE
from fairlead.errors import ChangeError, MessageError, NoDestinationError
from fairlead.serve import message as messages
from fairlead.serve.node.calls import Leave, Send, Subscribe
from fairlead.serve.node.subjects import FAILED, GONE, WARM, said_in
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.leasing import StoreWork
from fairlead.store.store import Store
from fairlead.store.transaction import Transaction

AT_ONCE: Final = 100
"""Groups of a queue that nobody reads any more."""
LEFT: Final = "its subscriber has left"


def project(store: Store, host: str) -> str:
    """The cluster that has a virtual host's subjects. Raises MessageError."""
    every = {name: store.pool(name) for name in store.clusters()}
    found = [name for name, pool in every.items() if pool.policy == SMARTSOCKETS.name]
    if host in found:
        return host
    if len(found) == 1:
        return found[0]
    allowed = listed(found) or f"none: no cluster has the policy {SMARTSOCKETS.name}"
    raise MessageError(f"virtual host: found {repr_of(host)}, allowed: {allowed}")


def subscribe(store: Store, call: Subscribe) -> Subscription:
    """Let a client subscribe. Raises ChangeError, MessageError."""
    wanted = call.wanted
    return store.subscribe(
        project(store, wanted.host),
        wanted.subject,
        wanted.name,
        load_balanced=wanted.load_balanced,
        disconnect_mode=WARM if wanted.durable else FAILURE,
    )


def leave(store: Store, call: Leave, server: str) -> None:
    """Let a client go, or remember it; what waits for one that is gone goes to others."""
    found = call.subscription
    target = f"subscriber:{found.name}@{found.subject}"
    try:
        if call.how == WARM:
            store.apply(found.cluster, Change(target, "connected", WARM))
        elif call.how == FAILED:
            store.apply(found.cluster, Change(target, "state", FAILED))
        else:
            store.unsubscribe(found.cluster, found.subject, found.name)
    except ChangeError:
        return  # somebody else has let it go
    if call.how == GONE:
        _clear(store, found, server)


def _clear(store: Store, found: Subscription, server: str) -> None:
    while works := store.take_many(found.queue, AT_ONCE):
        for work in works:
            with store.transaction() as tx:
                _pass_on(store, tx, found, work, server)


def _pass_on(
    store: Store, tx: Transaction, found: Subscription, work: StoreWork, server: str
) -> None:
    """What is guaranteed is published again; what is not, is lost, as the document has it."""
    dead = False
    for message in work:
        envelope = message.envelope
        if envelope is None:  # a program in Python or SQL published it: nobody knows its mode
            dead = True
            continue
        again = messages.incoming(messages.redelivered(envelope))
        said = said_in(again, found.subject, server)
        if isinstance(said, dict) and said.get("delivery") in GUARANTEED:
            more: dict[str, Any] = {"group": message.group, "type": message.type}
            kept = {key: value for key, value in more.items() if value}
            publish(store, tx, Send(found.cluster, "", again.body, kept, said))
    if dead:
        tx.reject(LEFT, work)
    else:
        tx.accept(work)


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
