"""Groups: whether those of a dispatch stayed together."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import ClassifiedPlan
from fairlead.pipeline.intake.validate import text
from fairlead.results.summary import GroupCounts

GROUP: Final = "group"


def groups(written: DataFrame, plan: ClassifiedPlan) -> GroupCounts | None:
    """Whether groups stayed together, in one aggregation; None where the table has no groups.

    Where a message goes to several destinations, so does every group: such clusters are left out.
    """
    together = [name for name, state in plan.states.items() if not state.policy.fans_out]
    if GROUP not in written.columns or not together:
        return None
    routed = written.where((text(written, GROUP) != "") & F.col("destination").isNotNull())
    if plan.fans_out:
        routed = routed.where(text(routed, "cluster").isin(together))
    # Of numbers Spark keeps the least and the greatest in a table of hashes; texts it would sort.
    # Two hashes of different kinds, 96 bits in all, stand for a group: texts take longer.
    whose = (text(routed, "cluster"), text(routed, GROUP))
    place = F.xxhash64("destination")
    apart = (F.min(place) != F.max(place)).alias("spread")
    per_group = routed.groupBy(F.xxhash64(*whose), F.hash(*whose)).agg(apart)
    row = per_group.agg(F.count(F.lit(1)).alias("number"), F.count_if("spread").alias("spread"))
    return GroupCounts(**row.collect()[0].asDict())
