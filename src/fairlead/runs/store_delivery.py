"""Deliver to a store: the messages of a table are published, all of them in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from fairlead.balance.cluster import Cluster
from fairlead.balance.message import CONTROL
from fairlead.balance.objects import listed
from fairlead.errors import ConfigError, MessageError, StoreError, TransientStoreError
from fairlead.runs.progress import Tell
from fairlead.store.clusters.bulk_runs import delivered_before
from fairlead.store.clusters.held_clusters import checked_others
from fairlead.store.database.retrying import again
from fairlead.store.database.run_file import WAIT
from fairlead.store.queues.outgoing import published_of

if TYPE_CHECKING:
    from fairlead.store.store import Store
    from fairlead.store.transaction import Transaction

TEXTS: Final = ("group", "tenant", "type")
"""Columns of texts that a message is sent with."""
STEP: Final = 1000
"""So many messages are published at once."""
SHOWN: Final = 1000
"""Messages that were left out, of which the results name at most so many."""
KNOWN: Final = "known"
"""Why a message was left out: its id was published before."""


@dataclass
class DeliveredRun:
    """What a run has brought to a store."""

    run: str
    """Its name."""
    batch: int = 0
    """Which part of it; 0 where it has one."""
    read: int = 0
    rejected: int = 0
    """Rows that are no messages."""
    published: int = 0
    """Messages that went to a destination, or to several."""
    control: int = 0
    """Messages that are no work, such as a SetPriority: they were noted, and went nowhere."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Messages that were not published, by why: `known` (their id was published before), or the
    outcome of their decision. They do not count."""
    destinations: dict[str, Counter[str]] = field(default_factory=dict)
    """Cluster → destination → messages that it was sent."""
    examples: list[tuple[str, str]] = field(default_factory=list)
    """Id, and why, of the first 1,000 messages that were left out."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "run": self.run,
            "batch": self.batch,
            "read": self.read,
            "rejected": self.rejected,
            "published": self.published,
            "control": self.control,
            "left_out": dict(self.left_out),
            "destinations": {name: dict(sent) for name, sent in self.destinations.items()},
            "examples": [{"id": id_, "reason": why} for id_, why in self.examples],
        }


@dataclass(frozen=True)
class TableRow:
    """A row of a table that is a message."""

    cluster: str
    id: str
    plain: Mapping[str, Any]
    """As `Store.publish_many` takes it."""


@dataclass(frozen=True)
class RowReader:
    """Makes of a row of a table what is published; on any machine."""

    columns: tuple[str, ...]
    """Those of TEXTS, SENT and SENT_SECONDS that the table has."""
    reads: Mapping[str, tuple[str, ...]]
    """Cluster → the columns that its policy reads."""
    as_json: bool
    """Whether the body is JSON."""

    def __call__(self, cluster: str, id_: str, body: Any, row: Mapping[str, Any]) -> TableRow:  # noqa: ANN401
        """`row`: the other columns, by their names."""
        named = cluster or next(iter(self.reads))
        sending = {name: row[name] for name in self.columns if row[name] not in (None, "")}
        attributes = {
            name: row[name] for name in self.reads.get(named, ()) if row[name] not in (None, "")
        }
        if isinstance(body, bytearray):
            body = bytes(body)
        content = json.loads(body) if self.as_json else body
        return TableRow(named, id_, {**sending, "body": content, "id": id_, "message": attributes})


def clusters_of(store: Store, clusters: Sequence[Cluster] | None) -> list[Cluster]:
    """The clusters of a store; `clusters`: those that are meant, which must be there as they are.

    Raises ConfigError.
    """
    names = store.clusters()
    if clusters is None:
        if not names:
            raise ConfigError(
                f"{store.place}: found no cluster, allowed: a store into which load_clusters has "
                "read a file"
            )
        return [store.loaded_cluster(name) for name in names]
    for cluster in clusters:
        if cluster.name not in names:
            raise ConfigError(
                f"cluster {cluster.name!r}: found none in {store.place}, allowed: "
                f"{listed(names) or 'one that load_clusters has read; it has none yet'}"
            )
        own = store.loaded_cluster(cluster.name).to_dict()
        wanted = cluster.to_dict()
        for key in sorted({*own, *wanted}):
            if own.get(key) != wanted.get(key):
                raise ConfigError(
                    f"cluster {cluster.name!r}: found another {key} than in {store.place}, "
                    "allowed: the file from which the store has loaded it"
                )
    return list(clusters)


def refuse_known(store: Store, run: str, batch: int = 0) -> None:
    """Refuse a run that was brought, before there is work. Raises DeliveredError."""
    known = store.bulk_run(run)
    if known is not None and known.batch >= batch:
        raise delivered_before(run, known)


