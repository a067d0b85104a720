"""The verbs of clusters on PostgreSQL: functions of the schema, for policies that plain SQL knows.

For the others Python chooses, in a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from msgspec.structs import asdict

from fairlead.store.clusters import reserving
from fairlead.store.clusters.changing import Counting
from fairlead.store.clusters.choosing import UNREAD, ChoiceRequest, Choices, as_said
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.held_clusters import HeldBySession
from fairlead.store.clusters.history import published_before
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.publishing import publish
from fairlead.store.clusters.state import NO_PART
from fairlead.store.database.clock import set_clock
from fairlead.store.database.port import Database
from fairlead.store.database.savepoint import undone_if_refused
from fairlead.store.queues.outgoing import OutgoingMessage


class PostgresqlClusters:
    """The engine of a connection to PostgreSQL. Outside a transaction each verb is one itself."""

    def __init__(self, database: Database, memory: ClusterMemory, *, shared: bool) -> None:
        """`PostgresqlBackend` makes one."""
        self._database = database
        self._memory = memory
        self._shared = shared

    def choose(self, request: ChoiceRequest) -> StoreDecision | None:
        """As `ClusterEngine` says."""
        if self._is_known(request) and (decision := self._choose_one(request)):
            return decision
        if self._database.idle:
            return None
        with self._undone_if_refused():
            return Choices(self._database, self._memory).decide(request)[1]

    def publish(self, request: ChoiceRequest, outgoing: OutgoingMessage) -> StoreDecision | None:
        """As `ClusterEngine` says."""
        if self._database.idle:
            return self._publish_one(request, outgoing) if self._is_known(request) else None
        with self._undone_if_refused():
            choices = Choices(self._database, self._memory)
            return publish(self._database, choices, request, outgoing)

    def can_reserve(self, cluster: str) -> bool:
        """Where plain SQL knows the policy, and each turn is counted."""
        return reserving.can_reserve(self._database, cluster)

    def hold(self, name: str, clusters: Sequence[str], others: str) -> HeldBySession:
        """As `ClusterEngine` says."""
        return HeldBySession(self._database, name, clusters, others)

    def check_counting(self, cluster: str, counting: Counting) -> None:
        """It can count in every way."""

    def _is_known(self, request: ChoiceRequest) -> bool:
        """Whether there may be a function: to those policies all that a message says is one."""
        return request.cluster not in self._memory.only_here and not request.message.keys() - UNREAD

    def _choose_one(self, request: ChoiceRequest) -> StoreDecision | None:
        """Choose in one statement; None, and nothing done, where there is no function for it."""
        set_clock(self._database, request.now)
        rows = self._database.run(
            "choose_one",
            cluster=request.cluster,
            group=str(request.message.get("group") or ""),
            key=request.id,
            type=request.message.get("type") or None,
            said=as_said(request.message),
            actor=request.actor,
        )
        return _decision_of(request.cluster, rows[0]) if rows else None

    def _publish_one(
        self, request: ChoiceRequest, outgoing: OutgoingMessage
    ) -> StoreDecision | None:
        """The same, and send the message."""
        set_clock(self._database, request.now)
        rows = self._database.run(
            "publish_one",
            cluster=request.cluster,
            said=as_said(request.message),
            actor=request.actor,
            **asdict(outgoing),
        )
        if not rows:
            return None
        *decided, key = rows[0]
        decision = _decision_of(request.cluster, decided)
        if decision.copies and not decision.to:  # its id was known
            return published_before(self._database, request.cluster, key)
        return decision._replace(messages=() if key is None else (key,))

    def _undone_if_refused(self) -> AbstractContextManager[None]:
        return undone_if_refused(self._database) if self._shared else nullcontext()


def _decision_of(cluster: str, row: Sequence[Any]) -> StoreDecision:
    """A decision as the functions of the database return it."""
    name, address, turn, outcome, version, number, id_ = row
    copies = () if name is None else ((name, address),)
    to = () if name is None or id_ is None else ((id_, NO_PART),)
    return StoreDecision(name, address, turn, outcome, cluster, version, number, copies, to)
