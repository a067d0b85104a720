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

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.pipeline.columns import ID, KEY

SAMPLE: Final = 8_000
ROWS_A_BLOCK: Final = 500_000
MOST_BLOCKS: Final = 4_000
FEWEST_PIECES: Final = 2
LARGEST_PIECE: Final = 4
"""In blocks; larger pieces are better cut and sent to more executors."""
HASHES: Final = 1 << 64

Place = tuple[int, str]
"""(key, id): a message's place in the order."""


@dataclass(frozen=True)
class Blocks:
    """The places at which blocks 1, 2, … begin; block 0 begins before everything."""

    starts: tuple[Place, ...] = ()
    in_place: bool = False
    """Whether each block is a piece of a file, so that nothing has to be moved."""

    def __len__(self) -> int:
        """How many blocks there are."""
        return len(self.starts) + 1

    def column(self) -> Column:
        """The block of a row, from its KEY and ID."""
        return _search(self.starts, 0, len(self.starts))

    def of(self, place: Place) -> int:
        """The block of one message."""
        bytes_ = [(key, id_.encode()) for key, id_ in self.starts]
        return sum((place[0], place[1].encode()) >= start for start in bytes_)


def _search(starts: Sequence[Place], low: int, high: int) -> Column:
    """Bisection among starts[low:high], as nested conditions."""
    if low == high:
        return F.lit(low)
    middle = (low + high) // 2
    key, id_ = starts[middle]
    before = (F.col(KEY) < key) | ((F.col(KEY) == key) & (F.col(ID) < F.lit(id_)))
    return F.when(before, _search(starts, low, middle)).otherwise(_search(starts, middle + 1, high))


def cut(accepted: DataFrame, *, rows_a_block: int = ROWS_A_BLOCK) -> Blocks:
    """Blocks of about equal size, from a small sample that only the data decides.

    The rows with the smallest hashes of their ids are the sample; how small the largest of these
    hashes is also tells about how many rows there are.
    """
    hashed = accepted.select(KEY, ID, F.xxhash64(ID).alias("hash"))
    sample = hashed.orderBy("hash", ID).limit(SAMPLE).collect()
    rows = float(len(sample))
    if len(sample) == SAMPLE:
        rows /= (sample[-1]["hash"] + HASHES // 2 + 1) / HASHES
    n = min(MOST_BLOCKS, max(1, round(rows / rows_a_block)))
    places = sorted(((row[KEY], row[ID]) for row in sample), key=lambda p: (p[0], p[1].encode()))
    chosen = [places[len(places) * k // n] for k in range(1, n)]
    return Blocks(tuple(dict.fromkeys(chosen)))


def pieces(accepted: DataFrame, *, rows_a_block: int = ROWS_A_BLOCK) -> Blocks | None:
    """The pieces in which Spark reads Parquet files as blocks, where they follow one another.

    None where they overlap, or are too large; nothing is believed: every key is looked at. Inside
    a piece the rows may stand in any order.
    """
    if not all(name.endswith(".parquet") for name in accepted.inputFiles() or [""]):
        return None
    found = (
        accepted.groupBy("_metadata.file_path", "_metadata.file_block_start")
        .agg(F.min(KEY).alias("first"), F.max(KEY).alias("last"), F.count(F.lit(1)).alias("n"))
        .orderBy("first")
        .select("first", "last", "n")
        .collect()
    )
    apart = all(one["last"] < other["first"] for one, other in pairwise(found))
    if len(found) < FEWEST_PIECES or not apart:
        return None
    if max(row["n"] for row in found) > LARGEST_PIECE * rows_a_block:
        return None
    return Blocks(tuple((row["first"], "") for row in found[1:]), in_place=True)


def version(times: Sequence[int], time: str) -> Column:
    """How many of the ascending `times` are at or before the time in this column."""

    def among(low: int, high: int) -> Column:
        if low == high:
            return F.lit(low)
        middle = (low + high) // 2
        return F.when(F.col(time) < times[middle], among(low, middle)).otherwise(
            among(middle + 1, high)
        )

    return among(0, len(times))
