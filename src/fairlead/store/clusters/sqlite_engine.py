"""The verbs of clusters on SQLite: Python does them, in a transaction that is alone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from fairlead.errors import ConfigError
from fairlead.store.clusters.changing import Counting
from fairlead.store.clusters.choosing import ChoiceRequest, Choices
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.held_clusters import HeldByFile
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.publishing import publish
from fairlead.store.clusters.state import TICKET
from fairlead.store.database.port import Database
from fairlead.store.database.savepoint import undone_if_refused
from fairlead.store.queues.outgoing import OutgoingMessage


class SqliteClusters:
    """The engine of a connection to SQLite, in a transaction that runs."""

    def __init__(self, database: Database, memory: ClusterMemory, *, shared: bool) -> None:
        """`SqliteBackend` makes one."""
        self._database = database
        self._memory = memory
        self._shared = shared

    def choose(self, request: ChoiceRequest) -> StoreDecision:
        """As `ClusterEngine` says."""
        with self._undone_if_refused():
            return Choices(self._database, self._memory).decide(request)[1]

    def publish(self, request: ChoiceRequest, outgoing: OutgoingMessage) -> StoreDecision:
        """As `ClusterEngine` says."""
        with self._undone_if_refused():
            choices = Choices(self._database, self._memory)
            return publish(self._database, choices, request, outgoing)

    def can_reserve(self, cluster: str) -> bool:
        """Never: a run is one transaction, and everybody waits for it."""
        del cluster
        return False

    def hold(self, name: str, clusters: Sequence[str], others: str) -> HeldByFile:
        """As `ClusterEngine` says."""
        return HeldByFile(self._database.place, name, clusters, others)

    def check_counting(self, cluster: str, counting: Counting) -> None:
        """As `ClusterEngine` says."""
        if counting.allocation == TICKET:
            raise ConfigError(
                f"cluster {cluster!r}: store.allocation: found 'ticket', allowed on SQLite: "
                "'exact'; one writes at a time there, so nobody would gain anything"
            )

    def _undone_if_refused(self) -> AbstractContextManager[None]:
        return undone_if_refused(self._database) if self._shared else nullcontext()
