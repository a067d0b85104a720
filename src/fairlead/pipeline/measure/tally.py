"""Tally: count what was written, by reading it again."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.measure.tally import DecisionCount
from fairlead.pipeline.columns import VERSION
from fairlead.pipeline.intake.validate import text
from fairlead.rows import DECISION


def finest(written: DataFrame, cluster: Column, subject: Column, *also: Column) -> DataFrame:
    """Count decisions as they were written, by all that is asked of them afterwards.

    `written`: with VERSION; `cluster`: the name of each; `subject`: what its destination belongs
    to; `also`: what else tells the counts apart.
    """
    row = F.xxhash64(F.col("id").cast("string"), *DECISION)
    return written.groupBy(
        F.col(VERSION).alias("version"),
        cluster.alias("cluster"),
        subject.alias("subject"),
        "destination",
        "outcome",
        *also,
    ).agg(
        F.count(F.lit(1)).alias("messages"),
        F.bit_xor(row).alias("xor"),
        F.sum(F.shiftrightunsigned(row, 33)).alias("sum"),
    )


def counted(counts: DataFrame) -> list[DecisionCount]:
    """The finest counts, put together where only what `also` was differs."""
    rows = (
        counts.groupBy("version", "cluster", "subject", "destination", "outcome")
        .agg(
            F.sum("messages").alias("messages"),
            F.bit_xor("xor").alias("xor"),
            F.sum("sum").alias("sum"),
        )
        .collect()
    )
    return [DecisionCount(**row.asDict()) for row in rows]


def messages(written: DataFrame, plan: Plan) -> dict[int, int]:
    """How many messages the decisions are of, by VERSION, where some have several rows.

    Only a cluster that fans out writes several rows for a message. There the texts of the stream's
    columns tell its streams apart, so that with its sequence each message is counted once; what
    tells the streams of the other clusters apart need not stand in the table.
    """
    stream = [text(written, name) for name in ("cluster", *plan.streamed)]
    several = text(written, "cluster").isin(plan.fanning) & F.col("sequence").isNotNull()
    rows = written.groupBy(F.col(VERSION).alias("version")).agg(
        F.count_distinct(F.when(several, F.struct(*stream, "sequence"))).alias("several"),
        F.count_if(~several).alias("single"),
    )
    return {row["version"]: row["several"] + row["single"] for row in rows.collect()}
