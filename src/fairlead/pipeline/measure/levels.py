"""Levels: the counts with the priority that each destination had then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.measure.levels import PriorityPeriod
from fairlead.pipeline.columns import small_table
from fairlead.runs.constants import PREFIX

OWNER: Final = PREFIX + "owner"
"""The number of the cluster in the plan."""
LEVEL: Final = PREFIX + "level"
"""The priority."""


def leveled(finest: DataFrame, levels: Sequence[PriorityPeriod]) -> DataFrame:
    """The counts with OWNER and LEVEL, null where levels are not counted."""
    if not levels:
        return finest.withColumns({OWNER: F.lit(None), LEVEL: F.lit(None)})
    one, other, since, until = (PREFIX + name for name in ("cluster", "name", "since", "until"))
    numbers = dict.fromkeys((since, until, OWNER, LEVEL), pa.int32())
    kinds = {one: pa.string(), other: pa.string(), **numbers}
    table = small_table(finest.sparkSession, kinds, list(levels))
    same = (F.col("cluster") == F.col(one)) & (F.col("destination") == F.col(other))
    then = F.col("version").between(F.col(since), F.col(until))
    return finest.join(F.broadcast(table), same & then, "left")
