"""Route: each block's messages, in order, from the state at the block's start.

Only a class code and, where it matters, times go to Python; one number comes back. What it stands
for is looked up in the JVM, where the messages' own columns stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from fairlead.balance.rules.keyed import NO_KEY
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.compiled.router import Router
from fairlead.pipeline.columns import (
    BLOCK,
    BOUND,
    CLASS,
    COPY,
    FREE,
    ID,
    KEY,
    NUMBER,
    PACKED,
    SERVICE,
    TIME,
    looked_up,
    quoted,
)
from fairlead.pipeline.intake.validate import text
from fairlead.pipeline.routing.places import Blocks
from fairlead.rows import DECISION

NO_BLOCK = -1
IN_PARTITION: Final = (1 << 33) - 1
"""The bits of Spark's running number that tell rows of one partition apart."""
CHANGED: Final = "the input changed while it was read"
COPIED: Final = ("destination", "address")
"""What the rows of a message for several destinations differ in."""
COPIES: Final = "array<struct<destination: string, address: string>>"
States = Sequence[Mapping[str, object]]


def in_blocks(rows: DataFrame, blocks: Blocks) -> DataFrame:
    """The rows with each block whole in one partition, in order.

    What stands in two columns crosses the shuffle once.
    """
    if blocks.in_place:
        return rows.sortWithinPartitions(KEY, ID)
    again: dict[str, Column] = {}
    if "id" in rows.columns and isinstance(rows.schema["id"].dataType, StringType):
        again[ID] = F.col("id")
    if "position" not in rows.columns and TIME in rows.columns:
        again[TIME] = F.col(KEY)
    shuffled = rows.drop(*again).repartitionById(len(blocks), BLOCK)
    return shuffled.withColumns(again).sortWithinPartitions(KEY, ID)


def numbered(good: DataFrame, blocks: Blocks, sizes: Sequence[int]) -> DataFrame:
    """The rows in blocks (see `in_blocks`), with NUMBER: the place of each in the order of all.

    Not for blocks that are in place. A block that has more rows than `sizes` stops the job.
    """
    starts = [0, *accumulate(sizes)]
    place = place_in_block()
    known = place < looked_up(sizes, F.col(BLOCK), "bigint")
    number = looked_up(starts, F.col(BLOCK), "bigint") + place
    return in_blocks(good, blocks).withColumn(
        NUMBER, F.when(known, number).otherwise(changed("long"))
    )


def place_in_block() -> Column:
    """The place of a row in its block, from 0."""
    # A block is a partition of its own, in which this counts from 0.
    return F.monotonically_increasing_id().bitwiseAND(F.lit(IN_PARTITION))


def changed(kind: str) -> Column:
    """Stops the job, where a row was not there when the rows were counted, or is gone since."""
    return F.raise_error(F.lit(CHANGED)).cast(kind)


def needed(plan: Plan) -> tuple[bool, bool]:
    """Whether service times matter, and whether times do."""
    timed = any(plan.timed.values())
    return timed, timed or bool(plan.times)


def key_number(rows: DataFrame, plan: Plan) -> Column:
    """The number of each row's key, NO_KEY where it has none: no text goes to Python."""
    by_name: dict[str, list[str]] = {}
    for cluster, name in plan.keyed.items():
        by_name.setdefault(name, []).append(cluster)
    number = F.lit(NO_KEY).cast("long")
    for name, clusters in by_name.items():
        word = text(rows, name)
        condition = word != ""
        if len(by_name) > 1:
            condition &= text(rows, "cluster").isin(clusters)
        number = F.when(condition, F.crc32(word)).otherwise(number)
    return number


def route(rows: DataFrame, plan: ClassifiedPlan, states: States, sizes: Sequence[int]) -> DataFrame:
    """The rows with PACKED: sequence and label in one number.

    `rows`: in blocks (see `in_blocks`), with BLOCK, CLASS and, where a message can be bound, FREE.
    `sizes`: how many rows each block has; a block that comes otherwise stops the job.
    """
    timed, dated = needed(plan)
    code: Column = F.col(CLASS)
    if FREE in rows.columns:
        code = F.when(F.col(FREE), code).otherwise(-1 - code)
    more: dict[str, Column] = {}
    if dated:
        more["times"] = F.col(TIME)
    if timed:
        more["services"] = F.coalesce(F.col(SERVICE), F.lit(0))
    if plan.keyed:
        more["keys"] = key_number(rows, plan)
    router = _router(plan, states, sizes, list(more))
    return rows.withColumn(PACKED, router(F.col(BLOCK), code, *more.values()))


