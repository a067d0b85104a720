"""Decisions over time: the finest counts rolled up by bin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.measure.bins import Bins
from fairlead.measure.levels import PriorityPeriod
from fairlead.measure.over_time import Binned, Destination
from fairlead.measure.over_time import over_time as series
from fairlead.pipeline.measure.levels import LEVEL, OWNER, leveled
from fairlead.results.summary import OverTime
from fairlead.runs.constants import PREFIX

BIN: Final = PREFIX + "bin"
CLOSE: Final = PREFIX + "close"
"""The bin of the time around the changes."""
SLOT: Final = PREFIX + "slot"


def bin_of(bins: Bins, time: str) -> Column:
    """The number of a row's bin, from 0; null outside of them."""
    # 64 bits hold every time, but not every difference of two.
    multiple = F.expr(f"({time} - pmod({time}, {bins.width}L)) div {bins.width}L")
    place = multiple - F.lit(bins.start // bins.width)
    return F.when((place >= 0) & (place < bins.number), place.cast("int"))


def over_time(
    finest: DataFrame,
    bin_: str,
    bins: Bins,
    top: Sequence[Destination],
    levels: Sequence[PriorityPeriod],
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
    return series([Binned(*row) for row in rows], bins, top, plan)


def _slot(top: Sequence[Destination]) -> Column:
    slot = F.lit(len(top))
    for k, place in enumerate(top):
        columns = zip(("cluster", "subject", "destination"), place, strict=True)
        same = [F.col(name).eqNullSafe(F.lit(value)) for name, value in columns]
        slot = F.when(reduce(and_, same), F.lit(k)).otherwise(slot)
    return slot
