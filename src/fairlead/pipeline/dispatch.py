"""Dispatch: route a whole table of messages and deliver it. The whole flow stands in this file.

read → validate → unique → cut into blocks → survey → begin → route → write → measure
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import finalize

from py4j.protocol import Py4JError
from pyspark import __version__ as SPARK
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegralType, NullType, StringType

from fairlead.balance.change import Change
from fairlead.balance.changes import changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.journal import check_names
from fairlead.balance.message import SPELLED_ALIKE
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.compiled.required_columns import check_columns
from fairlead.compiled.router import EARLIEST
from fairlead.errors import MessageError
from fairlead.measure.facts import made
from fairlead.measure.tally import (
    check_nothing_lost,
    digest,
    outcomes,
    phases,
    unknown_clusters,
)
from fairlead.pipeline.columns import ARRIVAL, AT, FREE, GOOD, NUMBER, TIME, quoted
from fairlead.pipeline.intake.journal import messages_of
from fairlead.pipeline.intake.read import checked, reading
from fairlead.pipeline.intake.unique import unique
from fairlead.pipeline.intake.validate import refuse_other_units, rejected_rows, validate
from fairlead.pipeline.measure.counts import count, count_for_report
from fairlead.pipeline.measure.counts import messages as counted_messages
from fairlead.pipeline.output.read_back import rejections as counted_rejections
from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.pipeline.routing.block_states import begin
from fairlead.pipeline.routing.blocks import Sample, cut, latest_so_far, sample
from fairlead.pipeline.routing.by_place import by_place, timetable_of
from fairlead.pipeline.routing.class_counts import (
    Survey,
    placed,
    survey,
    survey_in_place,
)
from fairlead.pipeline.routing.journal import others, with_places
from fairlead.pipeline.routing.route import (
    States,
    decision_columns,
    in_blocks,
    needed,
    numbered,
    route,
)
from fairlead.pipeline.routing.since import BEGINNING, Since
from fairlead.pipeline.spark.executors import check_executors
from fairlead.pipeline.spark.session import compiled_methods
from fairlead.results.summary import Summary
from fairlead.rows import DECISION, JOURNAL
from fairlead.runs import run_folder
from fairlead.runs.options import DEFAULTS, Options
from fairlead.runs.paths import SUMMARY

log = logging.getLogger("fairlead")


@dataclass(frozen=True)
class PreparedTable:
    """A table that is ready to be routed, and what was learnt of it on the way."""

    plan: ClassifiedPlan
    columns: Sequence[str]
    """The messages' own."""
    rows: DataFrame
    """All rows, with GOOD, and with REASON where one is no message."""
    good: DataFrame
    """The messages, with their blocks, versions and classes."""
    survey: Survey
    states: States
    """The router's state at the start of each block."""
    kept: Sequence[DataFrame] = ()
    """What Spark keeps until `release`, so that it is made once."""
    after: Mapping[str, object] = field(default_factory=dict)
    """The router's state after the last block."""
    members: DataFrame | None = None
    """To whom groups are bound after the last block; None: no message can be bound."""

    def decisions(self) -> DataFrame:
        """The messages, in order, with destination, address, outcome and sequence."""
        routed = self._routed(in_blocks(self.good, self.survey.blocks))
        return decision_columns(routed, self.plan, self.columns)

    def _routed(self, ordered: DataFrame) -> DataFrame:
        """Rows in blocks, in order, with what is decided about each."""
        plan = self.plan
        if FREE not in ordered.columns:
            table = timetable_of(plan, self.survey.counts, self.survey.blocks, self.states[0])
            if table is not None:
                return by_place(ordered, plan, table, self.survey.counts, self.survey.blocks)
        return route(ordered, plan, self.states, self.survey.sizes)

    def journal(self) -> DataFrame:
        """The decisions as rows of a journal. Not for blocks that are in place."""
        plan = self.plan
        ordered = numbered(self.good, self.survey.blocks, self.survey.sizes)
        routed = self._routed(ordered)
        names = others(self.columns)
        placed = with_places(routed, [plan], [range(len(plan.classes))], F.lit(0), TIME)
        journalled = placed.withColumn("attempt", F.lit(1))
        rows = decision_columns(
            journalled, plan, [*names, *(name for name in JOURNAL if name not in DECISION)]
        )
        return rows.select(*map(quoted, names), *JOURNAL)

    def arrived(self, first: int) -> DataFrame:
        """The decisions with `arrival`, the number of each message in order, from `first` on."""
        plan = self.plan
        ordered = numbered(self.good, self.survey.blocks, self.survey.sizes)
        routed = self._routed(ordered)
        counted = routed.withColumn(ARRIVAL, F.col(NUMBER) + first)
        return decision_columns(counted, plan, [*self.columns, ARRIVAL])

    def rejected(self) -> DataFrame:
        """The rows that are no messages, each with its `reason`."""
        return rejected_rows(self.rows, self.columns)

    def release(self) -> None:
        """Let Spark forget what it keeps; what is read afterwards makes it anew."""
        for table in self.kept:
            table.unpersist()


