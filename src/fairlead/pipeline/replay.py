"""Replay: the same messages under several scenarios, with readers. The whole flow stands here.

read → validate → unique → tenants → cut into blocks → gather → simulate and measure → join → write
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from pyspark import __version__ as SPARK
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.balance.journal import check_names as check_journal
from fairlead.balance.times import MICROS
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.errors import MessageError
from fairlead.measure.facts import changes, made
from fairlead.measure.measured import Farthest, Measured
from fairlead.measure.meter import What, what
from fairlead.measure.scenarios import Replayed, compared
from fairlead.measure.tally import check_nothing_lost
from fairlead.pipeline.columns import (
    BLOCK,
    CLASS,
    GOOD,
    NUMBER,
    SCENARIO,
    SENT,
    TIME,
    looked_up,
    quoted,
)
from fairlead.pipeline.dispatch import left_out
from fairlead.pipeline.intake.journal import messages_of
from fairlead.pipeline.intake.mapped import own_columns
from fairlead.pipeline.intake.read import reading
from fairlead.pipeline.intake.scale import scale_rate
from fairlead.pipeline.intake.tenants import one_tenant
from fairlead.pipeline.intake.unique import unique
from fairlead.pipeline.intake.validate import refuse_other_units, rejected_rows, text, validate
from fairlead.pipeline.output.read_back import rejections as counted_rejections
from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.pipeline.routing.blocks import cut, sample, with_block
from fairlead.pipeline.routing.journal import PLACES, others, with_places
from fairlead.pipeline.routing.route import numbered
from fairlead.pipeline.simulate.attempts import (
    MEASURED,
    SINCE,
    at_once,
    attempt_columns,
    measures_of,
    simulated,
    together,
)
from fairlead.pipeline.simulate.gather import Gathered, gather
from fairlead.pipeline.spark.executors import check_executors
from fairlead.pipeline.spark.session import compiled_methods
from fairlead.replay.layout import NEVER
from fairlead.replay.scale import Scale, by_scale
from fairlead.replay.words import AGAIN_CODES
from fairlead.results.comparison import Comparison, Longest, ScenarioResult
from fairlead.rows import ATTEMPT, JOURNAL
from fairlead.runs import run_folder
from fairlead.runs.constants import LATE_ROWS, NO_ROWS
from fairlead.runs.names import check_replayed
from fairlead.runs.options import DEFAULTS, Options, in_full
from fairlead.runs.paths import COMPARISON
from fairlead.runs.scenario_folders import REJECTED, folder_names

log = logging.getLogger("fairlead")

TOGETHER: Final = "~all"
"""Where the decisions of all scenarios are first; no scenario's folder is called so."""


