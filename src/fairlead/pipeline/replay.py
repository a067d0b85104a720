"""Replay: the same messages under several scenarios, with readers. The whole flow stands here.

read → accept → unique → tenants → cut into blocks → gather → simulate → join → deliver → measure
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate, chain, count
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.balance.times import MICROS
from fairlead.compiled.needed import check_columns, mapping, named
from fairlead.compiled.router import Plan
from fairlead.errors import MessageError
from fairlead.pipeline.columns import (
    BLOCK,
    NUMBER,
    PREFIX,
    REASON,
    SCENARIO,
    THERE,
    looked_up,
    quoted,
)
from fairlead.pipeline.dispatch import left_out
from fairlead.pipeline.intake import read
from fairlead.pipeline.intake.read import columns_of, own_columns, renaming
from fairlead.pipeline.intake.scale import scale_rate
from fairlead.pipeline.intake.tenants import one_tenant
from fairlead.pipeline.intake.unique import unique
from fairlead.pipeline.intake.validate import accept, refuse_other_units
from fairlead.pipeline.measure.facts import changes, made
from fairlead.pipeline.measure.tally import check_nothing_lost
from fairlead.pipeline.measure.waits import compared
from fairlead.pipeline.output import run_folder
from fairlead.pipeline.output.write import COMPARISON, Delivery
from fairlead.pipeline.progress import Progress, quiet
from fairlead.pipeline.routing.blocks import ROWS_A_BLOCK, cut, sample
from fairlead.pipeline.routing.route import CHANGED
from fairlead.pipeline.simulate.gather import Gathered, changed, gather, numbered, packed, pieces
from fairlead.pipeline.spark.executors import check_executors
from fairlead.replay.batch import Attempts, Traits
from fairlead.replay.memory import NEVER
from fairlead.replay.traffic import Lane, Lanes
from fairlead.replay.words import WORDS
from fairlead.results.comparison import Comparison, Scenario
from fairlead.rows import ATTEMPT, DECISION

log = logging.getLogger("fairlead")

TOGETHER: Final = "~all"
"""Where the decisions of all scenarios are first; no scenario's folder is called so."""
REJECTED: Final = "rejected"
NOT_SCENARIOS: Final = (REJECTED, "report.html", COMPARISON)
LONGEST_FOLDER: Final = 60
"""Letters of a scenario's folder; file systems take 255 bytes, and a letter can have four."""

LABEL: Final = PREFIX + "label"
SINCE: Final = PREFIX + "since"
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
    f"{each.name} {'int' if each.type == pa.int32() else 'long'}" for each in SIMULATED
)


