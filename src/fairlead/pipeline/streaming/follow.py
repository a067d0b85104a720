"""Follow: dispatch a stream of messages, micro-batch by micro-batch, until it is stopped."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from fairlead.balance.change import Change
from fairlead.balance.changes import changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.objects import repr_of
from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError, OutputError, UserError
from fairlead.pipeline.output.read_back import load
from fairlead.pipeline.output.uri_target import checked_uri
from fairlead.pipeline.output.write import FORMATS
from fairlead.pipeline.streaming import rolling
from fairlead.pipeline.streaming.differing import differing
from fairlead.pipeline.streaming.micro_batch import StreamBatches, decide, nothing, plan_of
from fairlead.pipeline.streaming.running import (
    DAY,
    EVERY,
    NO_CONNECT,
    BatchWork,
    RunningStream,
    begun,
    check_seconds,
)
from fairlead.pipeline.streaming.stream_place import StreamPlace, folder_at, place_of
from fairlead.results.summary import Made, Summary
from fairlead.runs.kafka import KAFKA
from fairlead.runs.options import Options
from fairlead.runs.paths import SUMMARY, TABLE, inside, local
from fairlead.runs.read_rows import DECISIONS
from fairlead.runs.stream_folder import CHECKPOINT, Commit

log = logging.getLogger("fairlead")

Source = Callable[[DataFrame], tuple[DataFrame, list[str]] | None]
"""Makes of what Spark brings the messages, and says of which files; None: there is no row."""


def follow(
    messages: DataFrame,
    clusters: Cluster | Iterable[Cluster],
    out: str | Path,
    changes: Change | Iterable[Change] | Callable[[], Iterable[Change]] = (),
    *,
    horizon: float = DAY,
    every: float = EVERY,
    available_now: bool = False,
    trust_ids: bool = False,
    file_format: str = "parquet",
    each: Callable[[DataFrame, int], object] | None = None,
) -> Following:
    """Dispatch a streaming DataFrame into a folder until it is stopped.

    `messages`: what `spark.readStream` gives, with the columns that `dispatch` asks for. `out`: a
    folder on this machine or in S3, new or of the same stream: then it goes on where it ended.
    `changes`: also a function that returns those known by now; it is called for each micro-batch.
    `horizon`: after so many seconds without them, by the messages' times, an id or a group is
    forgotten.
    `every`: seconds between micro-batches. `available_now`: end when what is there is decided.
    `trust_ids`: do not look for duplicates. `file_format`: parquet, csv or json. `each`: called
    with the decisions of each micro-batch that is committed and has any, and with its number, in
    their order. Where it raises, or the process ends, the stream ends, and the next `follow` calls
    it again with the same rows and number, before it returns: a sink that keeps the number with the
    rows has each once.

    The decisions are those of one `dispatch` over the same messages in the order of their column
    `arrival`, with this horizon: micro-batch after micro-batch, in each by `position` or time, then
    `id`. What comes late does not undo a change; a change that comes late holds for what comes
    later than all that was decided.

    Raises UserError where something cannot be as it was asked; of a micro-batch of which messages
    cannot be read, `Following.wait` does. What `each` raises, `wait` raises.
    """
    source: object = messages
    if not (isinstance(source, DataFrame) and source.isStreaming):
        raise MessageError(
            f"messages: found {repr_of(source)}, allowed: a streaming DataFrame; "
            "fairlead.dispatch takes the others"
        )
    known = changes if callable(changes) else _constant(changes_in(changes))
    options = Options(trust_ids=trust_ids, file_format=file_format)
    if not (each is None or callable(each)):
        raise MessageError(
            f"each: found {repr_of(each)}, allowed: a function of the rows and their number"
        )
    settings = StreamRequest(
        clusters_in(clusters), known, options, horizon, every, available_now, each=each
    )
    return start(messages, str(out), settings, lambda rows: (rows, []))


@dataclass(frozen=True)
class StreamRequest:
    """What a stream is asked for, beside its messages."""

    clusters: Sequence[Cluster]
    changes: Callable[[], Iterable[Change]]
    options: Options
    horizon: float
    """Seconds."""
    every: float
    """Seconds."""
    available_now: bool
    made: Made | None = None
    """What the page says of the run; None: no page."""
    committed: Callable[[Summary, Commit, StreamPlace], None] | None = None
    """Called after each micro-batch, with what all so far come to, and where its results are."""
    each: Callable[[DataFrame, int], object] | None = None
    """The user's own function, which gets each micro-batch that is committed."""


