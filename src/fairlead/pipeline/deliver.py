"""Deliver: the messages of a table go into the queues of a store, as if each had been published.

read → validate → unique → order → publish, all of them in one transaction of the store

The store decides: by the counts that are there when the run begins, and it leaves those that as
many calls of `publish`, in the order of the table, would have left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType

from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.objects import listed
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import check_columns
from fairlead.compiled.row_checks import SENT, SENT_SECONDS
from fairlead.errors import MessageError
from fairlead.pipeline.columns import GOOD, ID, KEY, quoted
from fairlead.pipeline.intake.journal import messages_of
from fairlead.pipeline.intake.read import checked, reading
from fairlead.pipeline.intake.unique import unique
from fairlead.pipeline.intake.validate import refuse_other_units, text, validate, whole_number
from fairlead.pipeline.output.copy_out import copy_out
from fairlead.pipeline.spark.session import compiled_methods
from fairlead.runs.constants import PREFIX
from fairlead.runs.progress import Progress, quiet
from fairlead.runs.staged_delivery import deliver_staged, staged
from fairlead.runs.store_delivery import (
    TEXTS,
    DeliveredRun,
    RowReader,
    TableRow,
    clusters_of,
    deliver_rows,
    refuse_known,
    refuse_others,
)
from fairlead.store.clusters.staging import COLUMNS, Brought
from fairlead.store.database.run_file import WAIT
from fairlead.store.store import Store

BODY: Final = PREFIX + "body"
CLUSTER: Final = PREFIX + "cluster"
SERVICE: Final = "service_time"
"""Whether a message is done says the worker, not the table."""


@dataclass(frozen=True)
class DeliverableTable:
    """A table of which the rows that are messages can be published."""

    plan: Plan
    rows: DataFrame
    """All rows, with GOOD and REASON."""
    columns: Sequence[str]
    """The messages' own."""
    selected: DataFrame
    """What is published of each of them, with GOOD."""
    as_json: bool
    """Whether BODY is JSON."""

    @property
    def unordered(self) -> DataFrame:
        """What is published."""
        return self.selected.where(GOOD).drop(GOOD)

    @property
    def reader(self) -> RowReader:
        """What makes messages of its rows."""
        names = {*self.selected.columns}
        reads = {
            name: tuple(sorted((state.relevant_attributes() & names) - {"group", "type"}))
            for name, state in self.plan.states.items()
        }
        columns = (*TEXTS, *SENT, *SENT_SECONDS)
        return RowReader(tuple(name for name in columns if name in names), reads, self.as_json)

    def messages(self) -> Iterator[TableRow]:
        """The messages, in order."""
        reader = self.reader
        for row in self.unordered.orderBy(KEY, ID).toLocalIterator(prefetchPartitions=True):
            yield reader(row[CLUSTER], row[ID], row[BODY], row.asDict())


def deliver(
    messages: DataFrame,
    store: Store | str,
    clusters: Cluster | Iterable[Cluster] | None = None,
    *,
    run: str,
    batch: int = 0,
    body: str | Sequence[str] = "body",
    trust_ids: bool = False,
    others: str | None = None,
) -> DeliveredRun:
    """Publish the messages of a table into the queues of a store: all of them, or none, and once.

    `messages`: as `dispatch` takes them; each is published with its `id`, and with `group`,
    `tenant`, `priority`, `type`, `cost`, `delay` and `expires` (seconds) where the table has such
    columns, in the order of `position`, else of `time` and `id`. `store`: an open one, or its URL.
    `clusters`: those of the store that are meant, as the file that it has loaded says; None: all
    that it has. `run`: the name of the run, which the store takes once; `batch`: the number of a
    part, where it comes in several. `body`: the column with the body, bytes or text; of other
    types, and of several columns, the body is JSON. `trust_ids`: do not look for ids that the table
    has twice.

    Rows that are no messages are left out and counted. So are messages that the store knows by
    their ids, or for which there is no destination. Others who choose in these clusters wait until
    it has ended, but not on PostgreSQL where plain SQL knows their policies. `others`: `wait` (as
    ever: 30 seconds), or `refuse`: they get a ClusterHeldError at once; either way it names the
    run. Raises ConfigError, MessageError, DeliveredError, QueueFullError, StoreError; then nothing
    was published.
    """
    chosen = None if clusters is None else clusters_in(clusters)
    if isinstance(store, str):
        with Store.open(store, create=False) as opened:
            return _deliver(messages, opened, chosen, run, batch, body, others, trust_ids=trust_ids)
    return _deliver(messages, store, chosen, run, batch, body, others, trust_ids=trust_ids)