class Replayed:
    """Messages ready to be replayed, and what was learnt of them on the way."""

    def __init__(
        self,
        messages: DataFrame,
        plans: Mapping[str, Plan],
        *,
        where: str = "messages",
        rows_a_block: int = ROWS_A_BLOCK,
        progress: Progress = quiet,
    ) -> None:
        """`messages`: a table that nothing is to be said against (see `check_names`).

        `plans`: by the scenario's name.
        """
        self.plans = dict(plans)
        self.columns = own_columns(messages)
        every = list(self.plans.values())
        check_executors(messages.sparkSession, progress)
        accepted = accept(messages, *every, worked=True)
        with progress("check ids"):
            self.rows = unique(accepted)
        with progress("check tenants"):
            self.rows = one_tenant(self.rows, every)
        good = self.rows.where(F.col(REASON).isNull())
        with progress("cut into blocks"):
            places = sample(good, in_files=False)
            # A task writes a block of all scenarios: more blocks, while tasks have nothing to do.
            fewer = max(rows_a_block / len(every), places.rows / _parallel(good.sparkSession))
            blocks = cut(places, rows_a_block=min(rows_a_block, fewer))
        block = blocks.column().alias(BLOCK)
        with progress("survey"):
            self.gathered = gather(self.rows.select("*", block), blocks, every, REASON)
            if self.gathered.rejected and not sum(self.gathered.sizes):
                refuse_other_units(self.rows, where)
        self.good = self.gathered.survey.classified(good.select("*", block))

    @property
    def decisions(self) -> DataFrame:
        """A row for each attempt of each message in each scenario, which SCENARIO numbers."""
        own = [quoted(name) for name in self.columns]
        messages = numbered(self.good, self.gathered).select(NUMBER, BLOCK, *own)
        told = simulated(self.good, self.gathered, self.plans)
        ordered = together(told, messages, len(self.gathered.sizes))
        return ordered.select(SCENARIO, *own, *self._spelled())

    def _spelled(self) -> list[Column]:
        """What the numbers of the simulation stand for."""
        codes = [plan.codes for plan in self.plans.values()]

        def word(words: Sequence[Sequence[object]]) -> Column:
            return F.element_at(looked_up(words, F.col(SCENARIO), "array<string>"), label + 1)

        label = F.when(F.col(LABEL) >= 0, F.col(LABEL))

        def moment(name: str) -> Column:
            found = F.when(F.col(name) != NEVER, F.col(name))
            return F.timestamp_micros(found) if self.gathered.dated else found / MICROS

        until = [F.when(F.col(name) != NEVER, F.col(name)) for name in ("start", "finish")]
        waited = (F.coalesce(*until) - F.col(SINCE)) / MICROS
        found = {
            "destination": word([each.destination for each in codes]),
            "address": word([each.address for each in codes]),
            "outcome": looked_up(WORDS, F.col("outcome")),
            "sequence": F.when(F.col("sequence") >= 0, F.col("sequence")),
            "attempt": F.col("attempt"),
            "reader": F.when(F.col("reader") >= 0, F.col("reader")),
            "start": moment("start"),
            "finish": moment("finish"),
            "wait": waited,
        }
        return [found[name].alias(name) for name in (*DECISION, *ATTEMPT)]

    @property
    def rejected(self) -> DataFrame:
        """The rows that are no messages, each with its `reason`."""
        own = [quoted(name) for name in self.columns]
        bad = self.rows.where(F.col(REASON).isNotNull())
        return bad.select(*own, F.col(REASON).alias("reason"))


def check_names(names: Sequence[str], where: str, plans: Iterable[Plan]) -> None:
    """Refuse a table of these names, which cannot be replayed so. Raises MessageError."""
    read.check_names(names, where)
    for name in ATTEMPT:
        if name in (each.lower() for each in names):
            line = f"{where}: column {name!r} is what a replay adds; rename it"
            raise MessageError(line, renaming(line, name))
    if "service_time" not in names:
        line = (
            f"{where}: no column 'service_time', found: {named(names)}; a replay needs the "
            "seconds that each message takes"
        )
        raise MessageError(line, mapping(line, "service_time"))
    for plan in plans:
        check_columns(plan, names, where)


def simulated(good: DataFrame, found: Gathered, plans: Mapping[str, Plan]) -> DataFrame:
    """What becomes of the messages, as numbers: a row for each attempt in each scenario.

    The scenarios are spread over as many tasks as run at once; each task reads all messages once.
    """
    every = list(plans.values())
    lanes = [
        Lane(k, plan, np.array(found.codes_in(plan) or [0], np.int32))
        for k, plan in enumerate(every)
    ]
    tasks = min(len(lanes), _parallel(good.sparkSession))
    shares = [lanes[k::tasks] for k in range(tasks)]
    task = F.explode(F.array(*(F.lit(k) for k in range(tasks)))).alias("task")
    spread = packed(good, found, every).select("*", task).repartitionById(tasks, "task")
    in_order = spread.sortWithinPartitions("task", "block", "part")
    simulator = _simulator(shares, found.traits, list(accumulate(found.sizes)))
    return in_order.mapInArrow(simulator, SPARK_SCHEMA)


