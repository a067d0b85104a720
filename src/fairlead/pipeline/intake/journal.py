"""The messages of a journal, which is a table of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.pipeline.columns import quoted
from fairlead.pipeline.intake.read import columns_of
from fairlead.pipeline.intake.validate import text
from fairlead.rows import HAPPENED, without_decisions
from fairlead.runs.constants import PREFIX

CLUSTER: Final = "cluster"
ODD: Final = PREFIX + "odd"
"""Numbers the rows that are none of a journal, such as lines that cannot be read."""


def decisions_of(journal: DataFrame) -> DataFrame:
    """The rows of a journal that are decisions, and not what happened between them."""
    return journal.where(~text(journal, "outcome").isin(*HAPPENED))


def messages_of(table: DataFrame, plans: Sequence[Plan], where: str) -> DataFrame:
    """The messages that a journal tells of, each once; any other table is left as it is.

    Where the journal and each plan have one cluster, its messages are for the plan's, as in
    `fairlead.compiled.journal.own_names`; looks for this at once. Raises MessageError.
    """
    columns = columns_of(table, where)
    names = without_decisions(columns)
    if names == columns:
        return table
    table = decisions_of(table)
    odd = F.when(F.col("position").isNull(), F.monotonically_increasing_id())
    # A row for each destination and attempt; all have the same columns of the message.
    once = table.withColumn(ODD, odd).dropDuplicates(["position", "time", "id", ODD])
    if all(len(plan.clusters) == 1 for plan in plans):
        routed = F.max(text(table, "destination") != "").alias("routed")
        clusters = table.where(text(table, CLUSTER) != "").groupBy(CLUSTER).agg(routed)
        if [row["routed"] for row in clusters.limit(2).collect()] == [True]:
            names.remove(CLUSTER)
    decided = set(columns) - set(names)
    return once.select(*(quoted(name) for name in table.columns if name not in decided))
