"""The command `dispatch`: read what was said, run, print the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from fairlead import report
from fairlead.balance.change import Change
from fairlead.balance.message import CONTROL, NO_DESTINATION, ROUTED
from fairlead.balance.times import MICROS
from fairlead.cli.fail_if import FAILED, FailCondition, gate
from fairlead.cli.options import EngineName
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.show import console, filled, print_table, printable
from fairlead.cli.spark import started
from fairlead.cli.table import MessagesTable
from fairlead.config.clusters import load_clusters
from fairlead.errors import UserError
from fairlead.runs.changes import load_changes
from fairlead.runs.paths import TABLE, inside, is_elsewhere
from fairlead.text import date, plural

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from fairlead.compiled.plan import Plan
    from fairlead.pipeline.output.tables_delivery import TablesDelivery
    from fairlead.results.summary import Phase, Summary
    from fairlead.runs.delivery import ResultsDelivery

GATES: Final[dict[str, str | None]] = {
    "rejected": "rows",
    "no_destination": "decisions",
    "not_routed": "decisions",
}
"""What --fail-if can look at, and a part of what it is."""
MAX_PHASES = 12
NO_CHANGES: Final = "none"
"""Instead of a file: not even those of a journal."""
MAX_SHARES = 20


def run_dispatch(
    table: MessagesTable,
    cluster: Path,
    out: str,
    *,
    changes: str | None,
    file_format: str,
    trust_ids: bool,
    horizon: float | None,
    fail_if: Sequence[str],
    overwrite: bool,
    engine: EngineName,
    master: str | None,
    command: str | None,
) -> int:
    """Everything that can be refused is refused before an engine is started; returns the status.

    `horizon`: in seconds. `command`: the line that a report shows as the way to this run; None: no
    report.
    """
    gates = [gate(text, GATES) for text in fail_if]
    clusters = load_clusters(cluster)
    changes = own_changes(table, changes)
    if engine is EngineName.memory:
        refuse_elsewhere(changes, "--engine memory")
    happened = changes_here(changes)
    from fairlead.compiled.plan import Plan
    from fairlead.compiled.required_columns import check_columns
    from fairlead.pipeline.output.choose_target import delivery_to
    from fairlead.runs.constants import RESERVED
    from fairlead.runs.names import check_names

    check_out(out, file_format, page=command is not None)
    plan = Plan(clusters, happened)

    def check(names: Sequence[str]) -> None:
        check_names(names, table.called)
        check_columns(plan, names, table.called)

    table.refuse(RESERVED, check)
    also = [cluster, *files_here(changes)]
    place = delivery_to(out, overwrite=overwrite, read=table.where, also_read=also, tables=True)
    with place as delivery, Stages(7) as stages:
        if engine is EngineName.memory:
            from fairlead.cli.memory import dispatch_in_memory

            summary = dispatch_in_memory(
                table, plan, delivery, file_format, stages, trust_ids=trust_ids, command=command
            )
        else:
            summary = _on_spark(
                table,
                plan,
                delivery,
                file_format,
                stages,
                changes=changes,
                trust_ids=trust_ids,
                horizon=horizon,
                master=master,
                command=command,
            )
        if command is not None:
            write_report(summary, delivery, stages)
        delivery.finish()
    acted()
    print_summary(summary, out)
    table.refuse_nothing(summary.read, summary.rejected, out)
    if engine is EngineName.spark:
        table.suggest_memory(summary.read, summary.rejected, stages.console)
    return judged(summary, gates)


def check_out(out: str, file_format: str, *, page: bool) -> None:
    """Refuse results that cannot be written like this. Raises UserError."""
    if out.startswith(TABLE) and file_format != "parquet":
        raise UserError(f"--format {file_format}: found with {out}, allowed: with a folder")
    if page:
        report.check_installed()


def judged_rows(rejected: int, read: int, gates: Sequence[FailCondition]) -> int:
    """The status of a table that was only looked at: FAILED where a condition of rows holds."""
    return _judged({"rejected": (rejected, read)}, gates)


def judged(summary: Summary, gates: Sequence[FailCondition]) -> int:
    """The status: FAILED where a condition holds."""
    routed = summary.outcomes.get(ROUTED, 0)
    counts = {
        "rejected": (summary.rejected, summary.read),
        "no_destination": (summary.outcomes.get(NO_DESTINATION, 0), summary.rows),
        "not_routed": (summary.rows - routed - summary.outcomes.get(CONTROL, 0), summary.rows),
    }
    return _judged(counts, gates)


def _judged(found: Mapping[str, tuple[int, int]], gates: Sequence[FailCondition]) -> int:
    status = 0
    for condition in [condition for condition in gates if condition.name in found]:
        n, of = found[condition.name]
        if condition.fails(n, of):
            line = f"fails: {condition.text}: {condition.name} is {n:,} of {of:,}"
            console().print(line, markup=False)
            status = FAILED
    return status


def _on_spark(
    table: MessagesTable,
    plan: Plan,
    delivery: TablesDelivery,
    file_format: str,
    stages: Stages,
    *,
    changes: str | None,
    trust_ids: bool,
    horizon: float | None,
    master: str | None,
    command: str | None,
) -> Summary:
    from fairlead.pipeline.intake.read import reading

    with reading():
        spark = started(master, stages, small=table.is_small, page=command is not None)
        delivery.begin(spark)
        happened = changes_anywhere(spark, changes, plan.changes)
        from fairlead.pipeline import dispatch as pipeline
        from fairlead.runs.options import Options

        table = table.at_one_version(spark)
        return pipeline.run(
            spark,
            table.read(spark),
            plan.clusters,
            happened,
            delivery,
            Options(
                where=table.called,
                version=table.version,
                file_format=file_format,
                trust_ids=trust_ids,
                horizon=None if horizon is None else round(horizon * MICROS),
                as_in_files=not table.number_rows and not table.where.startswith(TABLE),
                command=command,
                progress=stages,
            ),
        )


def write_report(summary: Summary, delivery: ResultsDelivery, stages: Stages) -> None:
    """Put the page beside the results."""
    with stages("report"):
        delivery.write_text(report.NAME, report.render(summary.to_dict()))


def own_changes(table: MessagesTable, changes: str | None) -> str | None:
    """Where the changes are: a journal's own, where none are given, which is said on stderr.

    Raises UserError.
    """
    from fairlead.runs.changes import of_journal
    from fairlead.runs.files import kind_of, readable

    if changes is not None or is_elsewhere(table.where):
        return None if changes == NO_CHANGES else changes
    if table.name is not None:
        place, happened = table.changes, len(changes_here(table.changes))
    else:
        kind = kind_of(table.where, table.input_format, table.options)
        readable(table.where, kind)
        place, happened = table.where, len(of_journal(table.where, kind))
    if not happened:
        return None
    line = f"changes: {happened:,}, those of the journal; --changes {NO_CHANGES} leaves them out"
    typer.echo(line, err=True)
    return place


def changes_from(path: Path | None) -> list[Change]:
    """The changes of a file of any kind that is allowed."""
    return [] if path is None else load_changes(path)


def files_here(place: str | None) -> list[Path]:
    """The file of changes, if there is one on this machine."""
    return [] if place is None or is_elsewhere(place) else [Path(place)]


def changes_here(place: str | None) -> list[Change]:
    """The changes in a file of this machine; none where they are elsewhere."""
    return [change for file in files_here(place) for change in load_changes(file)]


def refuse_elsewhere(changes: str | None, by: str) -> None:
    """Refuse changes that only a session of Spark's can read. Raises UserError."""
    if changes is not None and is_elsewhere(changes):
        raise UserError(f"--changes {changes}: found with {by}, allowed: a file of this machine")