def together(told: DataFrame, messages: DataFrame, blocks: int) -> DataFrame:
    """What is told of each message, with the message; a partition is a block, in order.

    `messages`: in blocks, with NUMBER and BLOCK, by which nothing has to be moved for the join
    (but for sessions that ask for it).
    """
    placed = told.repartitionById(blocks, BLOCK)
    joined = placed.join(messages.withColumn(THERE, F.lit(True)), [NUMBER, BLOCK], "left")
    if _joins_move_all(messages.sparkSession):
        joined = joined.repartitionById(blocks, BLOCK)
    attempt = F.when(F.col(THERE), F.col("attempt")).otherwise(changed("int"))
    found = joined.withColumn("attempt", attempt).drop(THERE)
    return found.sortWithinPartitions(SCENARIO, NUMBER, "attempt", LABEL)


def _joins_move_all(spark: SparkSession) -> bool:
    """Whether a join moves rows although they stand together by one of its keys already."""
    name = "spark.sql.requireAllClusterKeysForDistribution"
    return (spark.conf.get(name, "false") or "").lower() == "true"


def _parallel(spark: SparkSession) -> int:
    """How many tasks can be expected to run at once."""
    found = spark.conf.get("spark.sql.shuffle.partitions", "2")
    return max(1, int(found or 2))