class Following:
    """A stream that is being dispatched."""

    def __init__(self, stream: RunningStream, work: _Work, *, went_on: bool) -> None:
        """Made by `follow`."""
        self._stream, self._work = stream, work
        self.went_on = went_on
        """Whether the stream had begun before."""

    @property
    def summary(self) -> Summary | None:
        """What all micro-batches so far come to, those of before included; None: there is none."""
        return self._work.summary

    @property
    def active(self) -> bool:
        """Whether it goes on."""
        return self._stream.active

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; False where it goes on after `timeout` seconds.

        Raises what ended it, where that was an error.
        """
        return self._stream.wait(timeout)

    def stop(self) -> None:
        """Let the micro-batch that is under way be finished, and end."""
        self._stream.stop()


class _Work:
    """What is done with each micro-batch."""

    def __init__(
        self, stream: StreamBatches, commit: Commit, request: StreamRequest, source: Source
    ) -> None:
        self.stream, self.commit, self.request, self.source = stream, commit, request, source
        self.summary: Summary | None = None

    def decide(self, rows: DataFrame, batch: int) -> None:
        """Decide on a micro-batch, unless it is committed, and hand it on."""
        self._check_checkpoint(batch)
        spark = rows.sparkSession
        if batch <= self.commit.batch:
            self.hand(spark)
            return  # Spark was ended before it knew that this was committed
        intake = self.source(rows)
        if intake is None or intake[0].isEmpty():
            self.commit = nothing(self.stream, self.commit, batch)
            return
        messages, files = intake
        try:
            self.commit = decide(messages, self.stream, self.commit, batch, files)
        except Exception:
            # Whoever has taken the place also forgets what this micro-batch reads.
            self.stream.folder.check_alone()
            raise
        summary = self.sum_up(spark)
        if self.request.committed is not None:
            self.request.committed(summary, self.commit, self.stream.folder)
        self.hand(spark)

    def sum_up(self, spark: SparkSession) -> Summary:
        """What all micro-batches so far come to."""
        folder, plan = self.stream.folder, plan_of(self.stream, self.commit)
        summary = rolling.summary(spark, folder, self.commit, plan, self.request.made)
        folder.write_json(SUMMARY, summary.to_dict())
        self.summary = summary
        return summary

    def hand(self, spark: SparkSession) -> None:
        """Let the user's own function have what is committed, and what it has not had."""
        folder, commit, each = self.stream.folder, self.commit, self.request.each
        if each is None:
            return
        for batch in range(folder.handed() + 1, commit.batch + 1):
            if folder.has(DECISIONS, batch):
                schema = StructType.fromJson(json.loads(commit.decided))
                place, kind = folder.at(DECISIONS, batch), self.stream.options.file_format
                each(load(spark, place, kind, schema), batch)
            folder.hand(batch)

    def _check_checkpoint(self, batch: int) -> None:
        """The numbers of micro-batches are those of one checkpoint."""
        folder = self.stream.folder
        place, now = inside(str(folder.out), CHECKPOINT), folder.checkpoint_id()
        if not self.commit.checkpoint:
            self.commit = msgspec.structs.replace(self.commit, checkpoint=now)
        elif now != self.commit.checkpoint:
            raise OutputError(f"{place}: found another checkpoint, allowed: that of {folder.out}")
        if batch > self.commit.batch + 1:
            raise OutputError(
                f"{place}: found micro-batch {batch}, allowed: {self.commit.batch + 1}, which "
                f"comes after what {folder.out} has"
            )


def check(out: str, request: StreamRequest) -> None:
    """Refuse what can be refused without Spark. Raises UserError."""
    _check(out, request)
    place = local(out)
    if place is None:
        checked_uri(out)
    else:
        _begun(_stream(folder_at(out, place), request))


def start(messages: DataFrame, out: str, request: StreamRequest, source: Source) -> Following:
    """Begin, or go on. `source`: makes messages of what Spark brings. Raises UserError."""
    if type(messages).__module__.startswith("pyspark.sql.connect"):
        raise UserError(NO_CONNECT)
    _check(out, request)
    folder = place_of(messages.sparkSession, out)
    stream = _stream(folder, request)
    held = ExitStack()
    held.enter_context(folder.alone())
    try:
        work = _Work(stream, _begun(stream), request, source)
        if work.commit.read:
            work.sum_up(messages.sparkSession)
        work.hand(messages.sparkSession)
        acting = BatchWork(work.decide)
        checkpoint, every, went_on = folder.checkpoint, request.every, work.commit.batch >= 0
        query = begun(messages, acting, checkpoint, every, available_now=request.available_now)
    except BaseException:
        held.close()
        raise
    return Following(RunningStream(query, acting, held), work, went_on=went_on)


def _check(out: str, request: StreamRequest) -> None:
    if out.startswith(TABLE):
        raise OutputError(f"{out}: found a table, allowed: a folder")
    check_seconds("horizon", request.horizon)
    check_seconds("every", request.every)
    if request.options.file_format not in FORMATS:
        raise OutputError(
            f"file_format: found {request.options.file_format!r}, allowed: {', '.join(FORMATS)}"
        )


def _stream(folder: StreamPlace, request: StreamRequest) -> StreamBatches:
    horizon = round(request.horizon * MICROS)
    return StreamBatches(
        folder,
        request.clusters,
        lambda: list(request.changes()),
        replace(request.options, horizon=horizon, keep=True),
    )


def _begun(stream: StreamBatches) -> Commit:
    """How far it has come. Raises OutputError where this is not the stream of the folder."""
    folder, options = stream.folder, stream.options
    now = Commit(
        clusters=[
            {"name": cluster.name, "tables": cluster.to_dict()} for cluster in stream.clusters
        ],
        options={
            "horizon": f"{stream.horizon / MICROS:g} s",
            "trust_ids": options.trust_ids,
            "format": options.file_format,
            **({"messages": options.where} if options.where.startswith(KAFKA) else {}),
        },
    )
    now = msgspec.json.decode(msgspec.json.encode(now), type=Commit)  # as it is written
    Plan(stream.clusters, stream.changes())
    commit = folder.commit()
    if commit is None:
        if folder.strangers():
            raise OutputError(
                f"{folder.out}: found a folder that is no stream's, allowed: a new one, or one "
                "that a stream of dispatch wrote"
            )
        return now
    what = differing(commit, now)
    if what:
        raise OutputError(f"{folder.out}: found a stream that was begun otherwise: {what}")
    if not folder.checkpoint_id():
        raise OutputError(
            f"{inside(str(folder.out), CHECKPOINT)}: found no checkpoint, allowed: that with which "
            "the stream began; without it nobody knows which messages were decided on: begin in "
            "another folder"
        )
    return commit


def _constant(changes: Sequence[Change]) -> Callable[[], Iterable[Change]]:
    return lambda: changes
