"""Unique: of messages with the same id the first in order stays, the others are rejected."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fairlead.pipeline.columns import ID, KEY, PREFIX, REASON, quoted

HASH = PREFIX + "hash"
RANK = PREFIX + "rank"


def unique(accepted: DataFrame) -> tuple[DataFrame, int]:
    """The same rows, with a REASON on every message whose id an earlier one has.

    Only hashes are counted at first; ids themselves are compared where two hashes agree. Returns
    also how many messages there were before.
    """
    good = accepted.where(F.col(REASON).isNull())
    hashes = good.select(F.xxhash64(ID).alias(HASH)).groupBy(HASH).agg(F.count(F.lit(1)).alias("n"))
    # A sum is null where there is no row.
    ((messages, most),) = hashes.agg(F.sum("n"), F.max("n")).collect()
    if (most or 0) <= 1:
        return accepted, messages or 0
    suspects = hashes.where("n > 1").select(HASH)
    marked = accepted.join(
        suspects.withColumn(RANK, F.lit(True)), F.xxhash64(ID) == suspects[HASH], "left"
    ).drop(HASH)
    suspect = F.col(RANK) & F.col(REASON).isNull()
    clear = marked.where(F.coalesce(~suspect, F.lit(True))).drop(RANK)
    several = marked.where(suspect).drop(RANK)
    # Equal in key and id, and yet two rows: any of them may stay, but it must be the same one in
    # every action, so all of its columns take part in the order.
    whole = F.xxhash64(*(quoted(name).cast("string") for name in accepted.columns))
    order = Window.partitionBy(ID).orderBy(KEY, whole)
    ranked = several.withColumn(RANK, F.row_number().over(order))
    found = F.concat(F.lit("id: found '"), F.col(ID), F.lit("' again, allowed: once"))
    reason = F.when(F.col(RANK) > 1, found)
    return clear.unionByName(ranked.withColumn(REASON, reason).drop(RANK)), messages
