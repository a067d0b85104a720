"""Deliver a stream: the messages of each micro-batch are published in one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.objects import repr_of
from fairlead.compiled.plan import Plan
from fairlead.errors import DeliveredError, MessageError, StoreError, UserError
from fairlead.pipeline.deliver import bring, prepare
from fairlead.pipeline.streaming.follow import Source
from fairlead.pipeline.streaming.running import (
    EVERY,
    NO_CONNECT,
    BatchWork,
    RunningStream,
    begun,
    check_seconds,
)
from fairlead.runs.store_delivery import DeliveredRun, clusters_of, refuse_others
from fairlead.store.arguments import run_name
from fairlead.store.store import Store

BEGUN: Final = 60.0
"""Seconds for which a micro-batch waits to know its query."""


@dataclass(frozen=True)
class StreamDelivery:
    """What is delivered, and how."""

    store: Store
    clusters: Sequence[Cluster]
    run: str
    body: str | Sequence[str]
    where: str = "messages"
    each: Callable[[DeliveredRun], object] | None = None
    """Called with what each micro-batch has brought."""
    others: str | None = None
    """What becomes of those who would choose meanwhile."""


def deliver_stream(
    messages: DataFrame,
    store: Store,
    checkpoint: str,
    clusters: Cluster | Iterable[Cluster] | None = None,
    *,
    run: str,
    body: str | Sequence[str] = "body",
    every: float = EVERY,
    available_now: bool = False,
    each: Callable[[DeliveredRun], object] | None = None,
    others: str | None = None,
) -> RunningStream:
    """Publish a streaming DataFrame into the queues of a store until it is stopped.

    As `deliver` does for a table: each micro-batch arrives in one transaction, with its number, so
    that it arrives once, whatever is killed and comes again. `store`: stays open meanwhile.
    `checkpoint`: a folder for Spark, by which it goes on where it ended. A stream that begins with
    another one is another run; messages whose ids the store knows are left out. `every`: seconds
    between micro-batches. `available_now`: end when what is there is published. `each`: called with
    what each micro-batch has brought. `others`: as `deliver` has it, for each micro-batch.

    Raises UserError where something cannot be as it was asked; what is wrong with the messages of a
    micro-batch, `RunningStream.wait` raises, and nothing of it is published.
    """
    source: object = messages
    if not (isinstance(source, DataFrame) and source.isStreaming):
        raise MessageError(
            f"messages: found {repr_of(source)}, allowed: a streaming DataFrame; fairlead.deliver "
            "takes the others"
        )
    chosen = clusters_of(store, None if clusters is None else clusters_in(clusters))
    wanted = StreamDelivery(store, chosen, run_name(run), body, each=each, others=others)
    return start_delivery(
        messages, checkpoint, wanted, lambda rows: (rows, []), every, available_now=available_now
    )


def start_delivery(
    messages: DataFrame,
    checkpoint: str,
    wanted: StreamDelivery,
    source: Source,
    every: float,
    *,
    available_now: bool,
) -> RunningStream:
    """Begin, or go on. `source`: makes messages of what Spark brings. Raises UserError."""
    if type(messages).__module__.startswith("pyspark.sql.connect"):
        raise UserError(NO_CONNECT)
    check_seconds("every", every)
    refuse_others(wanted.store, [cluster.name for cluster in wanted.clusters], wanted.others)
    query_id: list[str] = []
    known = threading.Event()

    def act(rows: DataFrame, batch: int) -> None:
        if not known.wait(BEGUN):
            raise StoreError(f"run {wanted.run!r}: its query did not begin within {BEGUN:g} s")
        intake = source(rows)
        if intake is None or intake[0].isEmpty():
            return
        # A table has the number 0. The name is that of one checkpoint: where this is lost, the
        # numbers begin anew, and nothing may be taken for what was there before.
        name = f"{wanted.run} {query_id[0]}"
        plan = Plan(wanted.clusters, [])
        ready = prepare(intake[0], plan, wanted.body, wanted.where, trust_ids=False)
        try:
            delivered = bring(
                ready, wanted.store, name, batch + 1, wanted.where, others=wanted.others
            )
        except DeliveredError:
            return  # Spark was ended before it knew that this was published
        if wanted.each is not None:
            wanted.each(delivered)

    work = BatchWork(act)
    query = begun(messages, work, checkpoint, every, available_now=available_now)
    query_id.append(str(query.id))
    known.set()
    return RunningStream(query, work, ExitStack())
