"""Waits: how long attempts waited, by destination, priority and tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fairlead.balance.times import MICROS
from fairlead.measure.waits import (
    ALL,
    EXACT,
    HALF,
    KINDS,
    MAX_BITS,
    MAX_NAMES,
    NEARLY,
    PHASE,
    QUANTILES,
)
from fairlead.pipeline.columns import SCENARIO, looked_up
from fairlead.pipeline.constants import PREFIX
from fairlead.pipeline.intake.validate import text, time_of
from fairlead.pipeline.measure.attempts import WAIT
from fairlead.pipeline.routing.blocks import version
from fairlead.results.comparison import Longest, Waits

BIN: Final = PREFIX + "bin"


def binned(wait: str) -> Column:
    """A number that is the same for waits (microseconds) that share their leading bits."""
    shift = version([1 << bits for bits in range(EXACT, MAX_BITS)], wait)
    return shift * (1 << EXACT) + F.call_function("shiftright", wait, shift)


def waits_of(
    attempts: DataFrame, phases: Sequence[Sequence[int]] = ()
) -> dict[tuple[int, str], list[Waits]]:
    """By scenario and kind of name: the waits of those that were started.

    `phases`: by scenario, when phases begin (microseconds), but for the first; nothing: it has
    none. They are called by their numbers.
    """
    if any(phases):
        attempts = attempts.withColumn(PHASE, _phase(attempts, phases))
    kinds = [kind for kind in (*KINDS, PHASE) if kind in attempts.columns]
    names = [F.struct(F.lit(ALL).alias("kind"), F.lit("").alias("name"))]
    names += [
        F.struct(F.lit(kind).alias("kind"), text(attempts, kind).alias("name")) for kind in kinds
    ]
    # Rows that are alike in all of it are counted together before they stand for each of it.
    alike = (
        attempts.select(SCENARIO, WAIT, binned(WAIT).alias(BIN), *kinds)
        .groupBy(SCENARIO, BIN, *kinds)
        .agg(
            F.count(F.lit(1)).alias("n"),
            # Their sum may need more than 64 bits; a decimal that has them takes long.
            F.sum(F.shiftright(WAIT, HALF)).alias("high"),
            F.sum(F.col(WAIT).bitwiseAND(F.lit((1 << HALF) - 1))).alias("low"),
            F.max(WAIT).alias("max"),
        )
    )
    counted = (
        alike.select("*", F.explode(F.array(*names)).alias("of"))
        .groupBy(SCENARIO, "of.kind", "of.name", BIN)
        .agg(*(F.sum(each).alias(each) for each in ("n", "high", "low")), F.max("max").alias("max"))
    )
    whole = Window.partitionBy(SCENARIO, "kind", "name")
    upto = whole.orderBy(BIN).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = counted.withColumns({"upto": F.sum("n").over(upto), "all": F.sum("n").over(whole)})
    quantile = [
        F.min(F.when(F.col("upto") >= F.ceil(F.col("all") * q), F.col("max"))).alias(f"q{k}")
        for k, q in enumerate(QUANTILES)
    ]
    rows = (
        ranked.groupBy(SCENARIO, "kind", "name")
        .agg(
            *(F.sum(each).alias(each) for each in ("n", "high", "low")),
            F.max("max").alias("max"),
            *quantile,
        )
        .withColumn("rank", F.row_number().over(_most_first()))
        .where(F.col("rank") <= MAX_NAMES)
        .collect()
    )
    found: dict[tuple[int, str], list[Waits]] = {}
    for row in sorted(rows, key=lambda row: row["rank"]):
        n = row["n"]
        p50, p90, p99 = (row[f"q{k}"] / MICROS for k in range(len(QUANTILES)))
        mean = float((row["high"] << HALF) + row["low"]) / n / MICROS
        each = Waits(row["name"], n, mean, p50, p90, p99, row["max"] / MICROS)
        found.setdefault((row[SCENARIO], row["kind"]), []).append(each)
    return found


def _phase(attempts: DataFrame, phases: Sequence[Sequence[int]]) -> Column:
    """How many phases had ended when the message was sent; nothing where there are none."""
    sent = time_of(attempts.schema["time"].dataType)
    begin = looked_up(phases, F.col(SCENARIO), "array<bigint>")
    number = F.size(F.filter(begin, lambda time: time <= sent))
    return F.when(F.size(begin) > 0, number)


def longest_of(attempts: DataFrame, most: Mapping[int, float]) -> dict[int, Longest]:
    """By scenario: the message that waited longest, the first by id of equals.

    `most`: by scenario, the longest wait in seconds.
    """
    if not most:
        return {}
    # Few rows are left, of which the longest is one whatever the seconds lost of it.
    least = [int(most.get(k, 0.0) * MICROS * NEARLY) for k in range(max(most) + 1)]
    attempts = attempts.where(F.col(WAIT) >= looked_up(least, F.col(SCENARIO), "bigint"))
    latest = F.min_by(
        F.struct("id", text(attempts, "group").alias("group"), "destination", WAIT),
        F.struct(-F.col(WAIT), F.col("id").cast("string")),
    )
    rows = attempts.groupBy(SCENARIO).agg(latest.alias("it")).collect()
    return {
        row[SCENARIO]: Longest(
            str(row["it"]["id"]),
            row["it"]["group"],
            row["it"]["destination"],
            row["it"][WAIT] / MICROS,
        )
        for row in rows
    }


def _most_first() -> Any:  # noqa: ANN401 - Spark's
    return Window.partitionBy(SCENARIO, "kind").orderBy(F.desc("n"), "name")