@dataclass(frozen=True)
class PreparedReplay:
    """Messages ready to be replayed, and what was learnt of them on the way."""

    plans: Mapping[str, ClassifiedPlan]
    """By the scenario's name."""
    columns: Sequence[str]
    """The messages' own."""
    rows: DataFrame
    """All rows, with GOOD, and with REASON where one is no message."""
    good: DataFrame
    """The messages, with their blocks and classes."""
    gathered: Gathered

    def attempts(self) -> DataFrame:
        """A row for each attempt of each message in each scenario, which SCENARIO numbers."""
        columns = [quoted(name) for name in self.columns]
        return self._simulated().select(SCENARIO, *columns, *self._spelled())

    def journal(self) -> DataFrame:
        """The attempts as rows of a journal."""
        plans, columns = list(self.plans.values()), [quoted(name) for name in others(self.columns)]
        codes = [self.gathered.codes_in(plan) for plan in plans]
        placed = with_places(self._simulated(), plans, codes, F.col(SCENARIO), SINCE)
        rows = placed.select(SCENARIO, *columns, "time", "id", *PLACES, *self._spelled())
        last = (name for name in ATTEMPT if name not in JOURNAL)
        return rows.select(SCENARIO, *columns, *JOURNAL, *last)

    def _simulated(self) -> DataFrame:
        """What becomes of the messages, as numbers, with the messages."""
        return self._with_messages(simulated(self.good, self.gathered, list(self.plans.values())))

    def _with_messages(self, frame: DataFrame) -> DataFrame:
        """Attempts as numbers, with their messages."""
        columns = [quoted(name) for name in self.columns]
        messages = self._numbered().select(NUMBER, BLOCK, CLASS, SENT, *columns)
        return together(frame, messages, len(self.gathered.sizes))

    def _numbered(self, numbers: Sequence[int] | None = None) -> DataFrame:
        """The messages with NUMBER and SENT. `numbers`: only these."""
        sizes, blocks = self.gathered.sizes, self.gathered.survey.blocks
        good = self.good
        if numbers is not None:
            ends = [*accumulate(sizes)]
            good = good.where(F.col(BLOCK).isin({bisect_right(ends, number) for number in numbers}))
        messages = numbered(good, blocks, sizes).withColumn(SENT, F.col(TIME))
        return messages if numbers is None else messages.where(F.col(NUMBER).isin(list(numbers)))

    def measured(self, what: What, *, keep: bool) -> tuple[list[Measured], DataFrame]:
        """What each scenario comes to, and the attempts as numbers, which Spark keeps.

        `keep`: whether there are any. The caller lets Spark forget them (`unpersist`).
        """
        plans = list(self.plans.values())
        every = simulated(self.good, self.gathered, plans, what, keep=keep)
        if keep:
            every = every.persist()
        return measures_of(every, len(plans)), every

    def spelled(self, every: DataFrame, late: Sequence[float] | None) -> DataFrame:
        """The rows of attempts that `measured` gave.

        `late`: by the scenario, seconds; only those that count and waited longer.
        """
        rows = every.where(F.col(MEASURED).isNull()).drop(MEASURED)
        columns = [quoted(name) for name in self.columns]
        if late is None:
            return self._with_messages(rows).select(SCENARIO, *columns, *self._spelled())
        limit = looked_up([round(seconds * MICROS) for seconds in late], F.col(SCENARIO), "bigint")
        counts = ~F.col("outcome").isin(*AGAIN_CODES) & (F.col("start") != NEVER)
        # The time when a message was sent that came back is known only with the message.
        long = (F.col("attempt") > 1) | (F.col("start") - F.col(SINCE) > limit)
        sent = F.when(F.col("attempt") > 1, F.col(SENT)).otherwise(F.col(SINCE))
        late_rows = self._with_messages(rows.where(counts & long))
        late_rows = late_rows.where(F.col("start") - sent > limit)
        return late_rows.select(SCENARIO, *columns, *self._spelled())

    def longest(self, found: Sequence[Farthest | None]) -> list[Longest | None]:
        """The messages that waited longest, by their ids and groups."""
        numbers = sorted({farthest.message for farthest in found if farthest is not None})
        if not numbers:
            return [None] * len(found)
        columns = (F.col("id").cast("string").alias("id"), text(self.good, "group").alias("group"))
        rows = self._numbered(numbers).select(NUMBER, *columns).collect()
        known = {row[NUMBER]: row for row in rows}
        return [
            None
            if farthest is None
            else Longest(
                known[farthest.message]["id"],
                known[farthest.message]["group"],
                farthest.destination,
                farthest.wait / MICROS,
            )
            for farthest in found
        ]

    def _spelled(self) -> list[Column]:
        """What these numbers stand for."""
        return attempt_columns(list(self.plans.values()), dated=self.gathered.dated)

    def rejected(self) -> DataFrame:
        """The rows that are no messages, each with its `reason`."""
        return rejected_rows(self.rows, self.columns)


def prepare(
    messages: DataFrame, plans: Mapping[str, Plan], options: Options = DEFAULTS
) -> PreparedReplay:
    """Learn what is needed to replay a table that nothing is to be said against.

    `messages`: see `check_replayed`; `plans`: by the scenario's name. Runs several jobs.
    """
    columns, progress = own_columns(messages), options.progress
    every = list(plans.values())
    check_executors(messages.sparkSession, progress)
    accepted = validate(messages, *every, worked=True)
    with progress("check ids"):
        rows, most = unique(accepted)
    with progress("check tenants"):
        rows = one_tenant(rows, every)
    good = rows.where(GOOD)
    with progress("cut into blocks"):
        places = sample(good, most, in_files=False)
        # A task writes a block of all scenarios: more blocks, while tasks have nothing to do.
        fewer = max(options.rows_a_block / len(every), places.rows / at_once(good.sparkSession))
        blocks = cut(places, rows_a_block=min(options.rows_a_block, fewer))
    with progress("survey"):
        gathered = gather(with_block(rows, blocks), blocks, every)
        if gathered.rejected and not sum(gathered.sizes):
            refuse_other_units(rows, options.where)
    classified = gathered.survey.classified(with_block(good, blocks))
    ready = {name: gathered.classified(plan) for name, plan in plans.items()}
    return PreparedReplay(ready, columns, rows, classified, gathered)