def _simulator(
    shares: Sequence[Sequence[Lane]], traits: Traits, ends: Sequence[int]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def simulate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        traffic: Lanes | None = None
        seen = 0
        for batch in batches:
            for task, rows in zip(batch.column("task"), batch.column("rows"), strict=True):
                if traffic is None:
                    traffic = Lanes(shares[task.as_py()], traits)
                messages = pieces(rows.as_buffer())
                seen += messages.num_rows
                for scenario, told in traffic.feed(messages):
                    yield _rows(scenario, told, ends)
        if traffic is not None:
            if seen != ends[-1]:
                raise RuntimeError(f"{seen} rows, counted were {ends[-1]}: {CHANGED}")
            for scenario, told in traffic.finish():
                yield _rows(scenario, told, ends)

    return simulate


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


def replay(messages: DataFrame, plans: Mapping[str, Plan]) -> DataFrame:
    """What would have become of the messages of a DataFrame under each plan.

    `plans`: by the scenario's name.

    Returns a row for each attempt of each message, with `scenario` and all that a replay tells
    (see `fairlead.replay.table.replay`). Rows that are no messages are left out, which a warning
    of the logger `fairlead` says. Raises MessageError.
    """
    check_names(columns_of(messages, "messages"), "messages", plans.values())
    if "scenario" in (each.lower() for each in messages.columns):
        raise MessageError("messages: column 'scenario' is what a replay adds; rename it")
    found = Replayed(messages, plans)
    if found.gathered.rejected:
        log.warning(left_out(found.rows, "Replayed(messages, plans).rejected has"))
    scenario = looked_up(list(plans), F.col(SCENARIO)).alias("scenario")
    return found.decisions.select(scenario, "*").drop(SCENARIO)


class Scale(NamedTuple):
    """How much of the recorded traffic there is: each message so many times, on average."""

    rate: Decimal = Decimal(1)
    seed: int = 0


def run(
    spark: SparkSession,
    messages: DataFrame,
    plans: Mapping[str, Plan],
    delivery: Delivery,
    *,
    where: str,
    scaled: Mapping[str, Scale] | None = None,
    differs: Mapping[str, Sequence[str]] | None = None,
    file_format: str = "parquet",
    rows_a_block: int = ROWS_A_BLOCK,
    command: str | None = None,
    progress: Progress = quiet,
) -> Comparison:
    """Replay a table into a delivery, which the caller finishes: a folder for each scenario.

    `scaled`: scenarios that have more or less traffic than was recorded. `differs`: by the
    scenario's name what was set for it, in words. `command`: what a report is to show as the way to
    this run; None: nobody wants a report. Raises MessageError.
    """
    began = time.monotonic()
    check_names(columns_of(messages, where), where, plans.values())
    folders = dict(zip(plans, folder_names(plans), strict=True))
    scenarios: dict[str, Scenario] = {}
    recorded: Gathered | None = None
    rejections: dict[str, int] = {}
    for scale, own in _by_scale(plans, scaled or {}):
        table = scale_rate(messages, *scale)
        ready = Replayed(table, own, where=where, rows_a_block=rows_a_block, progress=progress)
        gathered = ready.gathered
        with progress("replay and write"):
            decisions = ready.decisions
            delivery.write(decisions, TOGETHER, file_format, by=SCENARIO)
        with progress("measure"):
            written = run_folder.load(spark, delivery.path(TOGETHER), file_format, decisions.schema)
            every, period = list(own.values()), gathered.period
            found = compared(list(own), written, every, period, dated=gathered.dated)
        if not any(plan.fans_out for plan in every):
            for scenario in found:
                check_nothing_lost(sum(gathered.sizes), scenario.messages, 0)
        scenarios.update({scenario.name: scenario for scenario in found})
        for k, name in enumerate(own):
            delivery.move(f"{TOGETHER}/{SCENARIO}={k}", f"{folders[name]}/decisions")
        delivery.remove(TOGETHER)
        if recorded is None:
            recorded, rejections = gathered, _write_rejected(ready, delivery, spark, file_format)
    result = Comparison(
        read=sum(recorded.sizes) + recorded.rejected if recorded else 0,
        rejected=recorded.rejected if recorded else 0,
        rejections=rejections,
        scenarios=[
            replace(
                scenarios[name],
                folder=folders[name],
                changes=changes(plan.changes),
                differs=list((differs or {}).get(name, ())),
            )
            for name, plan in plans.items()
        ],
        seconds=round(time.monotonic() - began, 3),
        made=None if command is None else made(where, command),
    )
    for name, plan in plans.items():
        run_folder.write_scenario(delivery, folders[name], plan, file_format)
    delivery.write_json(COMPARISON, result.as_plain())
    log.info("replayed", extra={"read": result.read, "scenarios": list(plans)})
    return result


def _by_scale(
    plans: Mapping[str, Plan], scaled: Mapping[str, Scale]
) -> list[tuple[Scale, dict[str, Plan]]]:
    """The plans that get the same traffic, together; the recorded traffic first, if any gets it."""
    found: dict[Scale, dict[str, Plan]] = {}
    for name, plan in plans.items():
        found.setdefault(scaled.get(name, Scale()), {})[name] = plan
    return sorted(found.items(), key=lambda each: each[0] != Scale())


def _write_rejected(
    ready: Replayed, delivery: Delivery, spark: SparkSession, file_format: str
) -> dict[str, int]:
    """Write the rows that are no messages; returns how many, by reason."""
    bad = ready.rejected
    delivery.write(bad if ready.gathered.rejected else bad.limit(0), REJECTED, file_format)
    if not ready.gathered.rejected:
        return {}
    written = run_folder.load(spark, delivery.path(REJECTED), file_format, bad.schema)
    return run_folder.rejections(written)


def folder_names(plans: Mapping[str, Plan]) -> list[str]:
    """A folder for each scenario: its name, where that can be one."""
    found: list[str] = []
    for k, name in enumerate(plans):
        plain = "".join(c if c.isalnum() or c in "-_.+ " else "_" for c in name).strip(" .")
        plain = plain[:LONGEST_FOLDER].rstrip(" .") or "_"
        taken = {each.lower() for each in (*found, *NOT_SCENARIOS)}
        others = (f"{plain}-{number}" for number in count(k + 1))
        found.append(next(each for each in chain([plain], others) if each.lower() not in taken))
    return found
