"""Subscribe: who gets the messages of a subject comes and goes, whether a file lists it or not."""

from __future__ import annotations

from fairlead.balance.change import PRESENT, Change
from fairlead.balance.objects import Ref, listed, repr_of
from fairlead.balance.policies.smartsockets import SMARTSOCKETS, SmartSocketsState
from fairlead.balance.policies.smartsockets_objects import CONNECTED, LISTED, SUBSCRIBER
from fairlead.errors import ChangeError
from fairlead.store.clusters import changing
from fairlead.store.clusters.changing import Author
from fairlead.store.clusters.state import read_row, read_version
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.database.port import Database
from fairlead.store.queues.settings import made_queue


def subscribe(
    database: Database,
    wanted: Subscription,
    author: Author,
    *,
    load_balanced: bool,
    disconnect_mode: str,
) -> Subscription:
    """Let a client join, or come back with these settings; with its queue. Raises ChangeError.

    The queue is there from now on, so that the client can wait at it.
    """
    database.run("may_operate")
    state = state_of(database, wanted.cluster)
    ref = Ref(SUBSCRIBER, wanted.name, wanted.subject)
    settings = {"load_balanced": load_balanced, "disconnect_mode": disconnect_mode}
    before = state.objects.get(ref)
    if before is not None:
        aims = {**settings, CONNECTED: True, PRESENT: True}
        steps = [
            Change(str(ref), attribute, value)
            for attribute, value in aims.items()
            if getattr(before, attribute) != value
        ]
        changing.change(database, wanted.cluster, steps, author)
        wanted = wanted._replace(queue=before.queue or wanted.name)
        made_queue(database, wanted.queue, author.now)
        return wanted
    if state.options.subscribers == LISTED:
        known = [f"{subscriber.name} to {subscriber.owner}" for subscriber in state.refs]
        raise ChangeError(
            f"cluster {wanted.cluster!r}: found the subscriber {wanted.name} to {wanted.subject}, "
            f'allowed: {listed(known)}, or any with options.subscribers = "any"'
        )
    table = {"name": wanted.name, "subject": wanted.subject, "queue": wanted.queue, **settings}
    changing.add(database, wanted.cluster, table, author)
    made_queue(database, wanted.queue, author.now)
    return wanted


def unsubscribe(database: Database, wanted: Subscription, author: Author) -> None:
    """Let a client leave; one that no file lists leaves for good. Raises ChangeError."""
    database.run("may_operate")
    state = state_of(database, wanted.cluster)
    ref = Ref(SUBSCRIBER, wanted.name, wanted.subject)
    if ref not in state.objects:
        known = [subscriber.name for subscriber in state.refs if subscriber.owner == wanted.subject]
        raise ChangeError(
            f"cluster {wanted.cluster!r}: subject {repr_of(wanted.subject)}: found the subscriber "
            f"{repr_of(wanted.name)}, allowed: {listed(known) or 'nobody: it has none'}"
        )
    if changing.lists(database, wanted.cluster, ref):
        steps = [Change(str(ref), PRESENT, value=False)]
        changing.change(database, wanted.cluster, steps, author)
    else:
        changing.remove(database, wanted.cluster, str(ref), author)


def state_of(database: Database, cluster: str) -> SmartSocketsState:
    """A cluster, kept from everybody else. Raises ChangeError where nobody can subscribe."""
    version = read_version(database, read_row(database, cluster, "lock_cluster"))
    state = version.start.cluster
    if not isinstance(state, SmartSocketsState):
        raise ChangeError(
            f"cluster {cluster!r}: found the policy {state.policy.name}, which has no subscribers, "
            f"allowed: {SMARTSOCKETS.name}"
        )
    return state
