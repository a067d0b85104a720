"""Replay in memory: the same folder as on Spark. The whole flow stands in this file.

read → validate → unique → tenants → order → simulate → write → measure
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from fairlead.compiled.bindings import Bindings
from fairlead.compiled.classes import bindings, classified, keys
from fairlead.compiled.columns import coded as coded_of
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.measure.bins import over
from fairlead.measure.facts import changes, made
from fairlead.measure.scenarios import last_finishes, scenario
from fairlead.measure.tally import check_nothing_lost
from fairlead.measure.waits import ALL, KINDS, PHASE, in_order, phase_times
from fairlead.measure.workers import workers_of
from fairlead.memory import numbers
from fairlead.memory.accepted import (
    Accepted,
    accepted,
    one_tenant,
    rejected,
    rejections,
    unique,
)
from fairlead.memory.attempts import (
    Tried,
    ends_of,
    groups_of,
    late_of,
    longest_of,
    queue_of,
    tried,
    waits_of,
)
from fairlead.memory.dispatch import Options, check_keys, narrow
from fairlead.memory.files import Found
from fairlead.memory.journal import messages_of
from fairlead.memory.validate import column, refuse_other_units, validate
from fairlead.memory.write import write
from fairlead.pipeline.constants import ALL_ROWS, LATE_ROWS
from fairlead.pipeline.intake.names import check_replayed
from fairlead.pipeline.output.scenario_folders import REJECTED, folder_names
from fairlead.replay.batch import Attempts, Batch
from fairlead.replay.layout import NONE
from fairlead.replay.replays import Replays
from fairlead.replay.table import grouped, has_control, traits_of
from fairlead.results.comparison import Comparison, Scenario

log = logging.getLogger("fairlead")


@dataclass(frozen=True)
class Prepared:
    """Messages that are ready to be replayed, as often as one likes."""

    messages: Accepted
    read: pa.Table
    """What decisions read of them, as texts."""
    dated: bool
    """Whether times are dates, not plain seconds."""


def prepared(messages: Accepted, plans: Sequence[Plan]) -> Prepared:
    """Learn what is the same in all scenarios."""
    time = column(messages.table, "time")
    dated = not numbers.is_number(time.type)
    if dated and numbers.is_text(time.type):
        dated = bool(numbers.are_timestamps(time))
    return Prepared(messages, narrow(messages.table, plans), dated)


def batch_of(
    ready: Prepared, codes: Int32s, numbered: Int64s | None, bound: Bindings | None
) -> tuple[Batch, int, list[str]]:
    """The messages as columns of numbers; how many groups there are, and the tenants' names.

    `codes`: of their classes; `numbered`: their keys; `bound`: by what they are bound.
    """
    messages, read = ready.messages, ready.read
    groups, group = grouped(read)
    tenant, tenants = coded_of(read, "tenant")
    nothing = np.zeros(len(codes), np.int64)
    batch = Batch(
        codes,
        messages.times,
        messages.services,
        np.arange(len(messages.times)),
        nothing,
        nothing if numbered is None else numbered,
        group,
        _whole(messages.table, "priority", NONE),
        tenant if len(tenants) > 1 else None,
        _whole(messages.table, "cost", 1),
        _whole(messages.table, "rollbacks", 0),
        bound,
    )
    return batch, groups, tenants


def simulated(ready: Prepared, plan: Plan) -> tuple[ClassifiedPlan, Attempts]:
    """What becomes of the messages in one scenario."""
    read = ready.read
    known, codes = classified(read, plan)
    batch, groups, tenants = batch_of(
        ready, codes, keys(read, known, codes), bindings(read, known, codes)
    )
    replays = Replays(known, traits_of(batch, raises=has_control(read)))
    replays.feed(batch, groups, tenants)
    replays.finish()
    return known, Attempts.together([replays.done(), replays.left()])


def _whole(table: pa.Table, name: str, missing: int) -> Int64s | None:
    if name not in table.column_names:
        return None
    found = numbers.integral(column(table, name))
    return np.where(found.known, found.values, missing)


def run(
    found: Found,
    plans: Mapping[str, Plan],
    making: Path,
    options: Options,
    *,
    differs: Mapping[str, Sequence[str]] | None = None,
) -> Comparison:
    """Replay a table into a folder in the making: a folder for each scenario.

    `plans`: by the scenario's name; `differs`: what was set for it, in words. The caller writes
    what is returned. Raises MessageError, OSError.
    """
    began = time.monotonic()
    progress, every = options.progress, list(plans.values())
    found = messages_of(found, every, options.where)
    check_replayed(found.table.column_names, options.where, every)
    for plan in every:
        check_keys(plan, found.table, options.where)
    rows = validate(found, *every, worked=True)
    with progress("check ids"):
        unique(rows)
    with progress("check tenants"):
        one_tenant(rows, every)
    if rows.reasons and not rows.good.any():
        refuse_other_units(rows, options.where)
    messages = accepted(rows)
    ready = prepared(messages, every)
    folders = folder_names(plans)
    scenarios: list[Tried] = []
    with progress("replay and write"):
        for folder, plan in zip(folders, every, strict=True):
            known, attempts = simulated(ready, plan)
            scenarios.append(tried(messages, known, attempts, dated=ready.dated))
            if options.rows == ALL_ROWS:
                write(scenarios[-1].table, making / folder / "decisions", options.file_format)
        write(rejected(rows), making / REJECTED, options.file_format)
    with progress("measure"):
        measured = compared(list(plans), scenarios, messages.period)
    if options.rows == LATE_ROWS:
        for folder, each, one in zip(folders, measured, scenarios, strict=True):
            late = late_of(one, each.waits.p99)
            write(late, making / folder / "decisions", options.file_format)
    for each, one in zip(measured, scenarios, strict=True):
        if not one.plan.fans_out:
            check_nothing_lost(len(messages.times), each.messages, 0)
    result = Comparison(
        read=len(rows.good),
        rejected=len(rows.reasons),
        rejections=rejections(rows),
        scenarios=[
            replace(
                each,
                folder=folder,
                changes=changes(plan.changes),
                differs=list((differs or {}).get(each.name, ())),
            )
            for each, folder, plan in zip(measured, folders, every, strict=True)
        ],
        seconds=round(time.monotonic() - began, 3),
        made=None if options.command is None else made(options.where, options.command),
    )
    log.info("replayed", extra={"read": result.read, "scenarios": list(plans)})
    return result


def compared(
    names: Sequence[str], scenarios: Sequence[Tried], period: tuple[int, int] | None
) -> list[Scenario]:
    """What became of the messages, scenario by scenario."""
    first, latest = period or (0, 0)
    ends = {k: ends_of(each) for k, each in enumerate(scenarios) if len(each.table)}
    lasts = last_finishes(ends, latest)
    bins = over(first, max([latest, *lasts.values()])) if ends else None
    found = []
    for k, (name, each) in enumerate(zip(names, scenarios, strict=True)):
        waits = waits_of(each)
        own = ends.get(k, [])
        found.append(
            scenario(
                name,
                own,
                {
                    **{kind: waits.get(kind, []) for kind in (ALL, *KINDS)},
                    PHASE: in_order(waits.get(PHASE, ()), phase_times(each.plan)),
                },
                workers_of(each.plan, own, first, lasts.get(k, first)),
                queue_of(each, bins) if bins is not None and own else None,
                groups_of(each),
                longest_of(each),
            )
        )
    return found