def _router(
    plan: ClassifiedPlan, states: States, sizes: Sequence[int], names: Sequence[str]
) -> Any:  # noqa: ANN401 - Spark's
    """A function of block, class code and the columns that these names of `feed` stand for."""
    size = plan.codes.codes

    def run(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        router, current, seen = Router(plan), NO_BLOCK, 0
        for batch in batches:
            block, codes, *more = (np.asarray(column) for column in batch)
            out = np.empty(len(block), np.int64)
            edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
            for start, stop in pairwise(edges):
                if stop == start:
                    continue
                if block[start] != current:
                    check_whole(current, seen, sizes)
                    current, seen = int(block[start]), 0
                    router = Router(plan)
                    router.load(states[current])
                part = slice(start, stop)
                others = {name: values[part] for name, values in zip(names, more, strict=True)}
                out[part] = _packed(router, size, codes[part], others)
                seen += stop - start
            yield pa.array(out)
        check_whole(current, seen, sizes)

    # Spark takes the kind of a function from the types that it names.
    run.__annotations__ = {
        "batches": Iterator[tuple[pa.Array, ...]],
        "return": Iterator[pa.Array],
    }
    # It goes on from row to row, so it must see each row once and in order.
    return F.arrow_udf(run, "long").asNondeterministic()  # type: ignore[attr-defined]


def check_whole(block: int, seen: int, sizes: Sequence[int]) -> None:
    """A block that is not whole, because the table changed or was cut otherwise, stops the job."""
    if block != NO_BLOCK and seen != sizes[block]:
        raise RuntimeError(f"block {block} has {seen} rows, counted were {sizes[block]}: {CHANGED}")


def _packed(router: Router, size: int, codes: Int32s, others: Mapping[str, Any]) -> Int64s:
    free = codes >= 0
    if free.all():
        label = router.feed(codes, **others)
        return router.sequence(codes) * size + label
    label = np.zeros(len(codes), np.int32)
    label[free] = router.feed(
        codes[free], **{name: values[free] for name, values in others.items()}
    )
    return router.sequence(np.where(free, codes, -1 - codes)) * size + label


def decision_columns(routed: DataFrame, plan: ClassifiedPlan, columns: Sequence[str]) -> DataFrame:
    """The given columns and the decision: destination, address, outcome, sequence."""
    codes = plan.codes
    code: Column = F.pmod(F.col(PACKED), F.lit(codes.codes)).cast("int")
    if BOUND in routed.columns:
        code = F.when(F.col(FREE), code).otherwise(F.col(BOUND))
    place = F.pmod(code, F.lit(codes.size)) if plan.fans_out else code
    sequence = F.expr(f"(`{PACKED}` - pmod(`{PACKED}`, {codes.codes})) div {codes.codes}")
    selection = [quoted(name) for name in columns]
    decision = {
        "destination": looked_up(codes.destination, place),
        "address": looked_up(codes.address, place),
        "outcome": looked_up(codes.outcome, place),
        "sequence": F.when(sequence >= 0, sequence),
    }
    if not plan.fans_out:
        return routed.select(*selection, *(decision[name].alias(name) for name in DECISION))
    fan_outs = [[copy._asdict() for copy in fan_out] for fan_out in codes.copies]
    fan_out = looked_up(fan_outs, F.floor(code / codes.size), COPIES)
    chosen = F.struct(*(decision.pop(name).alias(name) for name in COPIED))
    every = (
        F.when(chosen["destination"].isNull(), F.array(chosen))
        .when(F.array_contains(fan_out, chosen), fan_out)
        .otherwise(F.array_sort(F.array_append(fan_out, chosen)))
    )
    same = (column.alias(name) for name, column in decision.items())
    rows = routed.select(*selection, F.explode(every).alias(COPY), *same)
    return rows.select(*selection, *(f"{COPY}.{n}" if n in COPIED else n for n in DECISION))
