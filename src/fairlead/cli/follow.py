"""The command `dispatch --follow`: decide on what comes, until it is stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairlead import report
from fairlead.cli.dispatch import changes_here, print_summary, refuse_elsewhere
from fairlead.cli.options import refuse_with
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.show import console
from fairlead.cli.spark import started
from fairlead.cli.stream_options import FollowOptions
from fairlead.cli.table import MessagesTable
from fairlead.cli.topics import TopicMessages, is_topic
from fairlead.config.clusters import load_clusters
from fairlead.errors import UserError
from fairlead.runs.kafka import KAFKA
from fairlead.runs.paths import TABLE, local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from fairlead.compiled.plan import Plan
    from fairlead.pipeline.streaming.follow import Following, Source
    from fairlead.pipeline.streaming.running import RunningStream
    from fairlead.pipeline.streaming.stream_place import StreamPlace
    from fairlead.results.summary import Summary
    from fairlead.runs.stream_folder import Commit

SECONDS_A_PAGE: Final = 10
"""How often the page is drawn anew, at most."""
FILES: Final = 1_000
"""Of a micro-batch, at most, where nothing else is said."""
LOOK: Final = 0.5
"""Seconds after which a signal is seen."""
ENDING: Final = (signal.SIGINT, signal.SIGTERM)


def run_follow(
    table: MessagesTable,
    cluster: Path,
    out: str,
    *,
    changes: str | None,
    file_format: str,
    trust_ids: bool,
    master: str | None,
    command: str | None,
    follow: FollowOptions,
) -> None:
    """Everything that can be refused is refused before Spark is started.

    `command`: the line that a report shows as the way to this run; None: no report.
    """
    from pyspark import __version__ as spark_version
    from pyspark.errors import PySparkException

    from fairlead.compiled.plan import Plan
    from fairlead.measure.facts import made
    from fairlead.pipeline.streaming.follow import StreamRequest, check, start
    from fairlead.pipeline.streaming.running import NO_CONNECT
    from fairlead.runs.options import Options

    if (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://"):
        raise UserError(NO_CONNECT)
    clusters = load_clusters(cluster)
    refuse_elsewhere(changes, "--follow")
    happened = changes_here(changes)
    topics = topics_of(table, follow, Plan(clusters, happened))
    if command is not None:
        report.check_installed()
    printer = BatchPrinter(page=command is not None)
    request = StreamRequest(
        clusters,
        lambda: changes_here(changes),
        Options(where=table.where, file_format=file_format, trust_ids=trust_ids),
        follow.horizon,
        follow.every,
        follow.available_now,
        None if command is None else made(table.where, command, spark_version),
        printer,
    )
    check(out, request)
    if topics is not None:
        topics.await_broker()
    with Stages(1) as stages:
        spark = started(master, stages)
    arriving, source = arriving_in(spark, table, follow, topics)
    following = start(arriving, out, request, source)
    acted()
    printer.begun(following.went_on)
    try:
        wait(following)
    except PySparkException as error:
        if topics is None:
            raise
        raise topics.unread(error) from None
    _end(printer, out)


def topics_of(table: MessagesTable, follow: FollowOptions, plan: Plan) -> TopicMessages | None:
    """The topics of Kafka that are followed; None: a folder is. Raises UserError."""
    if not is_topic(table.where):
        _check_folder(table.where, follow.kafka)
        return None
    topics = TopicMessages.asked(table, follow.kafka, plan)
    refuse_with(table.where, {"--files-a-batch": follow.files})
    return topics


def arriving_in(
    spark: SparkSession, table: MessagesTable, follow: FollowOptions, topics: TopicMessages | None
) -> tuple[DataFrame, Source]:
    """What comes, and what makes messages of it. Raises UserError."""
    if topics is None:
        return names_of(spark, table.where, follow.files or FILES), files_of(spark, table)
    return topics.stream(spark), topics.source()


def wait(following: Following | RunningStream) -> None:
    """Wait until it has ended, or is to be stopped. Raises what ended it."""
    with stop_requested() as stopping:
        while not following.wait(LOOK):
            if stopping.is_set():
                following.stop()
                break


def _check_folder(where: str, kafka: str | None) -> None:
    """Refuse what is no folder into which files come. Raises UserError."""
    if kafka is not None:
        raise UserError(f"--kafka: found with {where}, allowed: with {KAFKA}TOPIC")
    if where.startswith(TABLE):
        raise UserError(
            f"{where}: found a table with --follow, allowed: a folder into which files come; "
            "fairlead.follow takes any streaming DataFrame"
        )
    place = local(where)
    if place is not None and not place.is_dir():
        raise UserError(
            f"{where}: found no folder, allowed with --follow: a folder into which files come"
        )


def _end(printer: BatchPrinter, out: str) -> None:
    if printer.latest is None:
        console().print(f"no micro-batch was decided; results: {out}", markup=False)
        return
    summary, folder = printer.latest
    printer.draw(summary, folder)
    print_summary(summary, out)


class BatchPrinter:
    """What a user sees of a stream: a line for each micro-batch, and the page."""

    def __init__(self, *, page: bool) -> None:
        """`page`: whether one is wanted."""
        self.page = page
        self.latest: tuple[Summary, StreamPlace] | None = None
        """What all micro-batches so far come to, and where the page goes."""
        self._drawn = time.monotonic()

    def begun(self, going_on: bool) -> None:
        """The stream has begun."""
        how = "going on" if going_on else "begun"
        console().print(f"{how}; Ctrl-C ends after the micro-batch under way", markup=False)

    def __call__(self, summary: Summary, commit: Commit, folder: StreamPlace) -> None:
        """A micro-batch is committed."""
        now = time.monotonic()
        console().print(
            f"batch {commit.batch}: so far in {summary.read:,} = decided {summary.decided:,} + "
            f"rejected {summary.rejected:,}; digest {summary.digest}",
            markup=False,
        )
        self.latest = summary, folder
        if now - self._drawn >= SECONDS_A_PAGE:
            self.draw(summary, folder)

    def draw(self, summary: Summary, folder: StreamPlace) -> None:
        """Draw the page, if one is wanted."""
        if self.page:
            folder.write_text(report.NAME, report.render(summary.to_dict()))
            self._drawn = time.monotonic()


def names_of(spark: SparkSession, where: str, files: int) -> DataFrame:
    """A stream of the files that come into a folder: their names and sizes, not what they hold.

    Raises UserError where Spark does not reach the folder.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from fairlead.pipeline.spark.refusals import not_reached, why
    from fairlead.runs.paths import for_spark

    schema = "path string, modificationTime timestamp, length bigint, content binary"
    reader = spark.readStream.format("binaryFile").schema(schema)
    reader = reader.option("recursiveFileLookup", "true").option("maxFilesPerTrigger", files)
    # Else Spark says nothing of a file that is a week older than the newest it has seen, and what
    # was moved there from elsewhere keeps its time.
    reader = reader.option("maxFileAge", "36500d")
    # A file that stopped the stream may be taken away.
    reader = reader.option("ignoreMissingFiles", "true")
    try:
        return reader.load(for_spark(where)).select("path", "length")
    except (PySparkException, Py4JJavaError) as error:
        raise UserError(f"{where}: {not_reached(error) or why(error)}") from None


def files_of(spark: SparkSession, table: MessagesTable) -> Source:
    """What makes messages of such names, as `dispatch` reads a whole folder."""

    def messages(names: DataFrame) -> tuple[DataFrame, list[str]] | None:
        rows = names.where("length > 0").select("path").collect()
        paths = sorted(row["path"].removeprefix("file:") for row in rows)
        return (table.read(spark, only=paths), paths) if paths else None

    return messages


@contextmanager
def stop_requested() -> Iterator[threading.Event]:
    """An event that the first signal sets; a second one ends the process at once."""
    event = threading.Event()
    before = {ending: signal.getsignal(ending) for ending in ENDING}

    def stop(number: int, _: object) -> None:
        event.set()
        signal.signal(number, before[signal.Signals(number)])

    for ending in ENDING:
        if before[ending] is not signal.SIG_IGN:
            signal.signal(ending, stop)
    try:
        yield event
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
