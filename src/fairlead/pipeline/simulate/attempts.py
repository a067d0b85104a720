"""Attempts: what becomes of the messages in each scenario, by the kernel of `fairlead.replay`.

Narrow columns, in order, go to a few tasks that each advance some of the scenarios and measure them
meanwhile. A row for each attempt comes back, where somebody wants them, and is joined to its
message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final
from zlib import compress, decompress

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.balance.times import MICROS
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.measure.lanes import MeasuredLanes, MeasureRequest
from fairlead.measure.measured import NOTHING, Measured
from fairlead.measure.meter import What
from fairlead.pipeline.columns import BLOCK, NUMBER, SCENARIO, THERE, looked_up
from fairlead.pipeline.routing.route import CHANGED, changed
from fairlead.pipeline.simulate.gather import Gathered, packed, pieces
from fairlead.replay.batch import Attempts, Traits
from fairlead.replay.layout import NEVER
from fairlead.replay.traffic import Lane, ScenarioRuns
from fairlead.replay.words import CODED_WORDS
from fairlead.rows import ATTEMPT, DECISION
from fairlead.runs.constants import PREFIX

LABEL: Final = PREFIX + "label"
SINCE: Final = PREFIX + "since"
MEASURED: Final = PREFIX + "measured"
"""What was measured of a scenario; null in the rows of attempts."""
SMALL: Final = ("outcome", "label", "attempt", "reader")
"""What of an attempt fits into 32 bits."""
CALLED: Final = {"message": NUMBER, "label": LABEL, "since": SINCE}
"""Columns of an attempt that the user's own could be called like."""
SIMULATED: Final = pa.schema(
    [
        pa.field(SCENARIO, pa.int32()),
        pa.field(BLOCK, pa.int32()),
        *(
            pa.field(CALLED.get(name, name), pa.int32() if name in SMALL else pa.int64())
            for name in Attempts._fields
        ),
    ]
)
SPARK_SCHEMA: Final = ", ".join(
    f"{field.name} {'int' if field.type == pa.int32() else 'long'}" for field in SIMULATED
)


def simulated(
    good: DataFrame,
    gathered: Gathered,
    plans: Sequence[ClassifiedPlan],
    what: What | None = None,
    *,
    keep: bool = True,
) -> DataFrame:
    """What becomes of the messages, as numbers: a row for each attempt in each scenario.

    The scenarios are spread over as many tasks as run at once; each task reads all messages once.
    `what`: measure that, too: a row for each scenario has it in MEASURED. `keep`: give attempts.
    """
    lanes = [
        Lane(k, plan, np.array(gathered.codes_in(plan) or [0], np.int32))
        for k, plan in enumerate(plans)
    ]
    tasks = min(len(lanes), at_once(good.sparkSession))
    shares = [lanes[k::tasks] for k in range(tasks)]
    task = F.explode(F.array(*(F.lit(k) for k in range(tasks)))).alias("task")
    pieces_ = packed(good, gathered, plans, hashed=what is not None)
    spread = pieces_.select("*", task).repartitionById(tasks, "task")
    in_order = spread.sortWithinPartitions("task", "block", "part")
    ends = list(accumulate(gathered.sizes))
    if what is None:
        return in_order.mapInArrow(_simulator(shares, gathered.traits, ends), SPARK_SCHEMA)
    meters = _metered(
        shares, gathered.traits, ends, MeasureRequest(what, gathered.clusters), keep=keep
    )
    return in_order.mapInArrow(meters, f"{SPARK_SCHEMA}, {MEASURED} binary")


def measures_of(simulated: DataFrame, scenarios: int) -> list[Measured]:
    """What was measured, scenario by scenario."""
    rows = simulated.where(F.col(MEASURED).isNotNull()).select(SCENARIO, MEASURED).collect()
    measures = {row[SCENARIO]: _unpacked(row[MEASURED]) for row in rows}
    return [measures.get(k) or NOTHING for k in range(scenarios)]


def together(attempts: DataFrame, messages: DataFrame, blocks: int) -> DataFrame:
    """The attempts of each message, with the message; a partition is a block, in order.

    `messages`: in blocks, with NUMBER and BLOCK, by which nothing has to be moved for the join
    (but for sessions that ask for it).
    """
    placed = attempts.repartitionById(blocks, BLOCK)
    # Merged where they stand: to broadcast a table that Spark takes for small, the driver would
    # collect the messages.
    there = messages.withColumn(THERE, F.lit(True)).hint("merge")
    joined = placed.join(there, [NUMBER, BLOCK], "left")
    if _joins_move_all(messages.sparkSession):
        joined = joined.repartitionById(blocks, BLOCK)
    attempt = F.when(F.col(THERE), F.col("attempt")).otherwise(changed("int"))
    rows = joined.withColumn("attempt", attempt).drop(THERE)
    return rows.sortWithinPartitions(SCENARIO, NUMBER, "attempt", LABEL)


