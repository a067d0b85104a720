"""The port: what a database does with clusters, on a connection.

On SQLite Python does it (`sqlite_engine.py`). PostgreSQL has functions for the policies that plain
SQL knows, and many may write at one time (`postgresql_engine.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fairlead.store.clusters.changing import Counting
from fairlead.store.clusters.choosing import ChoiceRequest
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.held_clusters import HeldClusters
from fairlead.store.queues.outgoing import OutgoingMessage


class ClusterEngine(Protocol):
    """The verbs of clusters that databases do in different ways."""

    def choose(self, request: ChoiceRequest) -> StoreDecision | None:
        """Choose where a message goes, and count it.

        None, and nothing done: that takes a transaction, and none has begun. Raises MessageError.
        """

    def publish(self, request: ChoiceRequest, outgoing: OutgoingMessage) -> StoreDecision | None:
        """Choose a destination and send the message there; None as `choose` has it.

        Outside a transaction the message hinges on no time, and is routed by its own group and
        type. Raises MessageError, NoDestinationError.
        """

    def can_reserve(self, cluster: str) -> bool:
        """Whether a run can reserve its turns of a cluster. Raises MessageError."""

    def hold(self, name: str, clusters: Sequence[str], others: str) -> HeldClusters:
        """Clusters that the run of this name is about to keep from others. Raises MessageError."""

    def check_counting(self, cluster: str, counting: Counting) -> None:
        """Raises ConfigError where a cluster cannot count so."""
