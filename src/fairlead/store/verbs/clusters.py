"""What a transaction does with clusters, and what a store does with them in one of its own.

What only clusters need is imported where it is used: who has queues alone loads no policy.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from fairlead.balance.message import CONTROL
from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError, StoreError
from fairlead.store.arguments import cluster_name, name, run_name, whole
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.context import Context
from fairlead.store.database.clock import set_clock, time_of
from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again
from fairlead.store.queues.outgoing import (
    TIMED,
    OutgoingMessage,
    Sending,
    attributes_of,
    outgoing,
    published_of,
)
from fairlead.store.verbs.alone import alone
from fairlead.store.verbs.store_verbs import StoreVerbs, TransactionVerbs
from fairlead.store.verbs.subscriptions import author_of

if TYPE_CHECKING:
    from fairlead.balance.change import Change
    from fairlead.balance.cluster import Cluster
    from fairlead.balance.decision import Decision
    from fairlead.store.clusters.bulk_runs import BulkRun
    from fairlead.store.clusters.choosing import ChoiceRequest
    from fairlead.store.clusters.deliveries import Delivery
    from fairlead.store.clusters.engine import ClusterEngine
    from fairlead.store.clusters.held_clusters import HeldClusters
    from fairlead.store.clusters.reserving import PreparedTurns, Reservation
    from fairlead.store.clusters.shares import PoolShares
    from fairlead.store.clusters.staging import StagedRun

NOTHING: Final[Mapping[str, object]] = {}


class ClusterVerbs(TransactionVerbs):
    """Choose, publish and change, in one transaction with the user's own rows."""

    _shared: bool
    _run: int | None = None
    """The number of the run of many messages that was begun."""

    def next_destination(self, cluster: str, /, **message: object) -> StoreDecision:
        """Choose where a message goes, and count it, as `Store.next_destination` does."""
        self._check()
        request = _asked(self._context, cluster, message)
        return _begun(self._engine_of_clusters.choose(request))

    def publish(
        self,
        cluster: str,
        body: object,
        message: Mapping[str, object] = NOTHING,
        **more: Unpack[Sending],
    ) -> StoreDecision:
        """Choose a destination and send a message to its queue, as `Store.publish` does."""
        self._check()
        self._context.check_disk()
        timed = not TIMED.isdisjoint(more)
        now = time_of(self._database, self._context.clock()) if timed else 0
        wanted = _publication(self._context, cluster, message, body, now, **more)
        return _begun(self._engine_of_clusters.publish(*wanted))

    def publish_many(
        self, cluster: str, messages: Iterable[Mapping[str, Any]]
    ) -> list[StoreDecision]:
        """Publish messages, as `Store.publish_many` does."""
        from fairlead.store.clusters.publishing import first_decision, no_destination

        wanted = cluster_name(cluster)
        every = list(messages)
        with self._undone_if_refused():
            decisions = self.publish_as_found(wanted, every)
            for place, decision in enumerate(decisions):
                if decision is not None and not decision.copies and decision.outcome != CONTROL:
                    raise no_destination(wanted, decision.outcome, f"message {place}: ")
            return [
                first_decision(self._database, wanted, str(message["id"]))
                if decision is None
                else decision
                for message, decision in zip(every, decisions, strict=True)
            ]

    def publish_as_found(
        self, cluster: str, messages: Sequence[Mapping[str, Any]]
    ) -> list[StoreDecision | None]:
        """The same, but a message that has no destination is left out, and no other with it.

        Its decision has the `outcome` that says why, no sequence and no copies. None: its id is
        known, and it was not published again.
        """
        from fairlead.store.clusters.choosing import Choices
        from fairlead.store.clusters.publishing import publish_many

        self._check()
        self._context.check_disk()
        now = time_of(self._database, self._context.clock())
        batch, requests = [], []
        for message in messages:
            new_message, attributes = published_of(message, now)
            batch.append(new_message)
            requests.append(_asked(self._context, cluster, attributes, new_message.key or ""))
        if not batch:
            return []
        memory = self._context.memory
        with self._undone_if_refused():
            choices = Choices(self._database, memory, self._run)
            return publish_many(self._database, choices, memory, requests, batch)

    def begin_run(self, name: str, batch: int = 0) -> None:
        """Begin a run of many messages, which is brought once: its name stays with the store.

        `batch`: which part of it, where it comes in several, each with a higher number. The rest of
        the transaction is this part. Raises MessageError where it was brought before.
        """
        from fairlead.store.clusters.bulk_runs import begin_run

        self._check()
        whole("batch", batch, 0)
        context = self._context
        with self._undone_if_refused():
            self._run = begin_run(
                self._database, run_name(name), batch, context.clock(), context.actor
            )

    def end_run(self, name: str, messages: int) -> None:
        """End what was begun with `begin_run`. `messages`: how many were published."""
        self._check()
        whole("messages", messages, 0)
        self._database.run("end_bulk_run", name=run_name(name), messages=messages)

    def hold_clusters(self, hold: HeldClusters) -> None:
        """Keep the clusters of a run from everybody else until the transaction ends."""
        self._check()
        hold.begin(self._database)

    def reserve_turns(
        self, number: int, cluster: str, count: int, prepared: PreparedTurns
    ) -> Reservation:
        """Reserve turns of a cluster for a run; whoever chooses next goes on behind them.

        Where it has no destination, none is reserved. Raises QueueFullError.
        """
        from fairlead.store.clusters.reserving import reserve

        self._check()
        context = self._context
        return reserve(
            self._database,
            context.memory,
            prepared,
            run=number,
            name=cluster_name(cluster),
            count=count,
            clock=context.clock(),
            actor=context.actor,
        )

    def publish_staged(
        self, number: int, reservations: Iterable[Reservation], rows: Mapping[str, int]
    ) -> dict[str, dict[str | None, int]]:
        """Publish what was brought of a run: by cluster, how many to each destination.

        `rows`: by cluster, how many there are. None: how many were not published, as their ids were
        meanwhile. Raises as `publish_many`.
        """
        self._check()
        set_clock(self._database, self._context.clock())
        actor = self._context.actor
        sent: dict[str, dict[str | None, int]] = {}
        for reservation in reservations:
            counts = self._database.run(
                "decide_staged",
                number=number,
                cluster=reservation.cluster,
                rows=rows[reservation.cluster],
                first=reservation.first,
                version=reservation.version,
                choices=reservation.choices,
                actor=actor,
            )
            sent[reservation.cluster] = dict(counts)
        self._database.run("send_staged", number=number, actor=actor)
        return sent

    def completed(self, decision: StoreDecision, by: str | None = None) -> None:
        """A message that was chosen for, and not published here, is done.

        `by`: the destination, where the message went to several and one of them is done. Raises
        MessageError.
        """
        from fairlead.balance.decision import who_completes
        from fairlead.store.clusters.completing import completed
        from fairlead.store.clusters.state import read_row

        self._check()
        if not isinstance(decision, StoreDecision):
            raise MessageError(
                f"completed: found {repr_of(decision)}, allowed: what next_destination returned"
            )
        by = who_completes(decision.outcome, [name for name, _ in decision.copies], by)
        row = read_row(self._database, decision.cluster, "cluster")
        if not row.rule:  # a rule that plain SQL knows does not look at what is pending
            completed(self._database, row.id, decision, by)

    def cluster_version(self, cluster: str) -> int:
        """How many steps of changes it has seen; nobody else changes it until the transaction ends.

        So whoever has looked at it can make sure that he changes what he has seen. Raises
        MessageError.
        """
        from fairlead.store.clusters.state import read_row

        self._check()
        with self._undone_if_refused():
            return read_row(self._database, cluster_name(cluster), "lock_cluster").version

    def change(self, cluster: str, target: str, attribute: str, value: object = None) -> None:
        """Change an attribute of a destination, from the next choice on, for everybody.

        As a row of a file of changes: `change("pool", "DEV3", "enabled", False)`. Raises
        ChangeError, MessageError.
        """
        from fairlead.balance.change import Change

        self.apply(cluster, Change(target, attribute, value))

    def apply(self, cluster: str, changes: Change | Iterable[Change]) -> None:
        """Make several changes as one step, as `Store.apply` does."""
        from fairlead.balance.changes import changes_in
        from fairlead.store.clusters import changing

        self._check()
        every = changes_in(changes)
        with self._undone_if_refused():
            changing.change(self._database, cluster_name(cluster), every, author_of(self._context))

    def add_destination(self, cluster: str, destination: Mapping[str, Any]) -> None:
        """Add a destination that the cluster's file does not list: a `[[destination]]` as a table.

        Raises ChangeError, ConfigError, MessageError.
        """
        from fairlead.store.clusters import changing

        self._check()
        with self._undone_if_refused():
            changing.add(
                self._database, cluster_name(cluster), destination, author_of(self._context)
            )

    def remove_destination(self, cluster: str, destination: str) -> None:
        """Remove a destination for good; what was sent to it stays in its queue.

        Raises ChangeError, ConfigError, MessageError.
        """
        from fairlead.store.clusters import changing

        self._check()
        with self._undone_if_refused():
            changing.remove(
                self._database, cluster_name(cluster), destination, author_of(self._context)
            )

    def reset(self, cluster: str) -> None:
        """Count everybody as not served. Raises ChangeError, MessageError."""
        from fairlead.balance.change import RESET

        self.change(cluster, cluster, RESET)

    @property
    def _engine_of_clusters(self) -> ClusterEngine:
        context = self._context
        return context.backend.clusters(self._database, context.memory, shared=self._shared)