def _joins_move_all(spark: SparkSession) -> bool:
    """Whether a join moves rows although they stand together by one of its keys already."""
    name = "spark.sql.requireAllClusterKeysForDistribution"
    return (spark.conf.get(name, "false") or "").lower() == "true"


def _simulator(
    shares: Sequence[Sequence[Lane]], traits: Traits, ends: Sequence[int]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def simulate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lanes: ScenarioRuns | None = None
        seen = 0
        for task, messages in _pieces(batches):
            lanes = lanes or ScenarioRuns(shares[task], traits)
            seen += messages.num_rows
            for scenario, attempts in lanes.feed(lanes.read(messages)):
                yield _rows(scenario, attempts, ends)
        if lanes is not None:
            _check_all(seen, ends)
            for scenario, attempts in lanes.finish():
                yield _rows(scenario, attempts, ends)

    return simulate


def _metered(
    shares: Sequence[Sequence[Lane]],
    traits: Traits,
    ends: Sequence[int],
    request: MeasureRequest,
    *,
    keep: bool,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The same, and a row more for each scenario. `keep`: give attempts at all."""

    def simulate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lanes: MeasuredLanes | None = None
        seen = 0
        for task, messages in _pieces(batches):
            lanes = lanes or MeasuredLanes(shares[task], traits, request)
            seen += messages.num_rows
            for scenario, attempts in lanes.feed(messages):
                if keep:
                    yield _unmeasured(_rows(scenario, attempts, ends))
        if lanes is not None:
            _check_all(seen, ends)
            for scenario, attempts in lanes.finish():
                if keep:
                    yield _unmeasured(_rows(scenario, attempts, ends))
            for scenario, measured in lanes.measured():
                yield _measured(scenario, _packed(measured))

    return simulate


def _packed(measured: Measured) -> bytes:
    return compress(msgspec.msgpack.encode(measured), level=1)


def _unpacked(packed_: bytes) -> Measured:
    return msgspec.msgpack.decode(decompress(packed_), type=Measured)


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each piece of messages, with the task that it is for."""
    for batch in batches:
        for task, rows in zip(batch.column("task"), batch.column("rows"), strict=True):
            yield task.as_py(), pieces(rows.as_buffer())


def _check_all(seen: int, ends: Sequence[int]) -> None:
    """Stop where not as many rows came as were counted."""
    if seen != ends[-1]:
        raise RuntimeError(f"{seen} rows, counted were {ends[-1]}: {CHANGED}")


def _unmeasured(rows: pa.RecordBatch) -> pa.RecordBatch:
    nothing = pa.nulls(rows.num_rows, pa.binary())
    return pa.RecordBatch.from_arrays([*rows.columns, nothing], [*rows.schema.names, MEASURED])


def _measured(scenario: int, packed_: bytes) -> pa.RecordBatch:
    columns = [
        pa.array([scenario if field.name == SCENARIO else 0], field.type) for field in SIMULATED
    ]
    return pa.RecordBatch.from_arrays(
        [*columns, pa.array([packed_], pa.binary())], [*SIMULATED.names, MEASURED]
    )


def _rows(scenario: int, attempts: Attempts, ends: Sequence[int]) -> pa.RecordBatch:
    columns = [
        np.full(len(attempts.message), scenario),
        np.searchsorted(ends, attempts.message, "right"),
        *attempts._replace(outcome=attempts.ended()),
    ]
    arrays = [
        pa.array(column.astype(field.type.to_pandas_dtype()))
        for column, field in zip(columns, SIMULATED, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SIMULATED)


def at_once(spark: SparkSession) -> int:
    """How many tasks can be expected to run at once."""
    setting = spark.conf.get("spark.sql.shuffle.partitions", "2")
    return max(1, int(setting or 2))


def attempt_columns(plans: Sequence[ClassifiedPlan], *, dated: bool) -> list[Column]:
    """What the numbers of the simulation stand for, as columns. `dated`: times are timestamps."""
    codes = [plan.codes for plan in plans]
    label = F.when(F.col(LABEL) >= 0, F.col(LABEL))

    def word(words: Sequence[Sequence[object]]) -> Column:
        return F.element_at(looked_up(words, F.col(SCENARIO), "array<string>"), label + 1)

    def moment(name: str) -> Column:
        micros = F.when(F.col(name) != NEVER, F.col(name))
        return F.timestamp_micros(micros) if dated else micros / MICROS

    until = [F.when(F.col(name) != NEVER, F.col(name)) for name in ("start", "finish")]
    values = {
        "destination": word([plan_codes.destination for plan_codes in codes]),
        "address": word([plan_codes.address for plan_codes in codes]),
        "outcome": looked_up(CODED_WORDS, F.col("outcome")),
        "sequence": F.when(F.col("sequence") >= 0, F.col("sequence")),
        "attempt": F.col("attempt"),
        "reader": F.when(F.col("reader") >= 0, F.col("reader")),
        "start": moment("start"),
        "finish": moment("finish"),
        "wait": (F.coalesce(*until) - F.col(SINCE)) / MICROS,
    }
    return [values[name].alias(name) for name in (*DECISION, *ATTEMPT)]
