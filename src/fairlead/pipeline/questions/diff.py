"""Diff: two runs over the same messages, held against each other message for message."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.balance.message import ROUTED
from fairlead.balance.times import MICROS
from fairlead.errors import MessageError
from fairlead.pipeline.intake.validate import text, time_of
from fairlead.results.diff import Balance, Diff, Move
from fairlead.runs.constants import MAX_MOVES

__all__ = ["compare", "diff", "moved"]

BEFORE, AFTER = "destination_before", "destination_after"
OUTCOME_BEFORE, OUTCOME_AFTER = "outcome_before", "outcome_after"
CLUSTER, CLUSTER_BEFORE, CLUSTER_AFTER = "cluster", "cluster_before", "cluster_after"
SIDES: Final = (BEFORE, AFTER, OUTCOME_BEFORE, OUTCOME_AFTER, CLUSTER_BEFORE, CLUSTER_AFTER)
GROUP: Final = "group"
START: Final = "start"
STARTED_BEFORE, STARTED_AFTER = "started_before", "started_after"


def compare(before: DataFrame, after: DataFrame) -> DataFrame:
    """One row for each message of either run.

    `before`, `after`: decisions, one for each message (see `joined`), with `id`, `destination`,
    `outcome` and perhaps `cluster` and `group`. Gives `id`, cluster, destination and outcome before
    and after (null where that run has no such message), and, if a run has it, `group` ("" for
    none). The clusters are "" unless both runs have the column: without it a message is in the only
    one, whose name may be no more than that of its file. Raises MessageError.
    """
    clustered = CLUSTER in before.columns and CLUSTER in after.columns
    one = _narrow(before, "before", BEFORE, OUTCOME_BEFORE, CLUSTER_BEFORE, clustered=clustered)
    other = _narrow(after, "after", AFTER, OUTCOME_AFTER, CLUSTER_AFTER, clustered=clustered)
    both = (*one.columns, *other.columns)
    known = [name for name in (f"{GROUP}_{BEFORE}", f"{GROUP}_{AFTER}") if name in both]
    group = [F.coalesce(*known, F.lit("")).alias(GROUP)] if known else []
    starts = (STARTED_BEFORE, STARTED_AFTER)
    timed = starts if set(starts) <= set(both) else ()
    return one.join(other, "id", "full_outer").select("id", *group, *SIDES, *timed)


def joined(decisions: DataFrame) -> DataFrame:
    """One row for each message: of one that went to several, all their names in `destination`."""
    aggregates = [
        F.first(name).alias(name) for name in (CLUSTER, GROUP) if name in decisions.columns
    ]
    if START in decisions.columns:
        # Texts of times, as CSV and JSON have them, do not stand in the order of the times.
        aggregates.append(F.min(F.timestamp_micros(_started(decisions))).alias(START))
    names = F.array_join(F.array_sort(F.collect_set("destination")), " + ")
    return decisions.groupBy("id").agg(
        F.when(names != "", names).alias("destination"),
        F.first("outcome").alias("outcome"),
        *aggregates,
    )


def _narrow(
    decisions: DataFrame,
    which: str,
    destination: str,
    outcome: str,
    cluster: str,
    *,
    clustered: bool,
) -> DataFrame:
    for name in ("id", "destination", "outcome"):
        if name not in decisions.columns:
            raise MessageError(
                f"{which}: no column {name!r}, found: {', '.join(decisions.columns)}; "
                "allowed: what dispatch decided"
            )
    group = [text(decisions, GROUP).alias(f"{GROUP}_{destination}")]
    started = STARTED_BEFORE if destination == BEFORE else STARTED_AFTER
    return decisions.select(
        F.col("id").cast("string").alias("id"),
        F.col("destination").alias(destination),
        F.col("outcome").alias(outcome),
        (text(decisions, CLUSTER) if clustered else F.lit("")).alias(cluster),
        *(group if GROUP in decisions.columns else []),
        *([_started(decisions).alias(started)] if START in decisions.columns else []),
    )


def _started(decisions: DataFrame) -> Column:
    """When a replay started a message, in microseconds."""
    return time_of(decisions.schema[START].dataType, START)


def moved(compared: DataFrame) -> DataFrame:
    """Of what `compare` gave: the messages of both runs that go elsewhere now."""
    return compared.where(_in_both() & _elsewhere())


def _in_both() -> Column:
    return F.col(OUTCOME_BEFORE).isNotNull() & F.col(OUTCOME_AFTER).isNotNull()


def _elsewhere() -> Column:
    """To a destination of another name, or of another cluster."""
    same = (F.col(CLUSTER_BEFORE) == F.col(CLUSTER_AFTER)) | F.col(BEFORE).isNull()
    return ~(F.col(BEFORE).eqNullSafe(F.col(AFTER)) & same)


def diff(compared: DataFrame) -> Diff:
    """Count what `compare` found; the messages stay where they are."""
    number = F.count(F.lit(1)).alias("n")
    counted = compared.groupBy(*SIDES).agg(number).persist()
    try:
        totals = counted.agg(
            _sum(F.col(OUTCOME_BEFORE).isNotNull()).alias("before"),
            _sum(F.col(OUTCOME_AFTER).isNotNull()).alias("after"),
            _sum(_in_both()).alias("both"),
            _sum(F.col(OUTCOME_AFTER).isNull()).alias("only_before"),
            _sum(F.col(OUTCOME_BEFORE).isNull()).alias("only_after"),
            _sum(_in_both() & _elsewhere()).alias("moved"),
            _sum(_in_both() & _routed(OUTCOME_BEFORE) & ~_routed(OUTCOME_AFTER)).alias(
                "no_longer_routed"
            ),
            _sum(_in_both() & ~_routed(OUTCOME_BEFORE) & _routed(OUTCOME_AFTER)).alias(
                "newly_routed"
            ),
        ).collect()[0]
        return Diff(
            **totals.asDict(),
            **_groups(compared),
            **_starts(compared),
            destinations=_destinations(counted),
            moves=_moves(counted),
        )
    finally:
        counted.unpersist()


def _sum(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col("n"))), F.lit(0))


def _routed(outcome: str) -> Column:
    return F.col(outcome) == ROUTED


def _groups(compared: DataFrame) -> dict[str, int]:
    """How many groups there are, each inside its cluster of before, and how many go elsewhere."""
    if GROUP not in compared.columns:
        return {"groups": 0, "groups_moved": 0}
    sides = ((BEFORE, CLUSTER_BEFORE), (AFTER, CLUSTER_AFTER))
    places = [F.sort_array(F.collect_set(_place(*side))).alias(side[0]) for side in sides]
    grouped = compared.where(_in_both() & (F.col(GROUP) != "")).groupBy(CLUSTER_BEFORE, GROUP)
    row = (
        grouped.agg(*places)
        .agg(
            F.count(F.lit(1)).alias("groups"),
            F.count_if(F.col(BEFORE) != F.col(AFTER)).alias("groups_moved"),
        )
        .collect()[0]
    )
    counts: dict[str, int] = row.asDict()
    return counts


def _starts(compared: DataFrame) -> dict[str, Any]:
    """How many messages start sooner than before, and how many later."""
    if STARTED_BEFORE not in compared.columns:
        return {}
    more = F.col(STARTED_AFTER) - F.col(STARTED_BEFORE)
    row = compared.agg(
        F.count_if(more < 0).alias("sooner"),
        F.count_if(more > 0).alias("later"),
        F.count(more).alias("started"),
        (F.coalesce(F.avg(more), F.lit(0.0)) / MICROS).alias("mean_delay"),
    ).collect()[0]
    figures: dict[str, Any] = row.asDict()
    return figures


def _place(destination: str, cluster: str) -> Column:
    """Cluster and destination in one; null for nobody."""
    both = F.struct(F.col(cluster).alias("cluster"), F.col(destination).alias("destination"))
    return F.when(F.col(destination).isNotNull(), both)


def _whose(destination: str, cluster: str) -> Column:
    """The destination's cluster; "" for nobody, who has none."""
    return F.when(F.col(destination).isNull(), "").otherwise(F.col(cluster))


