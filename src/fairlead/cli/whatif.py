"""The command `whatif`: raise a group in a replayed scenario, and say what that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairlead.balance.times import micros
from fairlead.cli.options import EngineName, RowsWritten
from fairlead.cli.progress import Stages
from fairlead.cli.show import console, filled, print_table, printable
from fairlead.cli.spark import started
from fairlead.errors import UserError
from fairlead.runs.paths import inside, is_elsewhere
from fairlead.text import date, length, plural

if TYPE_CHECKING:
    from fairlead.cli.recorded import CommandMessages
    from fairlead.results.whatif import RaiseEffect

REPLAYED: Final = "replayed"
"""In the folder of what was recorded: its replay."""


def run_whatif(
    out: str, group: str, at: str, priority: int, engine: EngineName, master: str | None
) -> None:
    """Everything that can be refused is refused before an engine is started."""
    time = micros(at)
    if time is None:
        raise UserError(f"--at: found {at!r}, allowed: a number of seconds, or a timestamp")
    from fairlead.balance.change import Change
    from fairlead.compiled.plan import Plan
    from fairlead.replay.raised import refuse_fifo
    from fairlead.runs.run_folder import clusters_of, read_manifest

    def plan_of(manifest: Mapping[str, Any]) -> Plan:
        if not manifest.get("replay"):
            raise UserError(
                f"{out}: found a run of dispatch, allowed: a scenario's folder of replay"
            )
        changes = [Change.at_micros(**row) for row in manifest["changes"]]
        plan = Plan(clusters_of(manifest), changes)
        refuse_fifo(plan)
        return plan

    manifest = None if is_elsewhere(out) else read_manifest(Path(out))
    plan = None if manifest is None else plan_of(manifest)
    if engine is EngineName.memory:
        if plan is None:
            raise UserError(
                f"{out}: found a place elsewhere, allowed with --engine memory: a folder of this "
                "machine"
            )
        from fairlead.memory.whatif import what_if as in_memory
        from fairlead.runs.read_rows import run_of

        with Stages(1) as stages, stages("replay"):
            answer = in_memory(Path(out), run_of(Path(out)), plan, group, time, priority)
        _print(answer)
        return
    with Stages(2) as stages:
        spark = started(master, stages)
        from fairlead.pipeline.intake.read import read
        from fairlead.pipeline.questions.elsewhere import manifest_at
        from fairlead.pipeline.questions.whatif import what_if

        if manifest is None or plan is None:
            manifest = manifest_at(spark, out)
            plan = plan_of(manifest)
        options = {"multiLine": "true"} if manifest["file_format"] == "csv" else {}
        place = inside(out, "decisions")
        decisions = read(spark, place, input_format=manifest["file_format"], options=options)
        with stages("replay"):
            answer = what_if(decisions, plan, group, time, priority)
    _print(answer)


def run_whatif_of(
    recording: CommandMessages,
    clusters: Sequence[Path],
    changes: str | None,
    group: str,
    at: str,
    priority: int,
    engine: EngineName,
    master: str | None,
) -> None:
    """Replay what a cluster of a store has decided, and raise a group in that.

    `clusters`: the file under which it is replayed; `changes`: as `replay` takes them. Raises
    UserError.
    """
    from decimal import Decimal

    from fairlead.cli.dispatch import changes_here, own_changes, refuse_elsewhere
    from fairlead.cli.replay import replay_into, scenarios
    from fairlead.replay.raised import refuse_fifo

    table = recording.table(None, None, False, None, None)
    changes = own_changes(table, changes)
    refuse_elsewhere(changes, "--of")
    request = scenarios(clusters, changes_here(changes), None, Decimal(1), 0)
    ((name, plan),) = request.plans.items()
    refuse_fifo(plan)
    out = Path(recording.where).with_name(REPLAYED)
    replay_into(
        str(out),
        table,
        request,
        lambda _: request,
        also_read=clusters,
        file_format="parquet",
        windows=(),
        rows=RowsWritten.all.value,
        overwrite=False,
        engine=engine,
        master=master,
        command=None,
    )
    run_whatif(str(out / name), group, at, priority, engine, master)


def _print(effect: RaiseEffect) -> None:
    to = console()
    group = printable(effect.group)
    if not effect.waiting:
        to.print(f"{group}: nothing of it would start sooner", markup=False)
        return
    to.print(f"{group}: {plural(effect.waiting, 'message')} would start sooner", markup=False)
    rows = [
        {
            "message": printable(message.name),
            "started at": _moment(message.before),
            "would be at": _moment(message.before + message.seconds),
            "sooner by": length(-message.seconds),
        }
        for message in effect.raised
    ]
    print_table(to, filled(rows, right=("sooner by",)))
    to.print(
        f"delayed: {plural(effect.delayed, 'message')} of others, "
        f"by {length(effect.longest)} at most, {length(effect.total)} in all",
        markup=False,
    )
    if effect.sooner:
        to.print(f"sooner, too: {plural(effect.sooner, 'message')} of others", markup=False)
    if effect.hurt:
        rows = [
            {
                "delayed": printable(group.name),
                "messages": f"{group.messages:,}",
                "by at most": length(group.seconds),
            }
            for group in effect.hurt
        ]
        print_table(to, filled(rows, right=("messages", "by at most")))


def _moment(seconds: float) -> str:
    time = date(round(seconds * 1_000_000))
    return f"{seconds:.3f} s" if time is None else str(time)
