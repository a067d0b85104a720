"""Dispatch in memory: the same folder as on Spark. The whole flow stands in this file.

read → validate → unique → order → route → write → measure
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.compiled.classes import bindings, classified, keys
from fairlead.compiled.intake.accepted import Accepted, accepted, rejected, rejections, unique
from fairlead.compiled.intake.columns import column, text
from fairlead.compiled.intake.rows import CheckedTable, check_keys, refuse_other_units, validate
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import check_columns
from fairlead.compiled.router import Router
from fairlead.compiled.table import with_decisions
from fairlead.measure.facts import made
from fairlead.measure.tally import (
    check_nothing_lost,
    digest,
    outcomes,
    phases,
    unknown_clusters,
)
from fairlead.memory.counts import Decided, DecisionCounts
from fairlead.memory.journal import messages_of
from fairlead.memory.write import write
from fairlead.results.comparison import Window
from fairlead.results.summary import Summary
from fairlead.runs.constants import ALL_ROWS
from fairlead.runs.names import check_names
from fairlead.runs.progress import Progress, quiet
from fairlead.runs.run_folder import manifest

log = logging.getLogger("fairlead")

ALSO_READ = ("cluster", "type", "group", "producer", "bind", "tenant")
"""What tells messages apart, or binds them, beside what policies read."""


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """Options of a run in memory."""

    where: str = "messages"
    """What errors call the table: its path."""
    file_format: str = "parquet"
    """Of the results."""
    trust_ids: bool = False
    """Do not look for duplicate ids (dispatch)."""
    rows: str = ALL_ROWS
    """Which rows of a replay's decisions are written: all, late, none."""
    windows: Sequence[Window] = ()
    """Times of which the waits of a replay are told by themselves."""
    command: str | None = None
    """What a report shows as the way to this run; None: nobody wants a report."""
    progress: Progress = quiet


@dataclass(frozen=True)
class Result:
    """What a dispatch gives, before the summary is written."""

    summary: Summary
    manifest: dict[str, object]


def run(
    checked: CheckedTable,
    clusters: Sequence[Cluster],
    changes: Sequence[Change],
    making: Path,
    options: MemoryOptions,
) -> Result:
    """Dispatch a table into a folder in the making; the caller writes what is returned.

    Raises MessageError, ConfigError, ChangeError, OSError.
    """
    began = time.monotonic()
    progress = options.progress
    plan = Plan(clusters, changes)
    checked = messages_of(checked, [plan], options.where)
    names = checked.table.column_names
    check_names(names, options.where)
    check_columns(plan, names, options.where)
    check_keys(plan, checked.table, options.where)
    rows = validate(checked, plan)
    if not options.trust_ids:
        with progress("check ids"):
            unique(rows)
    if rows.reasons and not rows.good.any():
        refuse_other_units(rows, options.where)
    with progress("route"):
        messages = accepted(rows)
        decided, start = route(messages, plan)
    with progress("write"):
        write(decided.table, making / "decisions", options.file_format)
        write(rejected(rows), making / "rejected", options.file_format)
    with progress("measure"):
        counts = DecisionCounts(decided, _ids(messages, decided))
        by_version = counts.messages()
        facts = None
        if options.command is not None:
            facts = counts.facts(made(options.where, options.command), messages.period)
    ended = outcomes(counts.counted)
    check_nothing_lost(len(rows.good), sum(by_version.values()), len(rows.reasons))
    summary = Summary(
        read=len(rows.good),
        rejected=len(rows.reasons),
        outcomes=ended,
        rows=sum(ended.values()),
        digest=digest(counts.counted),
        phases=phases(decided.plan, counts.counted, by_version),
        rejections=rejections(rows),
        unknown_clusters=unknown_clusters(counts.counted, decided.plan),
        seconds=round(time.monotonic() - began, 3),
        facts=facts,
    )
    log.info("dispatched", extra={"read": summary.read, "outcomes": ended})
    return Result(summary, manifest(decided.plan, [], [start], options.file_format))


def narrow(table: pa.Table, plans: Sequence[Plan]) -> pa.Table:
    """What decisions read of the messages, as texts."""
    read = dict.fromkeys(ALSO_READ)
    for plan in plans:
        read |= dict.fromkeys((*plan.reads, *plan.keyed.values()))
    texts = {name: text(table, name) for name in read if name in table.column_names}
    # A table of no columns would have no rows.
    return pa.table({"id": column(table, "id"), **texts})


def route(messages: Accepted, plan: Plan) -> tuple[Decided, dict[str, object]]:
    """The decisions, and the router's state before them."""
    read = narrow(messages.table, [plan])
    known, codes = classified(read, plan)
    router = Router(known)
    start = router.dump()
    timed = any(plan.timed.values())
    decided = router.feed(
        codes,
        messages.times if plan.times or timed else None,
        messages.services if timed else None,
        bindings(read, known, codes),
        keys(read, known, codes),
    )
    sequence = router.sequence(codes)
    table, rows = with_decisions(
        messages.table, router.codes, decided, sequence, fans_out=known.fans_out
    )
    return Decided(table, known, codes, messages.times, rows), start


def _ids(messages: Accepted, decided: Decided) -> pa.Array:
    """By the row of decisions."""
    return messages.ids.take(pa.array(decided.message))
