"""Blocks: stretches of the order of messages, cut where the data says, the same in every action.

A block is the unit of parallel work: its boundaries are (key, id) pairs that are computed once and
then stand in every expression as literals. Spark's own range partitioning samples anew in each
action, so two passes over the same data would disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fairlead.compiled.router import EARLIEST
from fairlead.pipeline.columns import BLOCK, ID, KEY, REASON, TIME, looked_up
from fairlead.pipeline.constants import ROWS_A_BLOCK
from fairlead.pipeline.routing.places import Blocks, Place

SAMPLE: Final = 8_000
SPARSE: Final = 1_024
"""Of a large table only every so many-th row is a candidate for the sample."""
ENOUGH: Final = 1_000
"""Candidates; a table that has fewer is small, so all its rows are candidates."""
MAX_BLOCKS: Final = 4_000
FEWEST_PIECES: Final = 2
PIECE: Final = ("_metadata.file_path", "_metadata.file_block_start")
HASHES: Final = 1 << 64
MAX_NESTED: Final = 250
"""Conditions that Spark still compiles; with more times, a look-up in Python is faster."""


def block_of(blocks: Blocks) -> Column:
    """The block of a row, from its KEY and ID."""
    return _search(blocks.starts, 0, len(blocks.starts))


def _search(starts: Sequence[Place], low: int, high: int) -> Column:
    """Bisection among starts[low:high], as nested conditions."""
    if low == high:
        return F.lit(low)
    middle = (low + high) // 2
    key, id_ = starts[middle]
    before = (F.col(KEY) < key) | ((F.col(KEY) == key) & (F.col(ID) < F.lit(id_)))
    return F.when(before, _search(starts, low, middle)).otherwise(_search(starts, middle + 1, high))


@dataclass(frozen=True)
class Sample:
    """A few of a table's messages, which only the data decides."""

    places: Sequence[Place] = ()
    """In order."""
    rows: float = 0.0
    """About how many messages the table has."""
    pieces: Sequence[tuple[Place, Place]] = ()
    """The first and the last of each file's piece."""

    @property
    def apart(self) -> bool:
        """Whether the files' pieces may follow one another; only a look at all rows can tell."""
        ends = sorted((first[0], last[0]) for first, last in self.pieces)
        return len(ends) >= FEWEST_PIECES and all(a[1] <= b[0] for a, b in pairwise(ends))


def sample(accepted: DataFrame, most: int | None = None, *, in_files: bool) -> Sample:
    """The messages with the smallest hashes of their ids.

    How small the largest of these hashes is also tells about how many messages there are. `most`:
    how many there can be, where that is known. `in_files`: look also at the pieces in which Spark
    reads Parquet files.
    """
    parquet = in_files and all(n.endswith(".parquet") for n in accepted.inputFiles() or [""])
    piece = F.struct(*PIECE) if parquet else F.lit(None)
    hashed = accepted.select(KEY, ID, F.xxhash64(ID).alias("hash"), piece.alias("piece"))
    found, each = [], SPARSE
    if most is None or most >= ENOUGH * SPARSE:
        candidates = hashed.where(F.pmod("hash", F.lit(SPARSE)) == 0)
        found = candidates.orderBy("hash", ID).limit(SAMPLE).collect()
    if len(found) < ENOUGH:
        found, each = hashed.orderBy("hash", ID).limit(SAMPLE).collect(), 1
    rows = float(len(found) * each)
    if len(found) == SAMPLE:
        rows /= (found[-1]["hash"] + HASHES // 2 + 1) / HASHES
    found.sort(key=lambda row: (row[KEY], row[ID].encode()))
    places = [(row[KEY], row[ID]) for row in found]
    if not parquet:
        return Sample(places, rows)
    ends: dict[object, tuple[Place, Place]] = {}
    for row, place in zip(found, places, strict=True):
        ends[row["piece"]] = (ends.get(row["piece"], (place, place))[0], place)
    return Sample(places, rows, list(ends.values()))


def cut(sample: Sample, *, rows_a_block: float = ROWS_A_BLOCK) -> Blocks:
    """Blocks of about equal size."""
    places = sample.places
    n = min(MAX_BLOCKS, max(1, round(sample.rows / rows_a_block)))
    chosen = [places[len(places) * k // n] for k in range(1, n)]
    return Blocks(tuple(dict.fromkeys(chosen)))


def latest_so_far(
    rows: DataFrame, blocks: Blocks, name: str = TIME, first: int = EARLIEST
) -> tuple[DataFrame, list[int]]:
    """The rows with the latest time up to each under this name, where `position` orders a table.

    There a change once made stays made, so not a message's own time says which changes hold for
    it. `rows`: rejected ones among them, which move no time. `first`: the latest time before them
    all. Returns also the latest time before each block.
    """
    time = F.when(F.col(REASON).isNull(), F.col(TIME))
    placed = rows.withColumn(BLOCK, block_of(blocks))
    found = placed.groupBy(BLOCK).agg(F.coalesce(F.max(time), F.lit(EARLIEST))).collect()
    ends: dict[int, int] = dict(found)
    before = [first]
    for block in range(len(blocks) - 1):
        before.append(max(before[-1], ends.get(block, EARLIEST)))
    inside = Window.partitionBy(BLOCK).orderBy(KEY, ID).rowsBetween(Window.unboundedPreceding, 0)
    so_far = F.greatest(F.max(time).over(inside), looked_up(before, F.col(BLOCK), "bigint"))
    return placed.withColumn(name, so_far).drop(BLOCK), before


def version(times: Sequence[int], time: str) -> Column:
    """How many of the ascending `times` are at or before the time in this column."""
    if len(times) > MAX_NESTED:
        return _looked_up(times, time)

    def among(low: int, high: int) -> Column:
        if low == high:
            return F.lit(low)
        middle = (low + high) // 2
        return F.when(F.col(time) < times[middle], among(low, middle)).otherwise(
            among(middle + 1, high)
        )

    return among(0, len(times))


def _looked_up(times: Sequence[int], time: str) -> Column:
    known = np.array(times, np.int64)

    def look_up(column: pa.Array) -> pa.Array:
        # A row without a time is rejected; it has any version.
        found = np.searchsorted(known, np.asarray(column.fill_null(0)), "right")
        return pa.array(found.astype(np.int32))

    look_up.__annotations__ = {"column": pa.Array, "return": pa.Array}
    return F.arrow_udf(look_up, "int")(F.col(time))  # type: ignore[attr-defined,no-any-return]
