"""What is remembered of a stream for as long as its horizon: ids, and to whom groups are bound."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.compiled.classes import numbered_homes
from fairlead.pipeline.columns import (
    AT,
    BIND,
    GOOD,
    HOME,
    ID,
    MEMBER,
    REASON,
    WHOSE,
    WORD,
    small_table,
)
from fairlead.pipeline.dispatch import PreparedTable
from fairlead.pipeline.intake.unique import AGAIN, HASH
from fairlead.pipeline.streaming.stream_place import StreamPlace
from fairlead.runs.stream_folder import Commit, Remembered

MANY: Final = 16
"""Folders of about one size; then they become one."""
ROWS_A_FILE: Final = 1_000_000
SESSION: Final = "session"
IDS: Final = f"{HASH} bigint, {ID} string, {AT} bigint"
GROUPS: Final = f"{BIND} string, {HOME} string, {WORD} string, {MEMBER} int, {AT} bigint"


def ids_before(spark: SparkSession, folder: StreamPlace, commit: Commit) -> DataFrame | None:
    """The ids that are remembered: HASH, ID and AT."""
    if not commit.ids:
        return None
    return _ids(spark, folder, commit.ids)


def _ids(spark: SparkSession, folder: StreamPlace, every: Sequence[Remembered]) -> DataFrame:
    places = [folder.at("state/ids", entry.batch) for entry in every]
    return spark.read.schema(IDS).parquet(*places)


def groups_before(spark: SparkSession, folder: StreamPlace, commit: Commit) -> DataFrame:
    """To whom groups are bound: BIND, HOME, WORD, MEMBER and AT."""
    if not commit.groups:
        return spark.createDataFrame([], GROUPS)
    return spark.read.schema(GROUPS).parquet(folder.at("state/groups", commit.batch))


def clock(ready: PreparedTable, before: int) -> int:
    """The latest time of any row so far that was a message, or one again."""
    period = ready.survey.period
    if not ready.survey.rejected:
        return before if period is None else max(before, period[1])
    (row,) = _seen(ready.rows).agg(F.max(AT).alias("at")).collect()
    return before if row["at"] is None else max(before, int(row["at"]))


def _seen(rows: DataFrame) -> DataFrame:
    """Also what is rejected because its id was seen before has been seen now."""
    return rows.where(F.col(GOOD) | F.endswith(REASON, F.lit(AGAIN)))


def remember_ids(
    ready: PreparedTable, folder: StreamPlace, commit: Commit, batch: int, now: int, horizon: int
) -> list[Remembered]:
    """Write the ids of a micro-batch; returns all folders that are looked at from now on.

    `now`: the clock after it. Folders that have grown many are put together, so that there are few
    however long the stream runs.
    """
    new = _seen(ready.rows).select(F.xxhash64(ID).alias(HASH), ID, AT)
    entries = [entry for entry in commit.ids if entry.last >= now - horizon]
    rows = ready.survey.accepted + ready.survey.rejected
    together = _to_merge(entries, rows)
    if together:
        old = _ids(ready.rows.sparkSession, folder, together).where(F.col(AT) >= now - horizon)
        new = new.unionByName(old).groupBy(HASH, ID).agg(F.max(AT).alias(AT))
        rows += sum(entry.rows for entry in together)
    files = new.coalesce(max(1, -(-rows // ROWS_A_FILE)))
    # Each id is there once: a dictionary of them would be as long as they are.
    files.write.option("parquet.enable.dictionary", "false").parquet(folder.making("state/ids"))
    left = [entry for entry in entries if entry not in together]
    return [*left, Remembered(batch, rows, now)]


def _to_merge(kept: Sequence[Remembered], rows: int) -> list[Remembered]:
    """Folders that are not much larger than a new one of so many rows, where they are many."""
    small = [entry for entry in kept if entry.rows <= max(rows, 1) * MANY]
    if len(small) < MANY:
        return []
    return [
        *small,
        *_to_merge([entry for entry in kept if entry not in small], sum(e.rows for e in small)),
    ]


def remember_groups(
    ready: PreparedTable, before: DataFrame, folder: StreamPlace, now: int, horizon: int
) -> None:
    """Write to whom each group is bound after a micro-batch, where it is not forgotten.

    `before`: the same before it; `now`: the clock after it.
    """
    every = before.where(F.col(AT) >= now - horizon)
    if ready.members is not None:
        keys = [BIND, HOME, WORD]
        last = _bound_last(ready, ready.members)
        bound = last.where(F.col(MEMBER).isNotNull()).select(*keys, MEMBER, AT)
        every = bound.unionByName(every.join(last.select(*keys), keys, "left_anti"))
    every.coalesce(1).write.parquet(folder.making("state/groups"))


def _bound_last(ready: PreparedTable, members: DataFrame) -> DataFrame:
    """Each group that was seen: to whom it is bound since it was forgotten last, if to anybody."""
    rows = [(number, json.dumps(home)) for home, number in numbered_homes(ready.plan).items()]
    names = small_table(ready.rows.sparkSession, {WHOSE: pa.int32(), HOME: pa.string()}, rows)
    who = [BIND, WHOSE, WORD]
    seen = ready.good.where(F.col(WORD).isNotNull()).groupBy(*who).agg(F.max(AT).alias(AT))
    groups = seen.join(members, who, "left")
    # `affinity.keyed` writes the number of the session before the word.
    number = F.substring_index(WORD, ":", 1).cast("int").alias(SESSION)
    word = F.expr(f"substring({WORD}, instr({WORD}, ':') + 1)").alias(WORD)
    return (
        groups.select(BIND, WHOSE, word, F.struct(number, AT, MEMBER).alias("last"))
        .groupBy(*who)
        .agg(F.max("last").alias("last"))
        .join(F.broadcast(names), WHOSE)
        .select(BIND, HOME, WORD, f"last.{MEMBER}", f"last.{AT}")
    )
