"""The command `diff`: who gets what under another policy, compared with before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairlead.balance.objects import listed
from fairlead.cli.fail_if import FAILED, FailCondition, gate
from fairlead.cli.options import EngineName
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.show import console, print_table, printable, table
from fairlead.cli.spark import started
from fairlead.errors import UserError
from fairlead.rows import JOURNAL, without_decisions
from fairlead.runs.paths import TABLE, inside, is_elsewhere
from fairlead.text import length

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from fairlead.pipeline.output.tables_delivery import TablesDelivery
    from fairlead.results.diff import Diff
    from fairlead.runs.read_rows import RunFolder

GATES: Final = {
    "moved": "both",
    "no_longer_routed": "both",
    "newly_routed": "both",
    "groups_moved": "groups",
    "sooner": "started",
    "later": "started",
    "only_before": "before",
    "only_after": "after",
}
"""What --fail-if can look at → what per cents of it are of."""
OF: Final = {
    "both": "message that is in both runs, allowed: two runs of the same messages",
    "groups": "message with a group that is in both runs, allowed: without this condition",
    "started": "message that both runs started, allowed: two scenarios of a replay",
    "before": "message in the first run, allowed: a run that decided some",
    "after": "message in the second run, allowed: a run that decided some",
}
"""What is missing where there is nothing that a condition could look at."""
MAX_SHOWN: Final = 20


def run_diff(
    before: str,
    after: str,
    called: str,
    *,
    out: str | None,
    fail_if: Sequence[str],
    overwrite: bool,
    engine: EngineName,
    master: str | None,
) -> int:
    """Compare two runs or journals; the status is FAILED where a condition holds.

    `called`: what the first one is called.
    """
    gates = [gate(text, GATES) for text in fail_if]
    if overwrite and out is None:
        raise UserError("--overwrite says what to do with --out DIR, which is not given")
    places = [Path(folder).resolve() for folder in (before, after) if not is_elsewhere(folder)]
    if out is not None and (
        out.rstrip("/") in (before.rstrip("/"), after.rstrip("/"))
        or Path(out).resolve() in [up for p in places for up in (p, *p.parents)]
    ):
        raise UserError(f"--out {out}: found a run that is compared, allowed: another folder")
    from fairlead.pipeline.output.choose_target import delivery_to
    from fairlead.runs.read_rows import run_of
    from fairlead.runs.run_folder import is_journal

    here = {
        folder: None if is_journal(Path(folder)) else run_of(Path(folder))
        for folder in (before, after)
        if not is_elsewhere(folder)
    }
    delivery = nullcontext() if out is None else delivery_to(out, overwrite=overwrite)
    with delivery as made, Stages(3 if out else 2) as stages:
        if engine is EngineName.memory:
            difference = _in_memory(before, after, here, made, stages)
        else:
            difference = _on_spark(before, after, here, made, stages, master)
    acted()
    _print(difference, called, after)
    if out:
        console().print(f"results: {out}", markup=False)
    return _judge(difference, gates)


def _in_memory(
    before: str,
    after: str,
    here: Mapping[str, RunFolder | None],
    made: TablesDelivery | None,
    stages: Stages,
) -> Diff:
    from fairlead.memory.diff import compare, decisions_of, diff, moved
    from fairlead.memory.write import write
    from fairlead.runs.folder import of_this_machine
    from fairlead.runs.paths import SUMMARY

    for folder in (before, after):
        if folder not in here:
            raise UserError(
                f"{folder}: found a place elsewhere, allowed with --engine memory: a folder of "
                "this machine"
            )
    place = None if made is None else of_this_machine(made)
    with stages("compare"):
        compared = compare(
            *(decisions_of(Path(folder), here[folder]) for folder in (before, after))
        )
        difference = diff(compared)
    if place is not None:
        with stages("write"):
            write(moved(compared), place.making / "moved", "parquet")
            place.write_json(SUMMARY, difference.to_dict())
            place.finish()
    return difference


def _on_spark(
    before: str,
    after: str,
    here: Mapping[str, RunFolder | None],
    made: TablesDelivery | None,
    stages: Stages,
    master: str | None,
) -> Diff:
    from fairlead.runs.paths import SUMMARY

    spark = started(master, stages)
    from fairlead.pipeline.questions import diff as pipeline
    from fairlead.pipeline.questions.elsewhere import run_at

    if made is not None:
        made.begin(spark)
    one, other = (
        _decisions(spark, folder, here[folder] if folder in here else run_at(spark, folder))
        for folder in (before, after)
    )
    compared = pipeline.compare(one, other)
    with stages("compare"):
        difference = pipeline.diff(compared)
    if made is not None:
        with stages("write"):
            made.write(pipeline.moved(compared), "moved", "parquet")
            made.write_json(SUMMARY, difference.to_dict())
            made.finish()
    return difference


def _decisions(spark: SparkSession, folder: str, run: RunFolder | None) -> DataFrame:
    """What was decided in a run, or (without one) in a journal: a row for each message."""
    from fairlead.pipeline.intake.journal import decisions_of
    from fairlead.pipeline.intake.read import read
    from fairlead.pipeline.measure.attempts import last_attempts
    from fairlead.pipeline.questions.diff import joined
    from fairlead.runs.read_rows import DECISIONS
    from fairlead.runs.run_folder import clusters_of

    if run is None:
        journal = read(spark, folder)
        if without_decisions(journal.columns) == journal.columns:
            raise UserError(
                f"{folder}: found {listed(journal.columns)}, allowed: {listed(JOURNAL)}"
            )
        return joined(last_attempts(decisions_of(journal).where("position IS NOT NULL")))
    manifest = run.manifest
    is_table = folder.startswith(TABLE)
    options = {"multiLine": "true"} if manifest["file_format"] == "csv" else {}
    only = None if run.batches is None else [*run.batches.values()]
    if only == []:
        raise UserError(f"{folder}: found a stream that has decided nothing yet")
    decisions = read(
        spark,
        folder if is_table else inside(folder, DECISIONS),
        input_format=None if is_table else manifest["file_format"],
        options=options,
        only=only,
    )
    if manifest.get("replay"):
        # Attempts that are followed by another one decided nothing.
        decisions = last_attempts(decisions)
    several = any(cluster.policy.fans_out for cluster in clusters_of(manifest))
    return joined(decisions) if several else decisions


def _print(diff: Diff, before: str, after: str) -> None:
    to = console()
    to.print(f"messages: {diff.before:,} in {before}, {diff.after:,} in {after}", markup=False)
    to.print(
        f"in both: {diff.both:,}; only in {before}: {diff.only_before:,}; "
        f"only in {after}: {diff.only_after:,}",
        markup=False,
    )
    to.print(f"moved: {_part(diff.moved, diff.both)}", markup=False)
    to.print(f"no longer routed: {_part(diff.no_longer_routed, diff.both)}", markup=False)
    to.print(f"newly routed: {_part(diff.newly_routed, diff.both)}", markup=False)
    if diff.started:
        to.print(f"started sooner: {_part(diff.sooner, diff.started)}", markup=False)
        to.print(f"started later: {_part(diff.later, diff.started)}", markup=False)
        way = "sooner" if diff.mean_delay < 0 else "later"
        to.print(
            f"on average of all {diff.started:,} {way} by: {length(abs(diff.mean_delay))}",
            markup=False,
        )
        _print_waits(before, after)
    if diff.groups:
        to.print(f"groups moved: {_part(diff.groups_moved, diff.groups)}", markup=False)
    right = ("before", "after", "gains")
    gains = table("destination", *right, right=right)
    for row in diff.destinations[:MAX_SHOWN]:
        gained = f"{row.after - row.before:+,}"
        name = _name(row.destination, row.cluster)
        gains.add_row(name, f"{row.before:,}", f"{row.after:,}", gained)
    if diff.destinations:
        print_table(to, gains)
    if diff.moves:
        moves = table("from", "to", "messages", right=("messages",))
        for move in diff.moves[:MAX_SHOWN]:
            one = _name(move.before, move.cluster_before)
            other = _name(move.after, move.cluster_after)
            moves.add_row(one, other, f"{move.messages:,}")
        print_table(to, moves)
        if len(diff.moves) > MAX_SHOWN:
            to.print(f"… {len(diff.moves) - MAX_SHOWN} more pairs in summary.json of --out DIR")


def _print_waits(before: str, after: str) -> None:
    """How long the messages of two scenarios waited, where both folders lie in a replay's."""
    from fairlead.runs.run_folder import waits_in

    waits = [
        (folder, None if is_elsewhere(folder) else waits_in(Path(folder)))
        for folder in (before, after)
    ]
    columns = ("mean", "p50", "p90", "p99", "max")
    listing = table("wait", *columns, right=columns)
    for name, measure in waits:
        if measure is None:
            return
        spread = (measure.mean, measure.p50, measure.p90, measure.p99, measure.max)
        listing.add_row(printable(name), *map(length, spread))
    print_table(console(), listing)


def _part(n: int, of: int) -> str:
    return f"{n:,} of {of:,}" + (f" ({n / of:.2%})" if of else "")


def _name(destination: str | None, cluster: str) -> str:
    if destination is None:
        return "(none)"
    return printable(f"{cluster}/{destination}" if cluster else destination)


def _judge(diff: Diff, gates: Sequence[FailCondition]) -> int:
    """The status; a condition that has nothing to look at is refused, for it could never hold."""
    status = 0
    for condition in gates:
        value, of = getattr(diff, condition.name), getattr(diff, GATES[condition.name])
        if not of:
            raise UserError(f"--fail-if: {condition.text}: found no {OF[GATES[condition.name]]}")
        if condition.fails(value, of):
            console().print(
                f"fails: {condition.text}: {condition.name} is {_part(value, of)}", markup=False
            )
            status = FAILED
    return status
