"""Unique: of messages with the same id the first in order stays, the others are rejected."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fairlead.pipeline.columns import AT, GOOD, ID, KEY, REASON, quoted
from fairlead.runs.constants import PREFIX

HASH: Final = PREFIX + "hash"
FEW: Final = 500_000
"""Messages whose hashes each task can have."""
AGAIN: Final = "' again, allowed: once"
"""How the reason of a row ends whose id an earlier one has."""
RANK: Final = PREFIX + "rank"
EARLIER: Final = PREFIX + "earlier"
"""When an id was seen last before the messages of this table."""


def unique(
    accepted: DataFrame, horizon: int | None = None, before: DataFrame | None = None
) -> tuple[DataFrame, int]:
    """The same rows, not GOOD and with a REASON every message whose id an earlier one has.

    `horizon`: an id is forgotten when it was not seen for so many microseconds, by AT. `before`:
    the ids that are remembered (HASH, ID, AT) when the table begins. Only hashes are counted at
    first; ids themselves are compared where two hashes agree. Returns also how many messages there
    were before.
    """
    good = accepted.where(GOOD)
    if before is not None and good.limit(FEW + 1).count() <= FEW:
        # What is remembered may be many times as much: it is looked through, and not moved.
        few_hashes = good.select(F.xxhash64(ID).alias(HASH))
        before = before.join(F.broadcast(few_hashes), HASH, "left_semi")
    hashes = good.select(F.xxhash64(ID).alias(HASH), F.lit(1).alias("new"))
    if before is not None:
        hashes = hashes.unionByName(before.select(HASH, F.lit(0).alias("new")))
    counts = hashes.groupBy(HASH).agg(F.sum("new").alias("new"), F.count(F.lit(1)).alias("n"))
    counts = counts.where("new > 0")
    # A sum is null where there is no row.
    ((messages, most),) = counts.agg(F.sum("new"), F.max("n")).collect()
    if (most or 0) <= 1:
        return accepted, messages or 0
    suspects = counts.where("n > 1").select(HASH)
    marked = accepted.join(
        suspects.withColumn(RANK, F.lit(True)), F.xxhash64(ID) == suspects[HASH], "left"
    ).drop(HASH)
    suspect = F.col(RANK) & F.col(GOOD)
    clear = marked.where(F.coalesce(~suspect, F.lit(True))).drop(RANK)
    several = marked.where(suspect).drop(RANK)
    reason = F.concat(F.lit("id: found '"), F.col(ID), F.lit(AGAIN))
    if before is not None:
        matches = before.join(suspects, HASH, "left_semi")
        seen = matches.groupBy(ID).agg(F.max(AT).alias(EARLIER))
        several = several.join(seen, ID, "left")
    repeated = _again(accepted.columns, horizon, earlier=before is not None)
    ranked = several.withColumn(RANK, repeated)
    named = ranked.withColumns({GOOD: ~F.col(RANK), REASON: reason})
    return clear.unionByName(named.drop(RANK, EARLIER)), messages


def _again(names: list[str], horizon: int | None, *, earlier: bool) -> Column:
    """Whether a row has the id of one before it that is remembered."""
    # Equal in key and id, and yet two rows: any of them may stay, but it must be the same one in
    # every action, so all of its columns take part in the order.
    whole = F.xxhash64(*(quoted(name).cast("string") for name in names))
    order = Window.partitionBy(ID).orderBy(KEY, whole)
    if horizon is None:
        again = F.row_number().over(order) > 1
        return again | F.col(EARLIER).isNotNull() if earlier else again
    last = F.lag(AT).over(order)
    if earlier:
        last = F.coalesce(last, F.col(EARLIER))
    return F.coalesce(F.col(AT) - last <= horizon, F.lit(False))
