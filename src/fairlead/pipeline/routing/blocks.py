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

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fairlead.compiled.router import EARLIEST
from fairlead.pipeline.columns import BLOCK, GOOD, ID, KEY, TIME, VERSION, literals, looked_up
from fairlead.pipeline.routing.places import Blocks, Place
from fairlead.runs.constants import ROWS_A_BLOCK

SAMPLE: Final = 8_000
SPARSE: Final = 1_024
"""Of a large table only every so many-th row is a candidate for the sample."""
ENOUGH: Final = 1_000
"""Candidates; a table that has fewer is small, so all its rows are candidates."""
MAX_BLOCKS: Final = 4_000
FEWEST_PIECES: Final = 2
PIECE: Final = ("_metadata.file_path", "_metadata.file_block_start")
HASHES: Final = 1 << 64


def with_block(rows: DataFrame, blocks: Blocks) -> DataFrame:
    """The rows with BLOCK, from their KEY and ID."""
    keys, ids = [list(column) for column in zip(*blocks.starts, strict=True)] or ([], [])
    return _with_rank(rows, BLOCK, keys, KEY, ids)


def with_version(rows: DataFrame, times: Sequence[int], time: str) -> DataFrame:
    """The rows with VERSION: how many of the ascending `times` their `time` has reached."""
    return _with_rank(rows, VERSION, times, time)


def _with_rank(
    rows: DataFrame, name: str, bounds: Sequence[int], key: str, ids: Sequence[str] = ()
) -> DataFrame:
    """The rows with `name`: how many of the ascending bounds are not above their `key`.

    0 where the key is null. `ids`: where a key is the bound's, ID decides. Each column here is a
    step of a bisection. Nested conditions would be code for each of the bounds, and Java compiles
    no method of more than 8,000 bytes.
    """
    rows = rows.withColumn(name, F.lit(0))
    step = 1 << len(bounds).bit_length() >> 1
    while step:
        middle = F.col(name) + (step - 1)
        bound = F.get(literals(bounds, "bigint"), middle)  # null behind the last
        passed = F.col(key) >= bound
        if ids:
            id_passed = F.col(ID) >= F.get(literals(ids), middle)
            passed = (F.col(key) > bound) | ((F.col(key) == bound) & id_passed)
        rows = rows.withColumn(name, F.col(name) + F.when(passed, step).otherwise(0))
        step >>= 1
    return rows


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
    picks, factor = [], SPARSE
    if most is None or most >= ENOUGH * SPARSE:
        candidates = hashed.where(F.pmod("hash", F.lit(SPARSE)) == 0)
        picks = candidates.orderBy("hash", ID).limit(SAMPLE).collect()
    if len(picks) < ENOUGH:
        picks, factor = hashed.orderBy("hash", ID).limit(SAMPLE).collect(), 1
    rows = float(len(picks) * factor)
    if len(picks) == SAMPLE:
        rows /= (picks[-1]["hash"] + HASHES // 2 + 1) / HASHES
    picks.sort(key=lambda row: (row[KEY], row[ID].encode()))
    places = [(row[KEY], row[ID]) for row in picks]
    if not parquet:
        return Sample(places, rows)
    ends: dict[object, tuple[Place, Place]] = {}
    for row, place in zip(picks, places, strict=True):
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
    time = F.when(F.col(GOOD), F.col(TIME))
    placed = with_block(rows, blocks)
    maxima = placed.groupBy(BLOCK).agg(F.coalesce(F.max(time), F.lit(EARLIEST))).collect()
    ends: dict[int, int] = dict(maxima)
    before = [first]
    for block in range(len(blocks) - 1):
        before.append(max(before[-1], ends.get(block, EARLIEST)))
    inside = Window.partitionBy(BLOCK).orderBy(KEY, ID).rowsBetween(Window.unboundedPreceding, 0)
    so_far = F.greatest(F.max(time).over(inside), looked_up(before, F.col(BLOCK), "bigint"))
    return placed.withColumn(name, so_far).drop(BLOCK), before
