"""Attempts: read again what a replay wrote, and count its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fairlead.balance.message import ROUTED
from fairlead.balance.times import MICROS
from fairlead.measure.attempts import End
from fairlead.pipeline.columns import SCENARIO, looked_up
from fairlead.pipeline.constants import PREFIX
from fairlead.pipeline.intake.validate import text, time_of
from fairlead.replay.words import AGAIN
from fairlead.rows import ATTEMPT, DECISION

WAIT: Final = PREFIX + "wait"


def micros(column: str, *, dated: bool) -> Column:
    """A time that was written, in whole microseconds."""
    found = F.col(column)
    return F.unix_micros(found) if dated else in_micros(found)


def in_micros(seconds: Column) -> Column:
    """Seconds that are whole microseconds but for what floating point left, as these."""
    return F.rint(seconds * MICROS).cast("long")


def last_attempts(written: DataFrame) -> DataFrame:
    """The attempts that count: after which a message does not go on."""
    return written.where(~F.col("outcome").isin(*AGAIN))


def started(written: DataFrame, *, dated: bool) -> DataFrame:
    """The attempts that count, with WAIT: from the message's time until they were started.

    So what failures and rollbacks cost is in the wait.
    """
    counts = last_attempts(written).where(F.col("start").isNotNull())
    whole = micros("start", dated=dated) - time_of(written.schema["time"].dataType)
    first = in_micros(F.col("wait"))
    return counts.withColumn(WAIT, F.when(F.col("attempt") > 1, whole).otherwise(first))


def late_of(written: DataFrame, limits: Sequence[float], dated: bool) -> DataFrame:
    """The attempts that count and waited longer than their scenario's limit (seconds)."""
    micros_ = [round(limit * MICROS) for limit in limits]
    limit = looked_up(micros_, F.col(SCENARIO), "bigint")
    return started(written, dated=dated).where(F.col(WAIT) > limit).drop(WAIT)


def ends_of(written: DataFrame, *, dated: bool) -> list[End]:
    """How it ended with the rows, all counted in one pass."""
    row = F.xxhash64(F.col("id").cast("string"), *DECISION, *ATTEMPT)
    has_started = F.col("start").isNotNull()
    finish = micros("finish", dated=dated)
    rows = (
        written.groupBy(
            F.col(SCENARIO).alias("scenario"),
            "outcome",
            text(written, "cluster").alias("cluster"),
            "destination",
        )
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.count_if(~has_started & (F.col("outcome") == ROUTED)).alias("waiting"),
            F.count_if(F.col("attempt") > 1).alias("redeliveries"),
            F.count_if(has_started).alias("started"),
            F.sum(finish - micros("start", dated=dated)).alias("busy"),
            F.max(finish).alias("last"),
            F.bit_xor(row).alias("xor"),
            F.sum(F.shiftrightunsigned(row, 33)).alias("sum"),
        )
        .collect()
    )
    return [End(**each.asDict()) for each in rows]


def groups_of(written: DataFrame, *, fans_out: bool) -> dict[int, tuple[int, int]]:
    """By scenario: how many groups, and in how many the order was not kept.

    `fans_out`: whether any message is for several destinations.
    """
    if "group" not in written.columns:
        return {}
    whose = [text(written, name).alias(name) for name in ("cluster", "group")]
    work = last_attempts(written).where((text(written, "group") != "") & F.col("start").isNotNull())
    key = F.col("position").cast("long") if "position" in written.columns else None
    place = time_of(written.schema["time"].dataType) if key is None else key
    each = work.select(
        SCENARIO, place.alias("place"), F.col("id").cast("string").alias("id"), *whose, "start"
    )
    if fans_out:
        # A message for several destinations has started when the first of them has.
        each = each.groupBy(SCENARIO, "cluster", "group", "place", "id").agg(
            F.min("start").alias("start")
        )
    # Sorting is far cheaper where the first column tells nearly all rows apart.
    whole = ("hash", SCENARIO, "cluster", "group")
    each = each.withColumn("hash", F.xxhash64(SCENARIO, "cluster", "group"))
    order = Window.partitionBy(*whole).orderBy("place", "id")
    late = each.withColumn("overtaken", F.col("start") < F.lag("start").over(order))
    rows = (
        late.groupBy(*whole)
        .agg(F.coalesce(F.max("overtaken"), F.lit(False)).alias("torn"))
        .groupBy(SCENARIO)
        .agg(F.count(F.lit(1)).alias("n"), F.count_if("torn").alias("torn"))
        .collect()
    )
    return {row[SCENARIO]: (row["n"], row["torn"]) for row in rows}
