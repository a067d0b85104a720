"""Decisions over time: how many went where, with which outcome, to which level, in each bin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from fairlead.balance.objects import Ref
from fairlead.balance.policies.destinations import KIND
from fairlead.balance.policy import Policy
from fairlead.compiled.router import Plan
from fairlead.pipeline.bins import Bins
from fairlead.pipeline.columns import PREFIX
from fairlead.pipeline.measure import Counted
from fairlead.summary import OverTime, Series

MOST_SERIES: Final = 12
BIN: Final = PREFIX + "bin"
CLOSE: Final = PREFIX + "close"
"""The bin of the time around the changes."""
SLOT: Final = PREFIX + "slot"
LEVEL: Final = PREFIX + "level"

Destination = tuple[str, str | None, str]
"""Cluster, subject and name."""


def busiest(counts: Iterable[Counted], plan: Plan) -> list[Destination]:
    """The destinations with the most messages, in the order of the files."""
    totals: dict[Destination, int] = {}
    for each in counts:
        if each.destination is not None:
            place = (each.cluster, each.subject, each.destination)
            totals[place] = totals.get(place, 0) + each.messages
    listed: dict[Destination, int] = {}
    for cluster, policy in plan.policies.items():
        for member in policy.destinations():
            place = (cluster, policy.subject(member), policy.members[member])
            listed[place] = len(listed)
    most = sorted(totals, key=lambda place: (-totals[place], listed[place]))[:MOST_SERIES]
    return sorted(most, key=lambda place: listed[place])


def over_time(
    finest: DataFrame, bin_: str, bins: Bins, top: Sequence[Destination], plan: Plan
) -> OverTime:
    """Roll the finest counts up by bin; the destinations outside `top` are one.

    `bin_`: the column with the number of the bin, null for rows that are in none.
    """
    slot = F.when(F.col("destination").isNotNull(), _slot(top))
    levels = _levels(plan)
    leveled = _leveled(finest, levels) if levels else finest.withColumn(LEVEL, F.lit(None))
    rows = (
        leveled.where(F.col(bin_).isNotNull())
        .groupBy(F.col(bin_).alias(BIN), slot.alias(SLOT), LEVEL, "outcome")
        .agg(F.sum("messages").alias("messages"))
        .collect()
    )
    named = {k: Series(*place, [0] * bins.number) for k, place in enumerate(top)}
    named[len(top)] = Series(None, None, None, [0] * bins.number)
    by_slot = _added(rows, SLOT, bins, named)
    return OverTime(
        bins.start,
        bins.width,
        [each for each in by_slot if any(each.counts)],
        _added(rows, "outcome", bins),
        _added(rows, LEVEL, bins),
    )


def _slot(top: Sequence[Destination]) -> Column:
    found = F.lit(len(top))
    for k, place in enumerate(top):
        columns = zip(("cluster", "subject", "destination"), place, strict=True)
        same = [F.col(name).eqNullSafe(F.lit(value)) for name, value in columns]
        found = F.when(reduce(and_, same), F.lit(k)).otherwise(found)
    return found


def _added(
    rows: Iterable[Row], column: str, bins: Bins, named: Mapping[int, Series] | None = None
) -> list[Series]:
    """A series for each value of a column, in the order of the values."""
    found: dict[Any, Series] = dict(named or {})
    for row in rows:
        value = row[column]
        if value is not None:
            new = Series(None, None, str(value), [0] * bins.number)
            found.setdefault(value, new).counts[row[BIN]] += row["messages"]
    return [found[value] for value in sorted(found)]


def _levels(plan: Plan) -> list[tuple[str, str, int, int, int]]:
    """(cluster, destination, from version, to version, priority); empty with one priority only."""
    found: dict[tuple[str, str, int], tuple[int, int]] = {}
    latest: dict[tuple[str, str], tuple[int, int]] = {}
    for version, policies in plan.versions():
        for cluster, policy in policies.items():
            for name, priority in _priorities(policy):
                since, before = latest.get((cluster, name), (version, priority))
                since = since if before == priority else version
                latest[cluster, name] = (since, priority)
                found[cluster, name, since] = (version, priority)
    if len({priority for _, priority in found.values()}) < 2:
        return []
    return [(*key, *value) for key, value in found.items()]


def _priorities(policy: Policy[Any, Any, Any]) -> Iterable[tuple[str, int]]:
    kind = policy.kinds.get(KIND)
    if kind is None or "priority" not in kind.__struct_fields__:
        return
    for name in policy.members:
        yield name, policy.objects[Ref(KIND, name)].priority


def _leveled(finest: DataFrame, levels: Sequence[tuple[str, str, int, int, int]]) -> DataFrame:
    """The counts with the priority that their destination had."""
    one, other, since, until = (PREFIX + name for name in ("cluster", "name", "since", "until"))
    table = finest.sparkSession.createDataFrame(
        list(levels), f"{one} string, {other} string, {since} int, {until} int, {LEVEL} int"
    )
    same = (F.col("cluster") == F.col(one)) & (F.col("destination") == F.col(other))
    then = F.col("version").between(F.col(since), F.col(until))
    return finest.join(F.broadcast(table), same & then, "left")
