"""The command `dispatch --deliver`: publish the messages of a table into the queues of a store."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairlead.cli.dispatch import judged_rows
from fairlead.cli.fail_if import gate
from fairlead.cli.follow import arriving_in, topics_of, wait
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.show import console, filled, print_table, printable
from fairlead.cli.spark import started
from fairlead.cli.stream_options import FollowOptions
from fairlead.cli.table import MessagesTable
from fairlead.config.clusters import load_clusters
from fairlead.errors import OutputError, UserError
from fairlead.runs.paths import TABLE, local
from fairlead.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.balance.cluster import Cluster
    from fairlead.runs.store_delivery import DeliveredRun

GATES: Final[Mapping[str, str | None]] = {"rejected": "rows"}
NAME: Final = "delivered.json"
BODY: Final = "body"
DIGITS: Final = 8


@dataclass(frozen=True)
class DeliverOptions:
    """Options that only a delivery has."""

    url: str
    run: str | None
    """The name of the run; None: made of the table's."""
    body: Sequence[str]
    """Columns."""
    others: str | None = None
    """What becomes of those who would choose meanwhile: wait, refuse."""


def run_deliver(
    table: MessagesTable,
    cluster: Path,
    out: str | None,
    options: DeliverOptions,
    *,
    file_format: str,
    trust_ids: bool,
    fail_if: Sequence[str],
    overwrite: bool,
    master: str | None,
) -> int:
    """Everything that can be refused is refused before Spark is started; returns the status."""
    gates = [gate(text, GATES) for text in fail_if]
    if out is None and (overwrite or file_format != "parquet"):
        what = "--overwrite" if overwrite else "--format"
        raise UserError(f"{what}: found without --out DIR, allowed: with it")
    clusters = load_clusters(cluster)
    table.refuse((), lambda _: None)
    run = options.run or _name_of(table, clusters)
    with Store.open(options.url, create=False) as store:
        _refuse(store, clusters, run, options.others)
        with Stages(4) as stages:
            delivered = _deliver(
                table,
                clusters,
                store,
                run,
                options.body or [BODY],
                options.others,
                stages,
                out,
                file_format=file_format,
                trust_ids=trust_ids,
                overwrite=overwrite,
                also=[cluster],
                master=master,
            )
        acted()
        print_delivered(delivered, store.place, out)
    if out is not None:
        table.refuse_nothing(delivered.read, delivered.rejected, out)
    return judged_rows(delivered.rejected, delivered.read, gates)


def _deliver(
    table: MessagesTable,
    clusters: Sequence[Cluster],
    store: Store,
    run: str,
    body: Sequence[str],
    others: str | None,
    stages: Stages,
    out: str | None,
    *,
    file_format: str,
    trust_ids: bool,
    overwrite: bool,
    also: Sequence[Path],
    master: str | None,
) -> DeliveredRun:
    from fairlead.compiled.plan import Plan
    from fairlead.pipeline.deliver import bring, prepare
    from fairlead.pipeline.intake.read import reading
    from fairlead.pipeline.intake.validate import rejected_rows
    from fairlead.pipeline.output.choose_target import delivery_to

    place = (
        nullcontext()
        if out is None
        else delivery_to(out, overwrite=overwrite, read=table.where, also_read=also)
    )
    with reading(), place as results:
        spark = started(master, stages, small=table.is_small)
        if results is not None:
            results.begin(spark)
        plan = Plan(clusters, [])
        ready = prepare(table.read(spark), plan, body, table.where, trust_ids=trust_ids)
        if results is not None:
            with stages("rejected"):
                results.write(rejected_rows(ready.rows, ready.columns), "rejected", file_format)
        delivered = bring(ready, store, run, 0, table.where, stages, others)
        if results is not None:
            results.write_json(NAME, delivered.to_dict())
            try:
                results.finish()
            except OutputError as error:
                raise OutputError(
                    f"{error}; all of run {run!r} is in {store.place}, do not deliver it again"
                ) from None
        return delivered


def _refuse(store: Store, clusters: Sequence[Cluster], run: str, others: str | None) -> None:
    """Refuse before Spark is started what the store alone can tell. Raises UserError."""
    from fairlead.runs.store_delivery import clusters_of, refuse_known, refuse_others

    clusters_of(store, clusters)
    refuse_others(store, [cluster.name for cluster in clusters], others)
    refuse_known(store, run)


