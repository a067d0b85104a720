"""The command `replay`: read what was said, run, print the scenarios side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fairlead import report
from fairlead.balance.change import Change
from fairlead.balance.objects import listed, shown
from fairlead.balance.words.effective_policy import idle_readers
from fairlead.cli.dispatch import (
    changes_anywhere,
    changes_from,
    changes_here,
    files_here,
    own_changes,
    refuse_elsewhere,
)
from fairlead.cli.fail_if import FAILED, FailCondition, gate
from fairlead.cli.options import EngineName
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.show import console, filled, print_table, printable
from fairlead.cli.spark import started
from fairlead.cli.table import MessagesTable
from fairlead.cli.window_option import windows_of
from fairlead.config.clusters import load_clusters
from fairlead.config.differences import more_traffic
from fairlead.config.scenario_file import MAX_RATE, RATE_DECIMALS, RATES, number
from fairlead.config.scenarios import load_scenarios
from fairlead.errors import UserError
from fairlead.rows import ATTEMPT
from fairlead.runs.paths import inside, is_elsewhere
from fairlead.text import length, moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from fairlead.compiled.plan import Plan
    from fairlead.pipeline.output.tables_delivery import TablesDelivery
    from fairlead.results.comparison import Comparison, ScenarioResult, Waits, Window
    from fairlead.runs.delivery import ResultsDelivery

TIMED: Final = ("mean_wait", "p50_wait", "p90_wait", "p99_wait", "max_wait")
WORST: Final = "worst_"
"""Before one of TIMED: in the phase between two changes in which it is longest."""
WHOLE_OF: Final = {
    "waiting": "messages",
    "redeliveries": "messages",
    "groups_out_of_order": "groups",
}
LONGEST: Final = tuple(WORST + name for name in TIMED)
PART_OF: Final[dict[str, str | None]] = {**dict.fromkeys((*TIMED, *LONGEST)), **WHOLE_OF}
MAX_SHOWN: Final = 12
BEGINNING: Final = "from the beginning"


def run_replay(
    table: MessagesTable,
    clusters: Sequence[Path],
    out: str,
    *,
    changes: str | None,
    file_format: str,
    scenario_file: Path | None,
    scale: str,
    seed: int | None,
    fail_if: Sequence[str],
    window: Sequence[str],
    rows: str,
    overwrite: bool,
    engine: EngineName,
    master: str | None,
    command: str | None,
) -> int:
    """Everything that can be refused is refused before an engine is started; returns the status.

    `command`: the line that a report shows as the way to this run; None: no report.
    """
    windows = windows_of(window)
    asked_windows = [span.name for span in windows]
    gates = [
        gate(
            text,
            PART_OF,
            timed=(*TIMED, *LONGEST),
            windowed=TIMED,
            windows=asked_windows,
        )
        for text in fail_if
    ]
    rate = rate_of(scale, seed)
    changes = own_changes(table, changes)
    if engine is EngineName.memory:
        refuse_elsewhere(changes, "--engine memory")
    request = scenarios(clusters, changes_here(changes), scenario_file, *rate)

    def again(spark: SparkSession) -> ReplayRequest:
        return scenarios(clusters, changes_anywhere(spark, changes, ()), scenario_file, *rate)

    later = changes is not None and is_elsewhere(changes)
    if command is not None:
        report.check_installed()
    comparison = replay_into(
        out,
        table,
        request,
        again if later else lambda _: request,
        also_read=[*clusters, *files_here(changes), *([scenario_file] if scenario_file else [])],
        file_format=file_format,
        windows=windows,
        rows=rows,
        overwrite=overwrite,
        engine=engine,
        master=master,
        command=command,
    )
    acted()
    print_comparison(console(), comparison, out)
    for line in _idle(request):
        console().print(f"note: {line}", markup=False)
    table.refuse_nothing(comparison.read, comparison.rejected, out)
    return judged(comparison, gates)


def replay_into(
    out: str,
    table: MessagesTable,
    request: ReplayRequest,
    asked_of: Callable[[SparkSession], ReplayRequest],
    *,
    also_read: Sequence[Path],
    file_format: str,
    windows: Sequence[Window],
    rows: str,
    overwrite: bool,
    engine: EngineName,
    master: str | None,
    command: str | None,
) -> Comparison:
    """Replay scenarios, and write what came of them.

    `asked_of`: the request, where Spark reads a part of it. `also_read`: files that nothing may be
    written over. Raises UserError.
    """
    from fairlead.pipeline.output.choose_target import delivery_to
    from fairlead.runs.constants import RESERVED
    from fairlead.runs.names import check_replayed

    table.refuse(
        (*RESERVED, *ATTEMPT),
        lambda names: check_replayed(names, table.called, request.plans.values()),
    )
    place = delivery_to(out, overwrite=overwrite, read=table.where, also_read=also_read)
    with place as delivery, Stages(8) as stages:
        if engine is EngineName.memory:
            from fairlead.cli.memory import replay_in_memory

            comparison = replay_in_memory(
                table,
                request.plans,
                request.differs,
                delivery,
                file_format,
                stages,
                rows=rows,
                windows=windows,
                scaled=request.scaled,
                command=command,
            )
        else:
            comparison = _on_spark(
                table,
                asked_of,
                delivery,
                file_format,
                stages,
                rows=rows,
                windows=windows,
                master=master,
                command=command,
            )
        if command is not None:
            write_page(comparison, delivery, stages)
        delivery.finish()
    if engine is EngineName.spark:
        table.suggest_memory(comparison.read, comparison.rejected, stages.console)
    return comparison


def _on_spark(
    table: MessagesTable,
    asked_of: Callable[[SparkSession], ReplayRequest],
    delivery: TablesDelivery,
    file_format: str,
    stages: Stages,
    *,
    rows: str,
    windows: Sequence[Window],
    master: str | None,
    command: str | None,
) -> Comparison:
    from fairlead.pipeline import replay as pipeline
    from fairlead.pipeline.intake.read import reading
    from fairlead.replay.scale import Scale
    from fairlead.runs.options import Options

    with reading():
        spark = started(master, stages, small=table.is_small, page=command is not None)
        delivery.begin(spark)
        request = asked_of(spark)
        table = table.at_one_version(spark)
        return pipeline.run(
            spark,
            table.read(spark),
            request.plans,
            delivery,
            Options(
                where=table.called,
                version=table.version,
                file_format=file_format,
                rows=rows,
                windows=windows,
                command=command,
                progress=stages,
            ),
            scaled={name: Scale(*scale) for name, scale in request.scaled.items()},
            differs=request.differs,
        )


def write_page(comparison: Comparison, delivery: ResultsDelivery, stages: Stages) -> None:
    """Put the page beside the results."""
    with stages("report"):
        delivery.write_text(report.NAME, report.render_comparison(comparison.to_dict()))


def rate_of(scale: str, seed: int | None) -> tuple[Decimal, int]:
    """What `--scale-rate` and `--seed` say, checked: the rate and the seed."""
    try:
        rate = Decimal(scale)
    except InvalidOperation:
        rate = Decimal(0)
    if number(rate, RATE_DECIMALS) is None or not 0 < rate <= MAX_RATE:
        raise UserError(f"--scale-rate: found {shown(scale)}, allowed: {RATES}")
    if seed is not None and rate == 1:
        raise UserError("--seed: without --scale-rate it would have no effect")
    return rate, seed or 0


class ReplayRequest(NamedTuple):
    """The scenarios that were asked for."""

    plans: dict[str, Plan]
    scaled: dict[str, tuple[Decimal, int]]
    """Those with more or less traffic than was recorded: how much, and the seed."""
    differs: dict[str, list[str]]
    """What was set for each, in words."""


def scenarios(
    clusters: Sequence[Path],
    happened: Sequence[Change],
    file: Path | None,
    rate: Decimal,
    seed: int,
) -> ReplayRequest:
    """One for each cluster file, called as the file is; or those of a scenario file.

    `happened`: the changes.
    """
    from fairlead.compiled.plan import Plan

    request = ReplayRequest({}, {}, {})
    if file is not None:
        if len(clusters) > 1:
            raise UserError(
                f"--scenarios {file}: found {len(clusters)} --cluster, allowed: one; a scenario "
                "file says how the scenarios differ from it"
            )
        (path,) = clusters
        for scenario in load_scenarios(
            file, load_clusters(path), happened, read_changes=changes_from
        ):
            request.plans[scenario.name] = Plan(scenario.clusters, scenario.changes)
            request.differs[scenario.name] = [*scenario.differs]
            if scenario.scale_rate != 1:
                request.scaled[scenario.name] = (scenario.scale_rate, scenario.seed)
    else:
        for path in clusters:
            if path.stem in request.plans:
                raise UserError(
                    f"--cluster {path}: found a second file called {path.stem}, allowed: one"
                )
            request.plans[path.stem] = Plan(load_clusters(path), happened)
            request.differs[path.stem] = [f"cluster file {path}"] if len(clusters) > 1 else []
    if rate != 1:
        for name in [name for name in request.plans if name not in request.scaled]:
            request.scaled[name] = (rate, seed)
            request.differs[name] += more_traffic(rate, seed)
    return request


def _idle(request: ReplayRequest) -> list[str]:
    """The readers that never get work, in which scenarios."""
    lines: dict[str, list[str]] = {}
    for name, plan in request.plans.items():
        for line in (line for cluster in plan.clusters for line in idle_readers(cluster)):
            lines.setdefault(line, []).append(printable(name))
    return [f"{line} (in {listed(names, MAX_SHOWN)})" for line, names in lines.items()]


def print_comparison(to: Console, comparison: Comparison, out: str) -> None:
    """Each scenario, then all side by side, and where the results are.

    What is looked at first comes last: on a terminal the rest has scrolled away.
    """
    for scenario in comparison.scenarios[:MAX_SHOWN]:
        _print_kind(to, scenario, "destination", scenario.by_destination)
        if len(scenario.by_priority) > 1:
            _print_kind(to, scenario, "priority", scenario.by_priority)
        if len(scenario.by_tenant) > 1:
            _print_kind(to, scenario, "tenant", scenario.by_tenant)
        if len(scenario.by_phase) > 1:
            _print_kind(to, scenario, "phase", [_named(phase) for phase in scenario.by_phase])
        _print_kind(to, scenario, "window", scenario.by_window)
    if len(comparison.scenarios) > MAX_SHOWN:
        to.print(f"… {len(comparison.scenarios) - MAX_SHOWN} more scenarios in comparison.json")
    for reason, n in comparison.rejections.items():
        to.print(f"rejected, {reason}: {n:,}", markup=False)
    print_table(to, filled([_row(scenario) for scenario in comparison.scenarios], right=NUMBERS))
    replayed = comparison.read - comparison.rejected
    to.print(
        f"in {comparison.read:,} = replayed {replayed:,} + rejected {comparison.rejected:,}",
        markup=False,
    )
    to.print(f"results: {out}", markup=False)
    if comparison.made is not None:
        to.print(f"report: {inside(out, report.NAME)}", markup=False)


NUMBERS: Final = (
    *("messages", "mean wait", "p50", "p90", "p99", "max", "busy", "not started", "redelivered"),
    "groups out of order",
)


def _row(result: ScenarioResult) -> dict[str, str]:
    used = result.utilisation
    return {
        "scenario": printable(result.name),
        "messages": f"{result.messages:,}",
        **_waits(result.waits),
        "busy": "" if used is None else f"{used:.1%}",
        "not started": f"{result.waiting:,}" if result.waiting else "",
        "redelivered": f"{result.redeliveries:,}" if result.redeliveries else "",
        "groups out of order": f"{result.groups_out_of_order:,}" if result.groups else "",
    }


def _named(phase: Waits) -> Waits:
    """A phase called by when it begins, as people read times."""
    return replace(phase, name=f"since {moment(int(phase.name))}" if phase.name else BEGINNING)


def _waits(waits: Waits) -> dict[str, str]:
    if not waits.messages:
        return dict.fromkeys(("mean wait", "p50", "p90", "p99", "max"), "")
    return {
        "mean wait": length(waits.mean),
        "p50": length(waits.p50),
        "p90": length(waits.p90),
        "p99": length(waits.p99),
        "max": length(waits.max),
    }


def _print_kind(to: Console, scenario: ScenarioResult, kind: str, waits: Sequence[Waits]) -> None:
    if not waits:
        return
    used = {worker.destination: worker.utilisation for worker in scenario.workers}
    rows = []
    for measure in waits[:MAX_SHOWN]:
        part = used.get(measure.name) if kind == "destination" else None
        rows.append(
            {
                kind: printable(measure.name) or "(none)",
                "messages": f"{measure.messages:,}",
                **_waits(measure),
                "busy": "" if part is None else f"{part:.1%}",
            }
        )
    to.print(f"{scenario.name}, by {kind}:", markup=False)
    print_table(to, filled(rows, right=NUMBERS))
    if len(waits) > MAX_SHOWN:
        to.print(f"… {len(waits) - MAX_SHOWN} more in comparison.json")


def _worst(scenario: ScenarioResult, gate: FailCondition) -> tuple[float, str]:
    """The longest of a kind of wait in any phase, and in which. Raises UserError."""
    phases = [phase for phase in scenario.by_phase if phase.messages]
    if not phases:
        raise UserError(
            f"--fail-if: {gate.text}: found no phase in {scenario.name!r}, allowed: a replay with "
            "changes"
        )
    measure = gate.name.removeprefix(WORST).removesuffix("_wait")
    worst = max(phases, key=lambda phase: getattr(phase, measure))
    return getattr(worst, measure), _named(worst).name


def _inside(scenario: ScenarioResult, gate: FailCondition) -> float:
    """A kind of wait in a window. Raises UserError where there is none."""
    (waits,) = (measure for measure in scenario.by_window if measure.name == gate.window)
    if not waits.messages:
        raise UserError(
            f"--fail-if: {gate.text}: found no message in {gate.window!r} that started in "
            f"{scenario.name!r}, allowed: a window with some"
        )
    value: float = getattr(waits, gate.name.removesuffix("_wait"))
    return value


def judged(comparison: Comparison, gates: Sequence[FailCondition]) -> int:
    """The status; a condition that has nothing to look at is refused, for it could never hold."""
    status = 0
    for condition in gates:
        for scenario in comparison.scenarios:
            if condition.name in LONGEST:
                value, at = _worst(scenario, condition)
                measured, of = f"{length(value)} {at}", 0
            elif condition.window is not None:
                value = _inside(scenario, condition)
                measured, of = f"{length(value)} in {condition.window}", 0
            elif condition.name in TIMED:
                if not scenario.waits.messages:
                    raise UserError(
                        f"--fail-if: {condition.text}: found no message in {scenario.name!r} that "
                        "started, allowed: a replay of some"
                    )
                value = getattr(scenario.waits, condition.name.removesuffix("_wait"))
                measured, of = length(value), 0
            else:
                value, of = (
                    getattr(scenario, condition.name),
                    getattr(scenario, WHOLE_OF[condition.name]),
                )
                measured = f"{value:,} of {of:,}"
            if condition.fails(value, of):
                console().print(
                    f"fails: {condition.text}: {condition.name} is {measured} in {scenario.name}",
                    markup=False,
                )
                status = FAILED
    return status
