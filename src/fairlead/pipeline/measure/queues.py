"""Queues over time: how many messages began and ended to wait in each bin."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.balance.message import ROUTED
from fairlead.measure.bins import over
from fairlead.measure.queues import Move, queue
from fairlead.pipeline.columns import SCENARIO
from fairlead.pipeline.intake.validate import time_of
from fairlead.pipeline.measure.attempts import in_micros, micros
from fairlead.results.comparison import Queue


def queues_of(
    written: DataFrame, scenarios: Iterable[int], first: int, last: int, *, dated: bool
) -> dict[int, Queue]:
    """By scenario: how many waited over time, from the first time to the last."""
    bins = over(first, last)
    until = F.coalesce(micros("start", dated=dated), micros("finish", dated=dated))
    since = until - in_micros(F.col("wait"))
    still = until.isNull() & (F.col("outcome") == ROUTED)
    # What still waits does so to the end.
    waited = written.where(until.isNotNull() | still).select(
        SCENARIO,
        F.coalesce(since, time_of(written.schema["time"].dataType)).alias("since"),
        F.coalesce(until, F.lit(bins.end)).alias("until"),
    )

    def at(column: str) -> Column:
        inside = F.least(F.greatest(F.col(column), F.lit(bins.start)), F.lit(bins.end))
        return inside - F.lit(bins.start)

    placed = waited.select(SCENARIO, at("since").alias("since"), at("until").alias("until"))
    steps = F.array(
        *(
            F.struct(
                F.expr(f"{name} div {bins.width}L").alias("bin"),
                F.lit(sign).alias("more"),
                (F.col(name) % bins.width * sign).alias("after"),
            )
            for name, sign in (("since", 1), ("until", -1))
        )
    )
    rows = (
        placed.select(SCENARIO, F.explode(steps).alias("move"))
        .groupBy(SCENARIO, "move.bin")
        .agg(F.sum("move.more").alias("more"), F.sum("move.after").alias("after"))
        .collect()
    )
    moves = [Move(*row) for row in rows]
    return {k: queue(bins, (each for each in moves if each.scenario == k)) for k in scenarios}