@contextmanager
def run_transaction(store: Store, delivered: DeliveredRun) -> Iterator[Transaction]:
    """The transaction in which a run arrives, begun with its name.

    Where the connection breaks at the commit, the store says whether it has arrived. Raises
    DeliveredError for one that was brought before, StoreError where it has not arrived or nobody
    can say.
    """
    at_commit = False
    try:
        with store.transaction() as tx:
            tx.begin_run(delivered.run, delivered.batch)
            yield tx
            at_commit = True
    except TransientStoreError:
        raise
    except StoreError as error:
        try:
            known = store.bulk_run(delivered.run) if at_commit else None
        except StoreError:
            raise StoreError(
                f"{error}; it is not known whether run {delivered.run!r} has arrived: deliver it "
                "again, it is refused if it has"
            ) from None
        if known is None or known.batch != delivered.batch:
            line = f"{error}; nothing of run {delivered.run!r} has arrived"
            raise type(error)(line) from None


def refuse_others(store: Store, clusters: Iterable[str], others: str | None) -> None:
    """Refuse to say what becomes of others where nobody waits. Raises MessageError.

    `clusters`: of the run; `others`: as `deliver` takes it.
    """
    if others is None:
        return
    checked_others(others)
    if all(map(store.can_reserve, clusters)):
        raise MessageError(
            f"others: found {others!r}, allowed: nothing, as nobody waits for this run: its places "
            "in the clusters are reserved"
        )


def deliver_rows(
    store: Store,
    delivered: DeliveredRun,
    rows: Callable[[], Iterable[TableRow]],
    tell: Tell,
    total: int,
    clusters: Iterable[str],
    others: str = WAIT,
) -> None:
    """Publish messages in their order, in one transaction, and count them in `delivered`.

    `rows`: gives them from the first one on, again where another transaction was in the way.
    `clusters`: those that are kept from others meanwhile, who wait, or are refused (`others`).
    Raises MessageError that names the message, DeliveredError, QueueFullError, StoreError; then
    nothing was published.
    """
    apart = _have_queues_apart(store)

    @again
    def bring() -> DeliveredRun:
        trial = DeliveredRun(delivered.run, delivered.batch)
        done = 0
        with run_transaction(store, delivered) as tx:
            tx.hold_clusters(hold)
            for batch in _steps(rows()):
                _publish(tx, trial, sorted(batch, key=_cluster_of) if apart else batch)
                done += len(batch)
                tell(done, total)
            tx.end_run(delivered.run, trial.published)
        return trial

    with store.held_clusters(delivered.run, clusters, others) as hold:
        brought = bring()
    delivered.published, delivered.control = brought.published, brought.control
    delivered.left_out, delivered.destinations = brought.left_out, brought.destinations
    delivered.examples = brought.examples


def _cluster_of(row: TableRow) -> str:
    return row.cluster


def _have_queues_apart(store: Store) -> bool:
    """Whether no queue is of two clusters: then it makes no difference which of them goes first."""
    queues = [
        {machine.attributes.get("queue") or machine.name for machine in store.pool(name).machines}
        for name in store.clusters()
    ]
    return sum(map(len, queues)) == len(set().union(*queues))


def _steps(rows: Iterable[TableRow]) -> Iterator[list[TableRow]]:
    every = iter(rows)
    while batch := list(islice(every, STEP)):
        yield batch


def _publish(tx: Transaction, delivered: DeliveredRun, batch: Sequence[TableRow]) -> None:
    """Publish messages, each stretch of one cluster at once."""
    for cluster, of_cluster in groupby(batch, key=_cluster_of):
        rows = list(of_cluster)
        try:
            decisions = tx.publish_as_found(cluster, [row.plain for row in rows])
        except MessageError as error:
            raise _named(error, rows) from None
        sent = delivered.destinations.setdefault(cluster, Counter())
        for row, decision in zip(rows, decisions, strict=True):
            if decision is None:
                _leave_out(delivered, row, KNOWN)
            elif decision.copies:
                delivered.published += 1
                sent.update(map(itemgetter(0), decision.copies))
            elif decision.outcome == CONTROL:
                delivered.control += 1
            else:
                _leave_out(delivered, row, decision.outcome)


def _leave_out(delivered: DeliveredRun, row: TableRow, why: str) -> None:
    delivered.left_out[why] += 1
    if len(delivered.examples) < SHOWN:
        delivered.examples.append((row.id, why))


def _named(error: MessageError, rows: Sequence[TableRow]) -> MessageError:
    """The error with the message that it is about, where it is one that cannot be sent."""
    for row in rows:
        try:
            published_of(row.plain, 0)
        except MessageError as own:
            if str(own) == str(error):
                return MessageError(f"message {row.id!r}: {error}")
    return error
