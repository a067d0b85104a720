"""Gather: what a replay needs of the messages, in order, in one place for each task.

Each block packs its own columns in order, in parallel; a task reads the packed pieces of all
blocks one after another, and keeps what it needs of each only while it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StringType

from fairlead.balance.rules.keyed import NO_KEY
from fairlead.compiled.plan import ClassifiedPlan, MessageClass, Plan
from fairlead.measure.lanes import HASH
from fairlead.pipeline.columns import (
    BLOCK,
    CLASS,
    CONTROL,
    GOOD,
    ID,
    KEY,
    SERVICE,
    TIME,
)
from fairlead.pipeline.intake.validate import is_timestamp, said, text, whole_number
from fairlead.pipeline.routing.class_counts import Survey, attribute_of
from fairlead.pipeline.routing.places import Blocks
from fairlead.pipeline.routing.route import in_blocks
from fairlead.replay import traffic
from fairlead.replay.batch import Traits

PIECE: Final = 1 << 14
"""Rows packed together."""
PACKED: Final = "block int, part int, rows binary"
WHOLE: Final = {"priority": -1, "cost": 1, "rollbacks": 0}
"""Columns of whole numbers, and what stands for nothing."""
TEXT_COLUMNS: Final = ("group", "tenant", "producer", "bind")


@dataclass
class Gathered:
    """What is known of the messages before they are replayed."""

    survey: Survey
    """Its codes tell combinations of attributes apart, not classes of one plan."""
    sizes: list[int]
    """Accepted rows of each block."""
    traits: Traits
    rejected: int
    dated: bool
    """Whether times are dates, not plain seconds."""
    period: tuple[int, int] | None = None

    def classes_in(self, plan: Plan) -> list[MessageClass]:
        """By code: the class in a plan."""
        classes = []
        for values in self.survey.codes:
            message = dict(zip(self.survey.attributes, values, strict=True))
            control = bool(message.pop(CONTROL, ""))
            classes.append(plan.message_class(message.get("cluster", ""), message, control=control))
        return classes

    def codes_in(self, plan: ClassifiedPlan) -> list[int]:
        """By code: that of the class in its plan."""
        codes = {message_class: code for code, message_class in enumerate(plan.classes)}
        return [codes[message_class] for message_class in self.classes_in(plan)]

    @property
    def clusters(self) -> list[str]:
        """By code: what the messages call their cluster."""
        names = self.survey.attributes
        place = names.index("cluster") if "cluster" in names else None
        return ["" if place is None else values[place] for values in self.survey.codes]

    def classified(self, plan: Plan) -> ClassifiedPlan:
        """The plan for these messages."""
        return plan.classified(dict.fromkeys(self.classes_in(plan)))


def gather(rows: DataFrame, blocks: Blocks, plans: Sequence[Plan]) -> Gathered:
    """Look at all rows once. `rows`: with BLOCK, those that are not GOOD among them."""
    reads = dict.fromkeys(("cluster", *(name for plan in plans for name in plan.reads)))
    attributes = [name for name in reads if name in rows.columns]
    if "type" in rows.columns:
        attributes.append(CONTROL)
    columns = [F.when(F.col(GOOD), attribute_of(rows, name)).alias(name) for name in attributes]
    kind = rows.schema["time"].dataType
    plain = F.lit(False)
    if isinstance(kind, StringType):
        plain = ~is_timestamp("time")
    tallied = (
        rows.groupBy(BLOCK, GOOD, *columns)
        .agg(
            F.count(F.lit(1)).alias("n"),
            F.min(TIME).alias("first"),
            F.max(TIME).alias("last"),
            F.max(said(rows, "group")).alias("groups"),
            F.max(said(rows, "priority")).alias("priorities"),
            F.min(text(rows, "tenant")).alias("least"),
            F.max(text(rows, "tenant")).alias("most"),
            F.max(~text(rows, "rollbacks").isin("", "0")).alias("rollbacks"),
            F.max(plain).alias("plain"),
        )
        .collect()
    )
    fine = [row for row in tallied if row[GOOD]]
    values = sorted({tuple(row[name] for name in attributes) for row in fine})
    survey = Survey(
        blocks, tuple(attributes), {combination: code for code, combination in enumerate(values)}
    )
    sizes = [0] * len(blocks)
    for row in fine:
        sizes[row[BLOCK]] += row["n"]
    tenants = {row[name] for row in fine for name in ("least", "most")}

    def has(name: str) -> bool:
        return any(row[name] for row in fine)

    control = attributes.index(CONTROL) if CONTROL in attributes else None
    traits = Traits(
        groups=has("groups"),
        priorities=has("priorities"),
        tenants=len(tenants) > 1,
        rollbacks=has("rollbacks"),
        raises=control is not None and any(combination[control] for combination in values),
    )
    dated = not isinstance(kind, NumericType) and not has("plain")
    period = (min(row["first"] for row in fine), max(row["last"] for row in fine)) if fine else None
    rejected = sum(row["n"] for row in tallied if not row[GOOD])
    return Gathered(survey, sizes, traits, rejected, dated, period)


def packed(
    good: DataFrame, gathered: Gathered, plans: Sequence[Plan], *, hashed: bool = False
) -> DataFrame:
    """The narrow columns, piece by piece: (block, part, Arrow bytes).

    `good`: with BLOCK, CLASS. `hashed`: with the hashes of the ids.
    """
    columns: dict[str, Column] = {
        traffic.CODE: F.col(CLASS),
        traffic.TIME: F.col(TIME),
        traffic.SERVICE: F.coalesce(F.col(SERVICE), F.lit(0)),
    }
    if hashed:
        columns[HASH] = F.xxhash64(F.col("id").cast("string"))
    for name, missing in WHOLE.items():
        if name in good.columns:
            columns[name] = F.coalesce(whole_number(good, name), F.lit(missing)).cast("long")
    bound = any(plan.binds for plan in plans)
    for name in TEXT_COLUMNS:
        if name in good.columns and (bound or name in ("group", "tenant")):
            columns[name] = text(good, name)
    for name in dict.fromkeys(column for plan in plans for column in plan.keyed.values()):
        word = text(good, name)
        number = F.when(word != "", F.crc32(word)).otherwise(F.lit(NO_KEY))
        columns[traffic.KEY_OF + name] = number.cast("long")
    key = [good[name] for name in ("id", "position") if name in good.columns]
    narrow = good.select(
        *key,
        *(F.col(name) for name in (BLOCK, KEY, ID)),
        *(column.alias("_" + name) for name, column in columns.items()),
    )
    ordered = in_blocks(narrow, gathered.survey.blocks)
    return ordered.select(
        BLOCK, *(F.col("`_" + name + "`").alias(name) for name in columns)
    ).mapInArrow(_pack, PACKED)


def _pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    part = 0
    for batch in batches:
        block = batch.column(0).to_numpy()
        rest = batch.select(batch.schema.names[1:])
        edges = [0, *((block[1:] != block[:-1]).nonzero()[0] + 1).tolist(), batch.num_rows]
        out: list[tuple[int, int, bytes]] = []
        for start, stop in pairwise(edges):
            for low in range(start, stop, PIECE):
                piece = rest.slice(low, min(PIECE, stop - low))
                out.append((int(block[low]), part, _bytes(piece)))
                part += 1
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([row[0] for row in out], pa.int32()),
                pa.array([row[1] for row in out], pa.int32()),
                pa.array([row[2] for row in out], pa.binary()),
            ],
            ["block", "part", "rows"],
        )


def _bytes(piece: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, piece.schema) as writer:
        writer.write_batch(piece)
    return bytes(sink.getvalue())


def pieces(rows: pa.Buffer) -> pa.RecordBatch:
    """What `packed` packed, not copied."""
    with pa.ipc.open_stream(rows) as reader:
        return reader.read_next_batch()
