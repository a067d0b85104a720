"""Rolling: what all micro-batches so far come to, as the summary of one dispatch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.compiled.router import Carried
from fairlead.measure import facts
from fairlead.measure.bins import MAX_BINS, Bins, widths
from fairlead.measure.levels import levels
from fairlead.measure.over_time import busiest
from fairlead.measure.tally import DecisionCount, digest, outcomes, phases, unknown_clusters
from fairlead.pipeline.columns import TIME
from fairlead.pipeline.dispatch import PreparedTable
from fairlead.pipeline.measure.counts import by_all, messages
from fairlead.pipeline.measure.over_time import BIN, over_time
from fairlead.pipeline.measure.tally import counted
from fairlead.pipeline.streaming.stream_place import StreamPlace
from fairlead.results.summary import Made, Period, ReportFacts, StreamCounts, Streams, Summary
from fairlead.runs.stream_folder import Commit

BY: Final = ("version", "cluster", "subject", "destination", "outcome", BIN)
COUNTS: Final = (
    "version int, cluster string, subject string, destination string, outcome string, "
    f"{BIN} bigint, messages bigint, xor bigint, sum bigint"
)
"""Decisions so far, in bins of the commit's `width`, which are numbered from time 0."""


@dataclass(frozen=True)
class Rolled:
    """The counts of a micro-batch, and of all up to it."""

    new: list[DecisionCount]
    messages: dict[int, int]
    """Of the micro-batch, by version."""
    width: int
    period: tuple[int, int] | None
    """The first and the last time of a message so far."""
    unknown: dict[str, int]
    """Messages so far of clusters that no file has."""


def roll(written: DataFrame, ready: PreparedTable, folder: StreamPlace, commit: Commit) -> Rolled:
    """Count what a micro-batch wrote, and write down what all so far come to."""
    plan, spark = ready.plan, written.sparkSession
    period = _period(commit, ready)
    width = commit.width or next(widths())
    if period is not None:
        width = width_of(commit.width, *period)
    counts = by_all(written, plan, _bin(F.col(TIME), width).alias(BIN)).persist()
    try:
        new = counted(counts)
        before = _before(spark, folder, commit)
        if commit.width and width != commit.width:
            before = before.withColumn(BIN, _bin(F.col(BIN) * commit.width, width))
        every = (
            before.unionByName(counts.select(*before.columns))
            .groupBy(*BY)
            .agg(
                F.sum("messages").alias("messages"),
                F.bit_xor("xor").alias("xor"),
                F.sum("sum").alias("sum"),
            )
        )
        every.coalesce(1).write.parquet(folder.making("state/counts"))
    finally:
        counts.unpersist()
    unknown = Counter(commit.unknown_clusters) + Counter(unknown_clusters(new, plan))
    return Rolled(new, messages(written, plan, new), width, period, dict(unknown))


def _before(spark: SparkSession, folder: StreamPlace, commit: Commit) -> DataFrame:
    if not commit.width:
        return spark.createDataFrame([], COUNTS)
    return spark.read.schema(COUNTS).parquet(folder.at("state/counts", commit.batch))


def _period(commit: Commit, ready: PreparedTable) -> tuple[int, int] | None:
    ends = [time for time in (commit.first, commit.last) if time is not None]
    ends += ready.survey.period or ()
    return (min(ends), max(ends)) if ends else None


def width_of(before: int, first: int, last: int) -> int:
    """The narrowest bins from the first time to the last that those before can be put into.

    `before`: their width; 0: there are none.

    >>> width_of(0, 0, 1_000), width_of(2, 0, 1_000), width_of(10, 0, 1_000_000)
    (10, 10, 10000)
    """
    fitting = (width for width in widths() if not before or width % before == 0)
    return next(width for width in fitting if last // width - first // width < MAX_BINS)


def _bin(time: Column, width: int) -> Column:
    """The number of the bin that begins at or before a time, from time 0 on."""
    # 64 bits hold every time, but not every difference of two.
    return F.call_function("div", time - F.pmod(time, F.lit(width)), F.lit(width))


def summary(
    spark: SparkSession, folder: StreamPlace, commit: Commit, plan: Plan, made: Made | None
) -> Summary:
    """What all micro-batches so far come to. `made`: what a page says of the run; None: no page."""
    every = _before(spark, folder, commit).persist()
    try:
        counts = counted(every)
        ended = outcomes(counts)
        facts = None if made is None else _facts(every, counts, commit, plan, made)
    finally:
        every.unpersist()
    return Summary(
        read=commit.read,
        rejected=commit.rejected,
        outcomes=ended,
        rows=sum(ended.values()),
        digest=digest(counts),
        phases=phases(plan, counts, commit.messages),
        rejections=commit.rejections,
        unknown_clusters=commit.unknown_clusters,
        blocks=commit.batch + 1,
        facts=facts,
    )


def _facts(
    every: DataFrame, counts: list[DecisionCount], commit: Commit, plan: Plan, made: Made
) -> ReportFacts:
    period = None
    seen = None
    if commit.first is not None and commit.last is not None:
        period = Period(commit.first, commit.last)
        start = commit.first // commit.width
        bins = Bins(start * commit.width, commit.width, commit.last // commit.width - start + 1)
        numbered = every.withColumn(BIN, (F.col(BIN) - start).cast("int"))
        top, on = busiest(counts, plan), levels(plan, counts)
        seen = over_time(numbered, BIN, bins, top, on, plan)
    return ReportFacts(
        made=made,
        period=period,
        over_time=seen if seen is not None and seen.outcomes else None,
        around_changes=None,
        changes=facts.changes(plan.changes),
        streams=_streams(Carried.load(commit.carried).streams if commit.carried else {}),
        groups=None,
        policies=facts.policies(plan),
    )


def _streams(upcoming: Mapping[tuple[str, ...], int]) -> Streams:
    streams = [
        StreamCounts("/".join(part for part in name if part), n) for name, n in upcoming.items()
    ]
    streams.sort(key=lambda stream: (-stream.messages, stream.name))
    return Streams(len(streams), streams[: facts.MAX_STREAMS])
