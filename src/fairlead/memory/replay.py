"""Replay in memory: the same folder as on Spark. The whole flow stands in this file.

read → validate → unique → tenants → order → simulate and measure → write
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fairlead.balance.times import MICROS
from fairlead.compiled.intake.accepted import (
    Accepted,
    accepted,
    one_tenant,
    rejected,
    rejections,
    unique,
)
from fairlead.compiled.intake.columns import text
from fairlead.compiled.intake.rows import (
    CheckedTable,
    ValidatedRows,
    check_keys,
    refuse_other_units,
    validate,
)
from fairlead.compiled.plan import Plan
from fairlead.measure.facts import changes, made
from fairlead.measure.measured import Farthest
from fairlead.measure.meter import What
from fairlead.measure.scenarios import Replayed, compared
from fairlead.measure.tally import check_nothing_lost
from fairlead.memory.attempts import attempt_rows, late_of
from fairlead.memory.dispatch import MemoryOptions
from fairlead.memory.journal import messages_of
from fairlead.memory.prepared import PreparedMessages, measured, prepared
from fairlead.memory.processes import at_once, processes
from fairlead.memory.scale import scale_rate
from fairlead.memory.write import write
from fairlead.replay.scale import Scale, by_scale
from fairlead.results.comparison import Comparison, Longest, ScenarioResult
from fairlead.runs.constants import LATE_ROWS, NO_ROWS
from fairlead.runs.names import check_replayed
from fairlead.runs.options import in_full
from fairlead.runs.progress import Tell
from fairlead.runs.read_rows import DECISIONS
from fairlead.runs.scenario_folders import REJECTED, folder_names

log = logging.getLogger("fairlead")


def run(
    checked: CheckedTable,
    plans: Mapping[str, Plan],
    making: Path,
    options: MemoryOptions,
    *,
    scaled: Mapping[str, Scale] | None = None,
    differs: Mapping[str, Sequence[str]] | None = None,
) -> Comparison:
    """Replay a table into a folder in the making: a folder for each scenario.

    `plans`: by the scenario's name; `scaled`: those that have more or less traffic than was
    recorded; `differs`: what was set for each, in words. The caller writes what is returned.
    Raises MessageError, OSError.
    """
    began = time.monotonic()
    every = list(plans.values())
    checked = messages_of(checked, every, options.where)
    check_replayed(checked.table.column_names, options.where, every)
    for plan in every:
        check_keys(plan, checked.table, options.where)
    folders = dict(zip(plans, folder_names(plans), strict=True))
    scenarios: dict[str, ScenarioResult] = {}
    recorded: ValidatedRows | None = None
    for scale, its_plans in by_scale(plans, scaled or {}):
        rows = _read(scale_rate(checked, scale), list(its_plans.values()), options)
        places = {name: making / folders[name] for name in its_plans}
        for scenario in _replayed_alike(rows, its_plans, places, options):
            scenarios[scenario.name] = scenario
        if recorded is None:
            recorded = rows
            write(rejected(rows), making / REJECTED, options.file_format)
    result = Comparison(
        read=len(recorded.good) if recorded else 0,
        rejected=len(recorded.reasons) if recorded else 0,
        rejections=rejections(recorded) if recorded else {},
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
        made=None if options.command is None else made(options.where, options.command),
    )
    log.info("replayed", extra={"read": result.read, "scenarios": list(plans)})
    return result


def _read(table: CheckedTable, plans: Sequence[Plan], options: MemoryOptions) -> ValidatedRows:
    """The rows, and which of them are messages. Raises MessageError where none is."""
    rows = validate(table, *plans, worked=True)
    with options.progress("check ids"):
        unique(rows)
    with options.progress("check tenants"):
        one_tenant(rows, plans)
    if rows.reasons and not rows.good.any():
        refuse_other_units(rows, options.where)
    return rows


def _replayed_alike(
    rows: ValidatedRows,
    plans: Mapping[str, Plan],
    places: Mapping[str, Path],
    options: MemoryOptions,
) -> list[ScenarioResult]:
    """The scenarios that get the same traffic. `places`: by the scenario's name its folder."""
    messages = accepted(rows)
    ready = prepared(messages, list(plans.values()))
    question = ready.what(options.windows, in_full=in_full(options.rows, options.command))
    with options.progress("replay") as tell:
        output = WrittenRows(options.rows, options.file_format)
        tasks = [(name, plan, question, places[name], output) for name, plan in plans.items()]
        every = _each(ready, tasks, tell)
    scenarios = compared(every, messages.period, question)
    for scenario, plan in zip(scenarios, plans.values(), strict=True):
        if not plan.fans_out:
            check_nothing_lost(len(messages.times), scenario.messages, 0)
    return scenarios


class WrittenRows(NamedTuple):
    """Which rows are written: all, late, none; and in which format."""

    rows: str
    file_format: str


Given = tuple[str, Plan, What, Path, WrittenRows]
"""A scenario's name and plan, what is measured, its folder, and which rows are kept."""


def _each(ready: PreparedMessages, given: Sequence[Given], tell: Tell) -> list[Replayed]:
    """All scenarios, in several processes if that pays."""
    number = at_once(len(ready.messages.times), len(given))
    replays: list[Replayed] = []
    if number == 1:
        for task in given:
            replays.append(_replayed(ready, *task))
            tell(len(replays), len(given))
        return replays
    with processes(ready, number) as others:
        for future in [others.submit(_replayed, *task) for task in given]:
            replays.append(future.result())
            tell(len(replays), len(given))
    return replays


def _replayed(
    ready: PreparedMessages, name: str, plan: Plan, what: What, folder: Path, kept: WrittenRows
) -> Replayed:
    """One scenario; what is to be kept of its rows is written."""
    known, measures, attempts = measured(ready, plan, what, keep=kept.rows != NO_ROWS)
    messages = ready.messages
    if kept.rows == LATE_ROWS:
        limit = measures.waits.p99 if measures.waits else 0.0
        attempts = late_of(messages, attempts, limit)
    if kept.rows != NO_ROWS:
        table = attempt_rows(messages, known, attempts, dated=ready.dated)
        write(table, folder / DECISIONS, kept.file_format)
    return Replayed(name, known, measures, _longest(messages, measures.longest))


def _longest(messages: Accepted, farthest: Farthest | None) -> Longest | None:
    """The message that waited longest, by its id and its group."""
    if farthest is None:
        return None
    group = text(messages.table.slice(farthest.message, 1), "group")[0].as_py()
    name = messages.ids[farthest.message].as_py()
    return Longest(name, group, farthest.destination, farthest.wait / MICROS)
