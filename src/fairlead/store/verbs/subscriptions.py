"""Subscribe: what a transaction does with subscribers, and a store in one of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, TypeVar

from fairlead.balance.objects import MAX_NAME, listed, repr_of
from fairlead.errors import MessageError
from fairlead.store.arguments import cluster_name, name
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.database.port import Database

if TYPE_CHECKING:
    from fairlead.store.clusters.changing import Author
    from fairlead.store.verbs.clusters import ClusterVerbs

FAILURE: Final = "failure"
WAYS: Final = (FAILURE, "success", "warm")

_Found = TypeVar("_Found")


class SubscriptionVerbs(ABC):
    """Subscribe and unsubscribe, in one transaction with the user's own rows."""

    _database: Database

    @abstractmethod
    def _check(self) -> None:
        """Raises what keeps anything from being done here."""

    @abstractmethod
    def _undone_if_refused(self) -> AbstractContextManager[None]:
        """What is refused in the block has done nothing."""

    @abstractmethod
    def _author(self) -> Author:
        """Who subscribes, and when."""

    def subscribe(
        self,
        cluster: str,
        subject: str,
        name: str,
        *,
        load_balanced: bool = True,
        disconnect_mode: str = FAILURE,
    ) -> Subscription:
        """Let a client get the messages of a subject, as `Store.subscribe` does."""
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
                self._author(),
                load_balanced=load_balanced,
                disconnect_mode=disconnect_mode,
            )

    def unsubscribe(self, cluster: str, subject: str, name: str) -> None:
        """Let a client get them no longer, as `Store.unsubscribe` does."""
        from fairlead.store.clusters.subscribing import unsubscribe

        self._check()
        wanted = _subscription(cluster, subject, name)
        with self._undone_if_refused():
            unsubscribe(self._database, wanted, self._author())


class StoreSubscriptions(ABC):
    """The same, each in a transaction of its own."""

    @abstractmethod
    def _alone_in(self, verb: Callable[[ClusterVerbs], _Found]) -> _Found:
        """What a verb does in a transaction of its own."""

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
        return self._alone_in(
            lambda tx: tx.subscribe(
                *(cluster, subject, name),
                load_balanced=load_balanced,
                disconnect_mode=disconnect_mode,
            )
        )

    def unsubscribe(self, cluster: str, subject: str, name: str) -> None:
        """Let a client get the messages of a subject no longer.

        What was sent to it stays in its queue. Raises ChangeError, MessageError.
        """
        self._alone_in(lambda tx: tx.unsubscribe(cluster, subject, name))


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


def _name(what: str, found: object) -> str:
    checked = name(what, found)
    if not checked:
        raise MessageError(f"{what}: found {repr_of(found)}, allowed: a name")
    return checked
