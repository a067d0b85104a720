"""Dispatch: route a whole table of messages and deliver it. The whole flow stands in this file.

read → accept → unique → cut into blocks → survey → begin → route → deliver → measure
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegralType, NullType, StringType

from fairlead.balance.change import Change
from fairlead.balance.changes import changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.message import NO_DESTINATION, SPELLED_ALIKE
from fairlead.compiled.needed import check_columns
from fairlead.compiled.router import Plan
from fairlead.errors import MessageError
from fairlead.pipeline import keep
from fairlead.pipeline.accept import accept, refuse_other_units
from fairlead.pipeline.begin import Progress, begin
from fairlead.pipeline.blocks import ROWS_A_BLOCK, cut, latest_so_far, sample
from fairlead.pipeline.columns import REASON, quoted
from fairlead.pipeline.count import count, count_for_report
from fairlead.pipeline.count import messages as messages_of
from fairlead.pipeline.deliver import SUMMARY, Delivery
from fairlead.pipeline.executors import check_executors
from fairlead.pipeline.facts import made
from fairlead.pipeline.measure import Counted, check_nothing_lost, digest, outcomes, phases
from fairlead.pipeline.read import checked
from fairlead.pipeline.route import States, in_blocks, needed, route, spelled
from fairlead.pipeline.survey import (
    Survey,
    placed,
    survey,
    survey_in_place,
)
from fairlead.pipeline.unique import unique
from fairlead.summary import Summary

log = logging.getLogger("fairlead")

MOST_UNKNOWN = 20
"""Names of clusters that are told, of those that no file has."""


@dataclass
class Routed:
    """A table that is ready to be routed, and what was learnt of it on the way."""

    plan: Plan
    survey: Survey
    rows: DataFrame
    columns: list[str]
    states: States
    """The router's state at the start of each block."""

    @property
    def decisions(self) -> DataFrame:
        """The accepted rows, in order, with destination, address, outcome and sequence."""
        found = self.survey
        ordered = in_blocks(self.rows, found.blocks)
        routed = route(ordered, self.plan, self.states, found.sizes)
        return spelled(routed, self.plan, self.columns)


def _quiet(_: str) -> AbstractContextManager[object]:
    return nullcontext()


def dispatch(
    messages: DataFrame,
    clusters: Cluster | Iterable[Cluster],
    changes: Change | Iterable[Change] = (),
    *,
    trust_ids: bool = False,
) -> DataFrame:
    """Decide where each message of a DataFrame goes: the rows that are messages, with decisions.

    `messages`: a row for each message, in any order; columns `id` and `time` (a timestamp, or a
    number of seconds), and any routing attributes; others are carried through. `trust_ids`: do not
    look for duplicates. For `df.transform(dispatch, clusters)`.

    Returns the rows with `destination`, `address`, `outcome` (strings) and `sequence` (bigint)
    added; a message that goes to several destinations is a row for each, by name. Rows that are no
    messages are left out, which a warning of the logger `fairlead` says; `rejected` returns those.
    Runs a few small jobs at once (to learn how many messages of each class there are); the routing
    itself is lazy. Raises MessageError, ConfigError, ChangeError.
    """
    ready, rows = prepare(messages, clusters, changes, trust_ids=trust_ids, where="messages")
    if ready.survey.rejected:
        log.warning(left_out(rows, "rejected(messages, clusters, ...) returns"))
    return ready.decisions


def left_out(rows: DataFrame, way: str) -> str:
    """How many rows are no messages, and why. `rows`: with REASON; `way`: how to see them."""
    reasons = keep.rejections(
        rows.where(F.col(REASON).isNotNull()).select(F.col(REASON).alias("reason"))
    )
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
    columns = checked(messages, "messages")
    rows = accept(messages, plan)
    return _rejected(rows if trust_ids else unique(rows), columns)