def _asked(
    context: Context, cluster: object, message: Mapping[str, object], id_: str = ""
) -> ChoiceRequest:
    from fairlead.store.clusters.choosing import ChoiceRequest

    return ChoiceRequest(cluster_name(cluster), message, context.clock(), context.actor, id_)


def _publication(
    context: Context,
    cluster: object,
    message: Mapping[str, object],
    body: object,
    now: int,
    **more: Unpack[Sending],
) -> tuple[ChoiceRequest, OutgoingMessage]:
    """What is to be chosen, and what is to be sent there. `now`: 0 where no time matters."""
    new_message = outgoing(body, now, **more)
    attributes = attributes_of(new_message, message)
    return _asked(context, cluster, attributes, new_message.key or ""), new_message


def _hinges_on_nothing(message: Mapping[str, object], more: Mapping[str, object]) -> bool:
    """Whether no time matters to a message, and it is routed by its own group and type."""
    return TIMED.isdisjoint(more) and {"group", "type"}.isdisjoint(message)


def _begun(decision: StoreDecision | None) -> StoreDecision:
    """A decision in a transaction that has begun."""
    if decision is None:
        raise StoreError("transaction: found that it has ended, allowed: what is done inside it")
    return decision


class StoreClusters(StoreVerbs):
    """The same, each in a transaction of its own."""

    @abstractmethod
    def _verbs(self, database: Database) -> ClusterVerbs:
        """The verbs, for one of them: where it is refused, the whole transaction is undone."""

    def load_clusters(self, path: str | Path, *, replace: bool = False) -> list[str]:
        """Begin with the clusters of a file, all of them or none; their names.

        A cluster that is there already goes on as it is, if its file has not changed since it was
        loaded; if it has, that is refused. `replace`: such a cluster starts anew instead. Raises
        ConfigError.
        """
        from fairlead.config.clusters import load_clusters

        return self.keep_clusters(load_clusters(path), replace=replace)

    def keep_clusters(self, clusters: Iterable[Cluster], *, replace: bool = False) -> list[str]:
        """The same, of clusters that were not read from a file."""
        every = list(clusters)
        self._keep(sorted(every, key=lambda each: each.name), replace=replace)
        return [cluster.name for cluster in every]

    @again
    def _keep(self, clusters: Sequence[Cluster], *, replace: bool) -> None:
        from fairlead.store.clusters import changing
        from fairlead.store.clusters.changing import Counting

        with self._writing() as database:
            author, engine = author_of(self._context), self._engine_of_clusters(database)
            for cluster in clusters:
                keeping = cluster.tables.store
                counting = Counting(keeping.allocation, int(keeping.reset_every * 1_000_000))
                engine.check_counting(cluster.name, counting)
                changing.load(database, cluster, counting, author, replace=replace)

    def _engine_of_clusters(self, database: Database) -> ClusterEngine:
        context = self._context
        return context.backend.clusters(database, context.memory, shared=False)

    def loaded_cluster(self, cluster: str) -> Cluster:
        """A cluster as its file said when it was loaded. Raises MessageError."""
        from fairlead.store.clusters.changing import loaded_cluster

        with self._connection() as database:
            return loaded_cluster(database, cluster_name(cluster))

    def clusters(self) -> list[str]:
        """The names of all clusters."""
        with self._connection() as database:
            return [name for (name,) in database.run("cluster_names")]

    def pool(self, cluster: str) -> PoolShares:
        """A cluster as it is: its destinations, what they were sent, and what was their share."""
        from fairlead.store.clusters.shares import pool

        with self._connection() as database:
            return pool(database, cluster_name(cluster))

    @again
    def next_destination(self, cluster: str, /, **message: object) -> StoreDecision:
        """Choose where the next message goes, and count it, durably.

        `message`: routing attributes that the policy reads, such as `group`, `queue`, `subject`.
        Raises MessageError for an unknown cluster, and for what a message cannot say;
        ClusterHeldError while a bulk run keeps others off.
        """
        self.refuse_held(cluster)
        self._retention.look(dead=False)
        with self._calling() as database:
            request = _asked(self._context, cluster, message)
            decision = self._engine_of_clusters(database).choose(request)
        if decision is not None:
            return decision
        with self._writing() as database:
            return self._verbs(database).next_destination(cluster, **message)

    @again
    def publish(
        self,
        cluster: str,
        body: object,
        message: Mapping[str, object] = NOTHING,
        **more: Unpack[Sending],
    ) -> StoreDecision:
        """Choose a destination and send a message to its queue, in one step.

        The queue is the destination's `queue` in the cluster's file, else the one of its name.
        `message`: routing attributes, besides `group` and `type`; `more`: as `send` takes them. A
        message for several destinations is sent to each; a SetPriority, which is no work, to none:
        its outcome is `control`. A message whose `id` was published before is not published again:
        its first decision is returned. When the work is settled, the cluster knows (where its
        policy asks for that). Raises MessageError, NoDestinationError; ClusterHeldError while a
        bulk run keeps others off.
        """
        self.refuse_held(cluster)
        self._retention.look(dead=False)
        if _hinges_on_nothing(message, more):
            with self._calling() as database:
                self._context.check_disk()
                request, new_message = _publication(
                    self._context, cluster, message, body, 0, **more
                )
                decision = self._engine_of_clusters(database).publish(request, new_message)
            if decision is not None:
                return decision
        with self._writing() as database:
            return self._verbs(database).publish(cluster, body, message, **more)

    def publish_many(
        self, cluster: str, messages: Iterable[Mapping[str, Any]]
    ) -> list[StoreDecision]:
        """Publish messages in one transaction, each after the one before; their decisions.

        Each message is a table with `body`, what `send` takes, and `message`: its routing
        attributes, as `publish` has them. Raises as `publish`, and then none was published.
        """
        self.refuse_held(cluster)
        return self._publish_many(cluster, list(messages))

    _publish_many = alone(ClusterVerbs.publish_many)

    @contextmanager
    def staged_run(self, name: str) -> Iterator[StagedRun]:
        """A run whose messages several processes bring at once; only on PostgreSQL.

        When the block ends, nothing is left of it but what was published. Raises MessageError.
        """
        from fairlead.store.clusters.staging import StagedRun

        with self._connection() as database:
            run = StagedRun(database, run_name(name))
            try:
                yield run
            finally:
                if not database.lost:
                    run.end()

    @contextmanager
    def held_clusters(
        self, name: str, clusters: Iterable[str], others: str
    ) -> Iterator[HeldClusters]:
        """Clusters that a transaction of the block keeps from others, for the run of this name.

        `others`: what becomes of those who would choose in them meanwhile: `wait` (for as long as
        for any lock), or `refuse` (at once); either is told the name. Raises MessageError.
        """
        from fairlead.store.clusters.held_clusters import checked_others

        named = run_name(name), [cluster_name(cluster) for cluster in clusters]
        with self._connection() as database:
            hold = self._engine_of_clusters(database).hold(*named, checked_others(others))
            try:
                yield hold
            finally:
                hold.end()

    def refuse_held(self, cluster: str) -> None:
        """Raises ClusterHeldError for a cluster of a run that refuses others, before any wait."""
        self._context.backend.refuse_held(cluster)

    def can_reserve(self, cluster: str) -> bool:
        """Whether a run can reserve its turns of a cluster, so that nobody waits for it.

        So on PostgreSQL, where plain SQL knows the policy and `allocation` is `exact`. Raises
        MessageError.
        """
        with self._connection() as database:
            return self._engine_of_clusters(database).can_reserve(cluster_name(cluster))

    def prepare_turns(self, cluster: str, count: int) -> PreparedTurns:
        """The next choices of a cluster, before any of them is reserved."""
        from fairlead.store.clusters.reserving import prepare

        with self._connection() as database:
            return prepare(database, self._context.memory, cluster_name(cluster), count)

    def bulk_run(self, name: str) -> BulkRun | None:
        """A run of many messages that was brought, by its name; None: it was not."""
        from fairlead.store.clusters.bulk_runs import bulk_run

        with self._connection() as database:
            return bulk_run(database, run_name(name))

    def deliveries(self, numbers: Iterable[int]) -> dict[int, Delivery]:
        """How it stands with guaranteed messages that were published, by `StoreDecision.number`.

        Each is `open` until enough receivers have acknowledged it, or until it has failed. One that
        was not guaranteed, or is over for longer than ids are remembered (7 days), is left out.
        Raises MessageError.
        """
        from fairlead.store.clusters.deliveries import deliveries

        wanted = [*numbers]
        for number in wanted:
            whole("number", number, 0)
        with self._connection() as database:
            return deliveries(database, wanted, self._context.clock())

    completed = alone(ClusterVerbs.completed)
    change = alone(ClusterVerbs.change)

    def apply(self, cluster: str, changes: Change | Iterable[Change]) -> None:
        """Make several changes as one step; their time is now. Raises ChangeError, MessageError."""
        from fairlead.balance.changes import changes_in

        self._apply(cluster, changes_in(changes))

    _apply = alone(ClusterVerbs.apply)
    add_destination = alone(ClusterVerbs.add_destination)
    remove_destination = alone(ClusterVerbs.remove_destination)
    reset = alone(ClusterVerbs.reset)

    def decision(self, number: int) -> Decision:
        """A decision of the past, which can `explain()` itself; `number`: of its event.

        Raises MessageError for one that the journal does not have.
        """
        from fairlead.store.clusters.history import decision_at

        whole("number", number, 0)
        with self._connection() as database:
            return decision_at(database, number)

    def decision_about(self, cluster: str, id: str) -> Decision:  # noqa: A002 - as `send` has it
        """The latest decision about a message, by its id, or by its place: `pool/17`.

        Raises MessageError.
        """
        from fairlead.store.clusters.history import decision_at, number_of

        wanted, key = cluster_name(cluster), name("id", str(id) or None) or ""
        with self._connection() as database:
            return decision_at(database, number_of(database, wanted, key))
