"""The command `explain` about a replayed message: why it waited, and what would have helped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairlead.balance.change import Change
from fairlead.balance.times import MICROS
from fairlead.cli.show import console, print_table, printable, table
from fairlead.compiled.plan import Plan
from fairlead.results.waited import Beside, Waited, WaitedAlternative
from fairlead.runs.read_rows import run_of
from fairlead.runs.run_folder import clusters_of
from fairlead.text import length, moment, plural

MOST = 10
"""So many of each kind are listed."""


def explain_waited(folder: Path, message_id: str) -> bool:
    """Explain a message of a replay's scenario; False: the folder is none.

    Raises UserError where there is no such message.
    """
    run = run_of(folder)
    if not run.manifest.get("replay"):
        return False
    from fairlead.memory.waited import why_it_waited

    changes = [Change.at_micros(**row) for row in run.manifest["changes"]]
    plan = Plan(clusters_of(run.manifest), changes)
    show(why_it_waited(folder, run, plan, message_id))
    return True


def show(waited: Waited) -> None:
    """Print why a message waited, and what would have helped."""
    out = console()
    for line in _head(waited):
        out.print(line, markup=False)
    _list(waited.holding, f"when it came, {_count(waited.holding)} in work there:")
    _list(
        waited.earlier, f"while it waited, {_count(waited.earlier)} started that had come before:"
    )
    _list(waited.overtook, f"{_count(waited.overtook)} started before it that came later:")
    if waited.until is not None:
        until = waited.until
        out.print(
            f"reader {until.reader} worked on {_called(until)} until it started", markup=False
        )
    for alternative in waited.otherwise:
        out.print(_otherwise(waited, alternative), markup=False)


def _head(found: Waited) -> list[str]:
    name, to = printable(found.id), printable(found.destination or f"none ({found.outcome})")
    group = f" of group {printable(found.group)}" if found.group else ""
    lines = [f"{name}{group} -> {to}, attempt {found.attempt}, {found.outcome}"]
    if found.came is None or found.wait is None:
        lines.append("it was not started")
        return lines
    if found.start is None:
        return [
            *lines,
            f"it came at {_at(found.came)}, and was taken away {length(found.wait)} later",
        ]
    waited = f"after {length(found.wait)}" if found.wait else "at once"
    done = "" if found.finish is None else f", and ended at {_at(found.finish)}"
    lines.append(
        f"it came at {_at(found.came)}, was started {waited} by reader {found.reader}{done}"
    )
    return lines


def _list(beside: Sequence[Beside], head: str) -> None:
    if not beside:
        return
    out = console()
    out.print(head, markup=False)
    rows = table("reader", "message", "group", "came", "started", "ended", right=("reader",))
    for message in beside[:MOST]:
        ended = "-" if message.finish is None else _at(message.finish)
        group = printable(message.group) or "-"
        rows.add_row(
            str(message.reader),
            printable(message.id),
            group,
            _at(message.came),
            _at(message.start),
            ended,
        )
    print_table(out, rows)
    if len(beside) > MOST:
        out.print(f"… ({len(beside) - MOST:,} more)", markup=False)


def _count(beside: Sequence[Beside]) -> str:
    return f"{plural(len(beside), 'message')} {'was' if len(beside) == 1 else 'were'}"


def _called(beside: Beside) -> str:
    group = f" of group {printable(beside.group)}" if beside.group else ""
    return f"{printable(beside.id)}{group}"


def _otherwise(waited: Waited, alternative: WaitedAlternative) -> str:
    if alternative.start is None:
        return f"with {alternative.what} it would not have been started"
    if waited.start is None:
        return f"with {alternative.what} it would have started at {_at(alternative.start)}"
    sooner = waited.start - alternative.start
    if round(sooner * MICROS) == 0:
        return f"with {alternative.what} it would have started no sooner"
    if sooner < 0:
        return f"with {alternative.what} it would have started {length(-sooner)} later"
    start = _at(alternative.start)
    return f"with {alternative.what} it would have started {length(sooner)} sooner, at {start}"


def _at(seconds: float) -> str:
    return moment(round(seconds * MICROS))