def _rejected(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    own = [quoted(name) for name in columns]
    return rows.where(F.col(REASON).isNotNull()).select(*own, F.col(REASON).alias("reason"))


def prepare(
    messages: DataFrame,
    clusters: Cluster | Iterable[Cluster],
    changes: Change | Iterable[Change] = (),
    *,
    trust_ids: bool = False,
    where: str = "messages",
    rows_a_block: int = ROWS_A_BLOCK,
    as_in_files: bool = False,
    progress: Progress = _quiet,
) -> tuple[Routed, DataFrame]:
    """Learn what is needed to route a table; returns it and all rows with their REASON.

    `as_in_files`: the table comes straight from files, so rows lie together as they do there.
    """
    plan = Plan(clusters_in(clusters), changes_in(changes))
    columns = checked(messages, where)
    check_columns(plan, columns, where)
    _check_keys(plan, messages, where)
    by_position = "position" in columns and needed(plan)[1]
    check_executors(messages.sparkSession, progress)
    rows = accepted = accept(messages, plan)
    if not trust_ids:
        with progress("check ids"):
            rows = unique(rows)
    good = rows.where(F.col(REASON).isNull())
    with progress("cut into blocks"):
        # Joins, of duplicates or for bindings, and times by position take the files' pieces apart.
        stays = as_in_files and rows is accepted and not (plan.binds or by_position)
        few = sample(good, in_files=stays)
    with progress("survey"):
        in_place = survey_in_place(rows, plan, rows_a_block) if few.apart else None
        blocks = in_place.blocks if in_place else cut(few, rows_a_block=rows_a_block)
        timed, latest = latest_so_far(rows, blocks) if by_position else (rows, [])
        found = in_place or survey(placed(timed, blocks, plan), blocks, plan)
        if found.rejected and not found.accepted:
            refuse_other_units(rows, where)
        good = timed.where(F.col(REASON).isNull())
        classified = found.classified(placed(good, blocks, plan))
    classified, begun = begin(classified, plan, found, columns, progress)
    if by_position:
        begun = [{**state, "latest": at} for state, at in zip(begun, latest, strict=True)]
    return Routed(plan, found, classified, columns, begun), rows


def unknown_clusters(counts: Iterable[Counted], plan: Plan) -> dict[str, int]:
    """Messages by the name of a cluster that is in no file, where they are most; "" is no name."""
    known = {cluster.name for cluster in plan.clusters}
    found = Counter[str]()
    for each in counts:
        if each.cluster not in known and each.outcome == NO_DESTINATION:
            found[each.cluster] += each.messages
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0]))[:MOST_UNKNOWN])


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
    delivery: Delivery,
    *,
    where: str,
    file_format: str = "parquet",
    trust_ids: bool = False,
    rows_a_block: int = ROWS_A_BLOCK,
    as_in_files: bool = False,
    command: str | None = None,
    progress: Progress = _quiet,
) -> Summary:
    """Dispatch a table into a delivery, which the caller finishes.

    `command`: what a report is to show as the way to this run; None: no facts for a report.
    """
    began = time.monotonic()
    ready, rows = prepare(
        messages,
        clusters,
        changes,
        trust_ids=trust_ids,
        where=where,
        rows_a_block=rows_a_block,
        as_in_files=as_in_files,
        progress=progress,
    )
    plan = ready.plan
    with progress("route and write"):
        decisions = ready.decisions
        delivery.write(decisions, "decisions", file_format)
        bad = _rejected(rows, ready.columns)
        if not ready.survey.rejected:
            bad = bad.limit(0)
        delivery.write(bad, "rejected", file_format)
    with progress("measure"):
        written = keep.load(spark, delivery.path("decisions"), file_format, decisions.schema)
        reasons = keep.load(spark, delivery.path("rejected"), file_format, bad.schema)
        if command is None:
            counts, facts = count(written, plan), None
        else:
            told = made(where, command)
            counts, facts = count_for_report(written, plan, ready.survey, told)
        decided = messages_of(written, plan, counts)
        rejections = keep.rejections(reasons) if ready.survey.rejected else {}
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
    keep.journal(delivery, ready, file_format)
    delivery.write_json(SUMMARY, summary.as_plain())
    log.info("dispatched", extra={"read": total, "outcomes": ended})
    return summary