def _name_of(table: MessagesTable, clusters: Sequence[Cluster]) -> str:
    """A name for the run: that of the table, and a digest of its files and of the clusters.

    Raises UserError where the files are not on this machine.
    """
    from fairlead.runs.files import files_in

    place = local(table.where)
    if table.where.startswith(TABLE) or place is None:
        raise UserError(
            f"--run: found nothing, allowed: a name for the run; that of {table.where} says not "
            "what is in it"
        )
    files = [
        (str(file), stat.st_size, stat.st_mtime_ns)
        for file in sorted(files_in(place, table.where))
        for stat in [file.stat()]
    ]
    made = json.dumps([str(place.resolve()), files, [cluster.name for cluster in clusters]])
    return f"{place.name} {hashlib.sha256(made.encode()).hexdigest()[:DIGITS]}"


def print_delivered(delivered: DeliveredRun, where: str, out: str | None) -> None:
    """What was published, and to whom."""
    to = console()
    rows = [
        {
            "cluster": printable(cluster),
            "destination": printable(destination),
            "messages": f"{n:,}",
        }
        for cluster, sent in sorted(delivered.destinations.items())
        for destination, n in sorted(sent.items())
    ]
    if rows:
        print_table(to, filled(rows, right=("messages",)))
    if delivered.control:
        to.print(f"no work, noted only: {delivered.control:,}", markup=False)
    for why, n in delivered.left_out.items():
        words = "known by their ids" if why == "known" else why
        to.print(f"left out, {words}: {n:,}", markup=False)
    to.print(
        f"in {delivered.read:,} = published {delivered.published:,} + no work "
        f"{delivered.control:,} + left out {sum(delivered.left_out.values()):,} + rejected "
        f"{delivered.rejected:,}",
        markup=False,
    )
    to.print(f"run {printable(delivered.run)!r} is in {where}", markup=False)
    if out is not None:
        to.print(f"results: {out}", markup=False)


# -------- a stream


def run_deliver_stream(
    table: MessagesTable,
    cluster: Path,
    out: str,
    options: DeliverOptions,
    *,
    master: str | None,
    follow: FollowOptions,
) -> None:
    """Deliver what comes into a folder or a topic, until it is stopped.

    `out`: for its checkpoint.
    """
    from pyspark.errors import PySparkException

    from fairlead.compiled.plan import Plan
    from fairlead.pipeline.streaming.deliver_stream import StreamDelivery, start_delivery
    from fairlead.pipeline.streaming.running import NO_CONNECT
    from fairlead.runs.store_delivery import clusters_of

    if (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://"):
        raise UserError(NO_CONNECT)
    clusters = load_clusters(cluster)
    topics = topics_of(table, follow, Plan(clusters, []))
    folder = local(out)
    if folder is None or not folder.resolve().parent.is_dir():
        raise UserError(f"{out}: found no folder of this machine, allowed: one that can be made")
    with Store.open(options.url, create=False) as store:
        chosen = clusters_of(store, clusters)
        if topics is not None:
            topics.await_broker()
        with Stages(1) as stages:
            spark = started(master, stages)
        run = options.run or folder.resolve().name
        wanted = StreamDelivery(
            store, chosen, run, options.body or [BODY], table.where, _print_batch, options.others
        )
        arriving, source = arriving_in(spark, table, follow, topics)
        running = start_delivery(
            arriving,
            str(folder.resolve() / "checkpoint"),
            wanted,
            source,
            follow.every,
            available_now=follow.available_now,
        )
        acted()
        console().print("begun; Ctrl-C ends after the micro-batch under way", markup=False)
        try:
            wait(running)
        except PySparkException as error:
            if topics is None:
                raise
            raise topics.unread(error) from None


def _print_batch(delivered: DeliveredRun) -> None:
    left_out = sum(delivered.left_out.values())
    console().print(
        f"batch {delivered.batch}: in {delivered.read:,} = published {delivered.published:,} + no "
        f"work {delivered.control:,} + left out {left_out:,} + rejected {delivered.rejected:,}",
        markup=False,
    )
