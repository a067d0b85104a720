"""Decisions over time: how many went where, with which outcome, to which level, in each bin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.pipeline.columns import PREFIX
from fairlead.pipeline.measure.bins import Bins
from fairlead.pipeline.measure.levels import LEVEL, OWNER, Level, leveled
from fairlead.pipeline.measure.tally import Counted
from fairlead.results.summary import OverTime, Series

MAX_SERIES: Final = 12
BIN: Final = PREFIX + "bin"
CLOSE: Final = PREFIX + "close"
"""The bin of the time around the changes."""
SLOT: Final = PREFIX + "slot"

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
    for cluster, policy in plan.states.items():
        for member in policy.destinations():
            place = (cluster, policy.subject(member), policy.members[member])
            listed[place] = len(listed)
    most = sorted(totals, key=lambda place: (-totals[place], listed[place]))[:MAX_SERIES]
    return sorted(most, key=lambda place: listed[place])


def over_time(
    finest: DataFrame,
    bin_: str,
    bins: Bins,
    top: Sequence[Destination],
    levels: Sequence[Level],
    plan: Plan,
) -> OverTime:
    """Roll the finest counts up by bin; the destinations outside `top` are one.

    `bin_`: the column with the number of the bin, null for rows that are in none.
    """
    slot = F.when(F.col("destination").isNotNull(), _slot(top))
    rows = (
        leveled(finest, levels)
        .where(F.col(bin_).isNotNull())
        .groupBy(F.col(bin_).alias(BIN), slot.alias(SLOT), OWNER, LEVEL, "outcome")
        .agg(F.sum("messages").alias("messages"))
        .collect()
    )
    slots = dict(enumerate([*top, (None, None, None)]))
    return OverTime(
        bins.start,
        bins.width,
        [Series(*slots[k], counts) for (k,), counts in _counts(rows, bins, SLOT)],
        [Series(None, None, name, counts) for (name,), counts in _counts(rows, bins, "outcome")],
        [
            Series(plan.clusters[k].name, None, str(priority), counts)
            for (k, priority), counts in _counts(rows, bins, OWNER, LEVEL)
        ],
    )


def _slot(top: Sequence[Destination]) -> Column:
    found = F.lit(len(top))
    for k, place in enumerate(top):
        columns = zip(("cluster", "subject", "destination"), place, strict=True)
        same = [F.col(name).eqNullSafe(F.lit(value)) for name, value in columns]
        found = F.when(reduce(and_, same), F.lit(k)).otherwise(found)
    return found


def _counts(rows: Iterable[Row], bins: Bins, *columns: str) -> list[tuple[Any, list[int]]]:
    """Counts in each bin by the values of these columns, in their order; null is none."""
    found: dict[Any, list[int]] = {}
    for row in rows:
        values = tuple(row[name] for name in columns)
        if None not in values:
            found.setdefault(values, [0] * bins.number)[row[BIN]] += row["messages"]
    return sorted(found.items())