def dispatch(
    messages: DataFrame,
    clusters: Cluster | Iterable[Cluster],
    changes: Change | Iterable[Change] = (),
    *,
    trust_ids: bool = False,
    journal: bool = False,
) -> DataFrame:
    """Decide where each message of a DataFrame goes: the rows that are messages, with decisions.

    `messages`: a row for each message, in any order; columns `id` and `time` (a timestamp, or a
    number of seconds), and any routing attributes; others are carried through. `trust_ids`: do not
    look for duplicates. `journal`: return rows of a journal (see `fairlead.route`); `messages` may
    be one, too: its messages are decided anew. For `df.transform(dispatch, clusters)`.

    Returns the rows with `destination`, `address`, `outcome` (strings) and `sequence` (bigint)
    added; a message that goes to several destinations is a row for each, by name. Rows that are no
    messages are left out, which a warning of the logger `fairlead` says; `rejected` returns those.
    Runs a few small jobs at once (to learn how many messages of each class there are); the routing
    itself is lazy. Where groups can change their destination, Spark keeps how they are bound as
    long as somebody has the DataFrame that is returned; without it this is found anew. Raises
    MessageError, ConfigError, ChangeError.
    """
    with reading(), compiled_methods(messages):
        ready = prepare(messages, clusters, changes, Options(trust_ids=trust_ids))
    if ready.survey.rejected:
        log.warning(left_out(ready.rows, "rejected(messages, clusters, ...) returns"))
    if not journal:
        return _released_with(ready.decisions(), ready)
    check_names(ready.columns, ready.plan.relevant_attributes)
    return _released_with(ready.journal(), ready)


def _released_with(frame: DataFrame, ready: PreparedTable) -> DataFrame:
    """The DataFrame; Spark keeps what it is made of no longer than somebody has it."""

    def release() -> None:
        with suppress(PySparkException, Py4JError, OSError):  # the session may be over
            ready.release()

    if ready.kept:
        finalize(frame, release).atexit = False
    return frame


def left_out(rows: DataFrame, way: str) -> str:
    """How many rows are no messages, and why.

    `rows`: with GOOD and REASON; `way`: how to see them.
    """
    reasons = counted_rejections(rejected_rows(rows, ()))
    counted = ", ".join(f"{reason}: {n:,}" for reason, n in reasons.items())
    return (
        f"{sum(reasons.values()):,} rows are no messages and are left out ({counted}); {way} them"
    )


def rejected(
    messages: DataFrame,
    clusters: Cluster | Iterable[Cluster],
    changes: Change | Iterable[Change] = (),
    *,
    trust_ids: bool = False,
) -> DataFrame:
    """The rows that `dispatch` leaves out, each with its `reason` (string); the same arguments.

    Looks for duplicate ids at once, unless `trust_ids`; the rest is lazy. Raises as `dispatch`.
    """
    plan = Plan(clusters_in(clusters), changes_in(changes))
    messages = messages_of(messages, [plan], "messages")
    columns = checked(messages, "messages")
    rows = validate(messages, plan)
    with reading(), compiled_methods(messages):
        return rejected_rows(rows if trust_ids else unique(rows)[0], columns)


