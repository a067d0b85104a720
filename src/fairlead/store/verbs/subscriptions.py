"""Subscribe: what a transaction does with subscribers, and a store in one of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from fairlead.balance.objects import MAX_NAME, listed, repr_of
from fairlead.errors import MessageError
from fairlead.store.arguments import cluster_name, name
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.database.retrying import again
from fairlead.store.queues.settlement import Given
from fairlead.store.verbs.alone import alone
from fairlead.store.verbs.store_verbs import StoreVerbs, TransactionVerbs

if TYPE_CHECKING:
    from fairlead.order.outlook import Outlook
    from fairlead.store.clusters.changing import Author
    from fairlead.store.clusters.rerouting import Departed
    from fairlead.store.context import Context
    from fairlead.store.queues.taken_group import TakenGroup
    from fairlead.store.work import HeldWork

FAILURE: Final = "failure"
AT_ONCE: Final = 100
"""Groups of a queue that are rerouted at once."""
WAYS: Final = (FAILURE, "success", "warm")


class SubscriptionVerbs(TransactionVerbs):
    """Subscribe and unsubscribe, in one transaction with the user's own rows."""

    def subscribe(
        self,
        cluster: str,
        subject: str,
        name: str,
        *,
        load_balanced: bool = True,
        disconnect_mode: str = FAILURE,
    ) -> Subscription:
        """Let a client get the messages of a subject from now on, in a cluster of `smartsockets`.

        The result names the queue from which it takes them. `load_balanced=False`: it gets every
        message. `disconnect_mode`: what its failure means: "failure", "success" or "warm". One that
        is there already is connected again, with these settings. One that the cluster's file does
        not list needs `options.subscribers = "any"` there. Raises ChangeError, MessageError.
        """
        from fairlead.store.clusters.subscribing import subscribe

        self._check()
        wanted = _subscription(cluster, subject, name)
        if not isinstance(load_balanced, bool):
            raise MessageError(
                f"load_balanced: found {repr_of(load_balanced)}, allowed: True or False"
            )
        if disconnect_mode not in WAYS:
            raise MessageError(
                f"disconnect_mode: found {repr_of(disconnect_mode)}, allowed: {listed(WAYS)}"
            )
        with self._undone_if_refused():
            return subscribe(
                self._database,
                wanted,
                author_of(self._context),
                load_balanced=load_balanced,
                disconnect_mode=disconnect_mode,
            )

    def unsubscribe(self, cluster: str, subject: str, name: str) -> None:
        """Let a client get the messages of a subject no longer.

        What was sent to it stays in its queue. Raises ChangeError, MessageError.
        """
        from fairlead.store.clusters.subscribing import unsubscribe

        self._check()
        wanted = _subscription(cluster, subject, name)
        with self._undone_if_refused():
            unsubscribe(self._database, wanted, author_of(self._context))


class StoreSubscriptions(StoreVerbs):
    """The same, each in a transaction of its own."""

    take_many: Callable[..., Sequence[HeldWork]]
    later: Callable[..., list[Any]]
    working: Callable[..., list[Any]]
    waiting: Callable[..., Outlook]

    subscribe = alone(SubscriptionVerbs.subscribe)
    unsubscribe = alone(SubscriptionVerbs.unsubscribe)

    def reroute(self, cluster: str, subject: str, name: str) -> bool:
        """Let what waits for a subscriber that has failed or left go to others.

        A guaranteed message goes to one of those that are left, by its own mode, with its own
        sequence, and is `redelivered` there; or its publisher is told, as the options
        `on_receiver_failure` and `zero_receivers` and the subscriber's `disconnect_mode` say. Any
        other is lost. Whether nothing is left to be done: False while a reader holds something or
        the queue gives nothing, or while the subscriber is warm, for which all is kept. Raises
        ChangeError where it is connected, MessageError.
        """
        wanted = _subscription(cluster, subject, name)
        subscriber = self._departed(wanted)
        if subscriber is None:
            return False
        if not subscriber.queue:
            return True
        while works := self.take_many(subscriber.queue, AT_ONCE):
            for work in works:
                messages = [Given(message.number, message.id, message.cost) for message in work]
                self._rerouted(subscriber, work.held, messages)
                work.close()
        # a limit may hold it up, or it is switched off
        left = self.waiting(subscriber.queue, 1).waiting
        return not (left or self.later(subscriber.queue, 1) or self.working(subscriber.queue))

    @again
    def _departed(self, wanted: Subscription) -> Departed | None:
        from fairlead.store.clusters.rerouting import departed

        with self._writing() as database:
            return departed(database, wanted, author_of(self._context))

    @again
    def _rerouted(self, departed: Departed, held: TakenGroup, given: Sequence[Given]) -> None:
        from fairlead.store.clusters.rerouting import reroute

        with self._writing() as database:
            author = author_of(self._context)
            reroute(database, self._context.memory, departed, held, given, author)


def author_of(context: Context) -> Author:
    """Who changes a cluster here, and when."""
    from fairlead.store.clusters.changing import Author

    return Author(context.actor, context.clock())


def _subscription(cluster: object, subject: object, client: object) -> Subscription:
    """Checked, with the queue that a client has that no file lists. Raises MessageError."""
    names = cluster_name(cluster), _name("subject", subject), _name("name", client)
    queue = ":".join(names)
    if len(queue) > MAX_NAME:
        raise MessageError(
            f"subject and name: found {len(queue)} characters with the cluster's, allowed: at most "
            f"{MAX_NAME}"
        )
    return Subscription(*names, queue)


def _name(what: str, value: object) -> str:
    checked = name(what, value)
    if not checked:
        raise MessageError(f"{what}: found {repr_of(value)}, allowed: a name")
    return checked