def replay(messages: DataFrame, plans: Mapping[str, Plan], *, journal: bool = False) -> DataFrame:
    """What would have become of the messages of a DataFrame under each plan.

    `plans`: by the scenario's name. `journal`: return rows of a journal; `messages` may be one.

    Returns a row for each attempt of each message, with `scenario` and all that a replay tells
    (see `fairlead.replay.table.replay`). Rows that are no messages are left out, which a warning
    of the logger `fairlead` says. Raises MessageError; UserError where a file cannot be read.
    """
    messages = messages_of(messages, list(plans.values()), "messages")
    check_replayed(own_columns(messages), "messages", plans.values())
    if "scenario" in (column.lower() for column in messages.columns):
        raise MessageError("messages: column 'scenario' is what a replay adds; rename it")
    with reading(), compiled_methods(messages):
        ready = prepare(messages, plans)
    if ready.gathered.rejected:
        log.warning(left_out(ready.rows, "prepare(messages, plans).rejected() has"))
    scenario = looked_up(list(plans), F.col(SCENARIO)).alias("scenario")
    if journal:
        for plan in plans.values():
            check_journal(ready.columns, plan.relevant_attributes)
    rows = ready.journal() if journal else ready.attempts()
    return rows.select(scenario, "*").drop(SCENARIO)


def run(
    spark: SparkSession,
    messages: DataFrame,
    plans: Mapping[str, Plan],
    delivery: TablesDelivery,
    options: Options = DEFAULTS,
    *,
    scaled: Mapping[str, Scale] | None = None,
    differs: Mapping[str, Sequence[str]] | None = None,
) -> Comparison:
    """Replay a table into a delivery, which the caller finishes: a folder for each scenario.

    `scaled`: scenarios that have more or less traffic than was recorded. `differs`: by the
    scenario's name what was set for it, in words. Raises MessageError.
    """
    began = time.monotonic()
    file_format = options.file_format
    messages = messages_of(messages, list(plans.values()), options.where)
    check_replayed(own_columns(messages), options.where, plans.values())
    folders = dict(zip(plans, folder_names(plans), strict=True))
    scenarios: dict[str, ScenarioResult] = {}
    recorded: Gathered | None = None
    rejections: dict[str, int] = {}
    for scale, its_plans in by_scale(plans, scaled or {}):
        ready = prepare(scale_rate(messages, *scale), its_plans, options)
        results = _replayed(ready, delivery, options, {name: folders[name] for name in its_plans})
        scenarios.update({scenario.name: scenario for scenario in results})
        if recorded is None:
            recorded = ready.gathered
            rejections = _write_rejected(ready, delivery, spark, file_format)
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
        windows=list(options.windows),
        made=None if options.command is None else made(options.named, options.command, SPARK),
    )
    for name, plan in plans.items():
        run_folder.write_scenario(delivery, folders[name], plan, file_format, options.rows)
    delivery.write_json(COMPARISON, result.to_dict())
    log.info("replayed", extra={"read": result.read, "scenarios": list(plans)})
    return result


def _replayed(
    ready: PreparedReplay, delivery: TablesDelivery, options: Options, folders: Mapping[str, str]
) -> list[ScenarioResult]:
    """The scenarios that get the same traffic; what is to be kept of their rows is written.

    `folders`: by the scenario's name.
    """
    gathered, progress = ready.gathered, options.progress
    question = what(
        gathered.period,
        dated=gathered.dated,
        windows=options.windows,
        in_full=in_full(options.rows, options.command),
    )
    with progress("replay and measure"):
        measures, every = ready.measured(question, keep=options.rows != NO_ROWS)
    try:
        longest = ready.longest([measure.longest for measure in measures])
        parts = zip(ready.plans.items(), measures, longest, strict=True)
        replayed = [Replayed(name, plan, measure, far) for (name, plan), measure, far in parts]
        scenarios = compared(replayed, gathered.period, question)
        for scenario, plan in zip(scenarios, ready.plans.values(), strict=True):
            if not plan.fans_out:
                check_nothing_lost(sum(gathered.sizes), scenario.messages, 0)
        if options.rows != NO_ROWS:
            late = (
                [scenario.waits.p99 for scenario in scenarios]
                if options.rows == LATE_ROWS
                else None
            )
            with progress("write"):
                decisions = ready.spelled(every, late)
                delivery.write(decisions, TOGETHER, options.file_format, by=SCENARIO)
                for k, name in enumerate(ready.plans):
                    delivery.move(f"{TOGETHER}/{SCENARIO}={k}", f"{folders[name]}/decisions")
                delivery.remove(TOGETHER)
        return scenarios
    finally:
        if options.rows != NO_ROWS:
            every.unpersist()


def _write_rejected(
    ready: PreparedReplay, delivery: TablesDelivery, spark: SparkSession, file_format: str
) -> dict[str, int]:
    """Write the rows that are no messages; returns how many, by reason."""
    bad = ready.rejected()
    delivery.write(bad if ready.gathered.rejected else bad.limit(0), REJECTED, file_format)
    if not ready.gathered.rejected:
        return {}
    written = delivery.load(spark, REJECTED, file_format, bad.schema)
    return counted_rejections(written)