def prepare(
    messages: DataFrame,
    clusters: Cluster | Iterable[Cluster],
    changes: Change | Iterable[Change] = (),
    options: Options = DEFAULTS,
    since: Since = BEGINNING,
) -> PreparedTable:
    """Learn what is needed to route a table. Runs several jobs.

    `since`: what came before it, where it is a part of a stream.
    """
    where, progress = options.where, options.progress
    plan = Plan(clusters_in(clusters), changes_in(changes))
    original, messages = messages, messages_of(messages, [plan], where)
    columns = checked(messages, where)
    check_columns(plan, columns, where)
    _check_keys(plan, messages, where)
    by_position = "position" in columns and needed(plan)[1]
    check_executors(messages.sparkSession, progress)
    rows = accepted = validate(messages, plan)
    if options.horizon is not None:
        rows = accepted = clocked(rows, since.clock, options.rows_a_block)
    most = None
    if not options.trust_ids:
        with progress("check ids"):
            rows, most = unique(rows, options.horizon, since.ids)
    small = most is not None and most <= options.rows_a_block
    caches = [rows.persist()] if options.keep and small else []
    good = rows.where(GOOD)
    with progress("cut into blocks"):
        # Joins, of duplicates or for bindings, times by position, and finding the messages of a
        # journal take the files' pieces apart.
        apart = rows is not accepted or messages is not original or plan.binds or by_position
        stays = options.as_in_files and not apart and since is BEGINNING
        few = Sample() if small and not stays else sample(good, most, in_files=stays)
    with progress("survey"):
        in_place = survey_in_place(rows, plan, options.rows_a_block) if few.apart else None
        blocks = in_place.blocks if in_place else cut(few, rows_a_block=options.rows_a_block)
        before = since.carried.latest
        timed, latest = rows, [before] * len(blocks)
        if by_position:
            timed, latest = latest_so_far(rows, blocks, first=before)
        tally = in_place or survey(placed(timed, blocks, plan, before), blocks, plan)
        if tally.rejected and not tally.accepted:
            refuse_other_units(rows, where)
        good = timed.where(GOOD)
        classified = tally.classified(placed(good, blocks, plan, before))
    ready = plan.classified(tally.classes)
    begun = begin(classified, ready, tally, columns, progress, since, options.horizon)
    *states, after = begun.states
    if by_position or before != EARLIEST:
        states = [{**state, "latest": at} for state, at in zip(states, latest, strict=True)]
    return PreparedTable(
        ready,
        columns,
        rows,
        begun.rows,
        tally,
        states,
        (*caches, *begun.kept),
        after,
        begun.members,
    )


def clocked(rows: DataFrame, since: int, rows_a_block: int) -> DataFrame:
    """The rows with AT, the latest time of a message up to each; `since`: before all of them."""
    if "position" not in rows.columns:
        return rows.withColumn(AT, F.greatest(F.lit(since), TIME))
    blocks = cut(sample(rows.where(GOOD), in_files=False), rows_a_block=rows_a_block)
    return latest_so_far(rows, blocks, AT, since)[0]


def _check_keys(plan: Plan, messages: DataFrame, where: str) -> None:
    for name in plan.keyed.values():
        kind = messages.schema[name].dataType
        if not isinstance(kind, StringType | IntegralType | BooleanType | NullType):
            raise MessageError(
                f"{where}: {name}: found {kind.simpleString()}, allowed: {SPELLED_ALIKE}"
            )


def run(
    spark: SparkSession,
    messages: DataFrame,
    clusters: Sequence[Cluster],
    changes: Sequence[Change],
    delivery: TablesDelivery,
    options: Options = DEFAULTS,
) -> Summary:
    """Dispatch a table into a delivery, which the caller finishes."""
    began = time.monotonic()
    file_format, progress = options.file_format, options.progress
    ready = prepare(messages, clusters, changes, options)
    plan = ready.plan
    with progress("route and write"):
        decisions = ready.decisions()
        delivery.write(decisions, "decisions", file_format)
        bad = ready.rejected()
        if not ready.survey.rejected:
            bad = bad.limit(0)
        delivery.write(bad, "rejected", file_format)
        ready.release()
    with progress("measure"):
        written = delivery.load(spark, "decisions", file_format, decisions.schema)
        reasons = delivery.load(spark, "rejected", file_format, bad.schema)
        if options.command is None:
            counts, facts = count(written, plan), None
        else:
            of_run = made(options.named, options.command, SPARK)
            counts, facts = count_for_report(written, plan, ready.survey, of_run)
        decided = counted_messages(written, plan, counts)
        rejections = counted_rejections(reasons) if ready.survey.rejected else {}
    total = ready.survey.accepted + ready.survey.rejected
    ended = outcomes(counts)
    check_nothing_lost(total, sum(decided.values()), sum(rejections.values()))
    summary = Summary(
        read=total,
        rejected=ready.survey.rejected,
        outcomes=ended,
        rows=sum(ended.values()),
        digest=digest(counts),
        phases=phases(plan, counts, decided),
        rejections=rejections,
        seconds=round(time.monotonic() - began, 3),
        blocks=len(ready.survey.blocks),
        facts=facts,
        unknown_clusters=unknown_clusters(counts, plan),
    )
    starts, states = ready.survey.blocks.starts, ready.states
    run_folder.write_manifest(delivery, plan, starts, states, file_format, options.version)
    delivery.write_json(SUMMARY, summary.to_dict())
    log.info("dispatched", extra={"read": total, "outcomes": ended})
    return summary