def changes_anywhere(
    spark: SparkSession, place: str | None, here: Sequence[Change]
) -> Sequence[Change]:
    """The changes, wherever they are; `here`: what `changes_here` has found."""
    if place is None or not is_elsewhere(place):
        return here
    from fairlead.pipeline.intake.changes_elsewhere import changes_at

    return changes_at(spark, place)


def print_summary(summary: Summary, out: str) -> None:
    """What happened, and where the results are."""
    to = console()
    for outcome, n in summary.outcomes.items():
        to.print(f"{outcome}: {n:,}", markup=False)
    for name, n in summary.unknown_clusters.items():
        which = f"of a cluster {printable(name)!r} that is in no file" if name else "of no cluster"
        to.print(f"no-destination, {which}: {n:,}", markup=False)
    for reason, n in summary.rejections.items():
        to.print(f"rejected, {reason}: {n:,}", markup=False)
    print_phases(to, summary.phases)
    decided = summary.read - summary.rejected
    to.print(
        f"in {summary.read:,} = decided {decided:,} + rejected {summary.rejected:,}; "
        f"digest {summary.digest}",
        markup=False,
    )
    if summary.rows != decided:
        to.print(f"decisions: {summary.rows:,}, one for each destination of a message")
    to.print(f"results: {out}", markup=False)
    if summary.facts is not None:
        place = inside(out, report.NAME)
        if out.startswith(TABLE):
            place = f"{inside(out, 'run')}, row {report.NAME}"
        to.print(f"report: {place}", markup=False)


def print_phases(to: Console, phases: Sequence[Phase]) -> None:
    """Shares against weights, between each two changes."""
    shown = [phase for phase in phases if phase.messages]
    for phase in shown[:MAX_PHASES]:
        since = "from the beginning" if phase.since is None else f"since {moment(phase.since)}"
        since += " (a follow-up step)" if phase.follows else ""
        rows = f", {phase.rows:,} decisions" if phase.rows != phase.messages else ""
        to.print(f"{since}: {plural(phase.messages, 'message')}{rows}", markup=False)
        shares = [
            {
                "cluster": printable(share.cluster),
                "subject": printable(share.subject or ""),
                "destination": printable(share.destination),
                "messages": f"{share.messages:,}",
                "share": f"{share.share:.2%}",
                "by weight": "" if share.expected is None else f"{share.expected:.2%}",
            }
            for share in phase.busiest(MAX_SHARES)
        ]
        if shares:
            print_table(to, filled(shares, right=("messages", "share", "by weight")))
        if len(phase.shares) > MAX_SHARES:
            to.print(f"… {len(phase.shares) - MAX_SHARES} more destinations in summary.json")
    if len(shown) > MAX_PHASES:
        to.print(f"… {len(shown) - MAX_PHASES} more phases in summary.json")


def moment(micros: int) -> str:
    """A time as people read it: a date from 1971 on, else seconds."""
    time = date(micros)
    return f"{micros / 1_000_000:g} s" if time is None else str(time)