def _deliver(
    messages: DataFrame,
    store: Store,
    clusters: Sequence[Cluster] | None,
    run: str,
    batch: int,
    body: str | Sequence[str],
    others: str | None,
    *,
    trust_ids: bool,
) -> DeliveredRun:
    plan = Plan(clusters_of(store, clusters), [])
    refuse_others(store, plan.states, others)
    with reading(), compiled_methods(messages):
        ready = prepare(messages, plan, body, "messages", trust_ids=trust_ids)
        return bring(ready, store, run, batch, others=others)


def prepare(
    messages: DataFrame, plan: Plan, body: str | Sequence[str], where: str, *, trust_ids: bool
) -> DeliverableTable:
    """Learn which rows are messages, and what of them is published. Raises MessageError."""
    table = messages_of(messages, [plan], where)
    own = checked(table, where)
    made, as_json = _body(table, [body] if isinstance(body, str) else list(body), where)
    check_columns(plan, [*own, SERVICE], where)
    columns = [name for name in own if name != SERVICE]
    table = table.withColumn(BODY, made).drop(SERVICE)
    rows = validate(table, plan, sent=True)
    if not trust_ids:
        rows, _ = unique(rows)
    named = {*TEXTS, *SENT, *SENT_SECONDS, *plan.relevant_attributes} & {*columns}
    others = [_value(table, name).alias(name) for name in sorted(named - {"cluster"})]
    cluster = text(table, "cluster").alias(CLUSTER)
    selected = rows.select(GOOD, KEY, ID, BODY, cluster, *others)
    return DeliverableTable(plan, rows, columns, selected, as_json)


def _value(table: DataFrame, name: str) -> Column:
    """A column as a message is sent with it."""
    if name in SENT:
        return whole_number(table, name)
    return F.col(name).try_cast("double") if name in SENT_SECONDS else text(table, name)


def bring(
    ready: DeliverableTable,
    store: Store,
    run: str,
    batch: int = 0,
    where: str = "messages",
    progress: Progress = quiet,
    others: str | None = None,
) -> DeliveredRun:
    """Publish a table that is ready, in one transaction."""
    refuse_known(store, run, batch)
    delivered = DeliveredRun(run, batch)
    kept = ready.selected.persist()
    try:
        with progress("read"):
            read, published = kept.agg(F.count(F.lit(1)), F.count_if(GOOD)).collect()[0]
            delivered.read, delivered.rejected = read, read - published
            if read and not published:
                refuse_other_units(ready.rows, where)
            _refuse_unknown(ready, where)
        if all(map(store.can_reserve, ready.plan.states)):
            deliver_staged(store, delivered, lambda run: _copy(ready, store, run.table), progress)
            return delivered
        with progress("publish") as tell:
            deliver_rows(
                store,
                delivered,
                ready.messages,
                tell,
                published,
                ready.plan.states,
                others or WAIT,
            )
    finally:
        kept.unpersist()
    return delivered


def _copy(ready: DeliverableTable, store: Store, table: str) -> list[Brought]:
    """Let executors copy the messages into a table of the store."""
    reader = ready.reader

    def made(attempt: str, row: dict[str, Any]) -> tuple[object, ...]:
        message = reader(row[CLUSTER], row[ID], row[BODY], row)
        return staged(attempt, row[KEY], message)

    every = copy_out(ready.unordered, store.url, table, COLUMNS, made)
    return [Brought(*ended) for ended in every]


def _refuse_unknown(ready: DeliverableTable, where: str) -> None:
    """Refuse messages for clusters that the run does not have. Raises MessageError."""
    names = sorted(ready.plan.states)
    allowed = names if len(names) > 1 else ["", *names]
    odd = ready.unordered.where(~F.col(CLUSTER).isin(allowed)).select(ID, CLUSTER).first()
    if odd is not None:
        raise MessageError(
            f"{where}: message {odd[ID]!r}: cluster: found {odd[CLUSTER]!r}, allowed: "
            f"{listed(names)}; nothing was published"
        )


def _body(messages: DataFrame, names: Sequence[str], where: str) -> tuple[Column, bool]:
    """The body of each message, and whether it is JSON. Raises MessageError."""
    for name in names:
        if name not in messages.columns:
            raise MessageError(
                f"{where}: body: found no column {name!r}, allowed: one or several of "
                f"{listed(messages.columns)}"
            )
    if not names:
        raise MessageError(f"{where}: body: found no column, allowed: one, or several")
    kind = messages.schema[names[0]].dataType
    if len(names) == 1 and isinstance(kind, BinaryType | StringType):
        nothing = F.lit(b"") if isinstance(kind, BinaryType) else F.lit("")
        return F.coalesce(quoted(names[0]), nothing), False
    fields = F.struct(*(quoted(name).alias(name) for name in names))
    return F.to_json(fields, {"ignoreNullFields": "false"}), True