def _destinations(counted: DataFrame) -> list[Balance]:
    """Who had how much, and has now; the greatest difference first."""
    sides = [
        counted.where(F.col(outcome).isNotNull()).select(
            _whose(name, cluster).alias("cluster"),
            F.col(name).alias("destination"),
            (F.col("n") if outcome == OUTCOME_BEFORE else F.lit(0)).alias("before"),
            (F.col("n") if outcome == OUTCOME_AFTER else F.lit(0)).alias("after"),
        )
        for name, outcome, cluster in (
            (BEFORE, OUTCOME_BEFORE, CLUSTER_BEFORE),
            (AFTER, OUTCOME_AFTER, CLUSTER_AFTER),
        )
    ]
    rows = (
        sides[0]
        .unionByName(sides[1])
        .groupBy("cluster", "destination")
        .agg(F.sum("before").alias("before"), F.sum("after").alias("after"))
        .collect()
    )
    balances = [Balance(**row.asDict()) for row in rows]
    return sorted(
        balances, key=lambda b: (-abs(b.after - b.before), b.cluster, b.destination or "")
    )


def _moves(counted: DataFrame) -> list[Move]:
    whose = [
        _whose(BEFORE, CLUSTER_BEFORE).alias(CLUSTER_BEFORE),
        _whose(AFTER, CLUSTER_AFTER).alias(CLUSTER_AFTER),
    ]
    rows = (
        moved(counted)
        .groupBy(BEFORE, AFTER, *whose)
        .agg(F.sum("n").alias("messages"))
        .orderBy(F.desc("messages"), CLUSTER_BEFORE, BEFORE, CLUSTER_AFTER, AFTER)
        .limit(MAX_MOVES)
        .collect()
    )
    return [
        Move(row[BEFORE], row[AFTER], row["messages"], row[CLUSTER_BEFORE], row[CLUSTER_AFTER])
        for row in rows
    ]
