"""Print clusters, policies and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from fairlead.balance.in_words import in_words, warnings
from fairlead.balance.objects import on_one_line
from fairlead.balance.own import CHOICES as OWN_CHOICES
from fairlead.balance.own import ELIMINATIONS, brought
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.choices import CHOICES
from fairlead.balance.policies.composed import STEPS
from fairlead.config.clusters import load_clusters

PIPED_WIDTH: Final = 1_000_000
"""Only a terminal's lines are folded."""


def console() -> Console:
    """Where results are printed: pretty on a terminal, plain lines when piped."""
    found = Console(highlight=False, emoji=False, soft_wrap=False)
    if not found.is_terminal:
        found = Console(highlight=False, emoji=False, width=PIPED_WIDTH, no_color=True)
    return found


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table in the style of all ours."""
    found = Table(box=None, pad_edge=False)
    for column in columns:
        found.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return found


def filled(rows: Sequence[Mapping[str, str]], right: tuple[str, ...] = ()) -> Table:
    """A table of at least one row, without the columns in which nothing stands."""
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    found = table(*columns, right=right)
    for row in rows:
        found.add_row(*(row[name] for name in columns))
    return found


def print_table(to: Console, listing: Table) -> None:
    """Print a table; piped, without the blanks that fill its lines."""
    if to.is_terminal:
        to.print(listing)
        return
    with to.capture() as found:
        to.print(listing)
    to.out("\n".join(line.rstrip() for line in found.get().rstrip("\n").split("\n")))


def show_policies() -> None:
    """Each policy, when to choose it and when not."""
    out = console()
    for name, policy in POLICIES.items():
        out.print(f"[bold]{name}[/bold]  {policy.about}")
        out.print(f"    choose it when {policy.choose_when}")
        out.print(f"    not when {policy.choose_when_not}")
    out.print("A file can compose others: [bold]\\[policy][/bold] eliminate = …, choose = …")
    out.print(f"    eliminations: {', '.join(STEPS)}{_of_packages(ELIMINATIONS)}", markup=False)
    out.print(f"    choice rules: {', '.join(CHOICES)}{_of_packages(OWN_CHOICES)}", markup=False)


def _of_packages(group: str) -> str:
    return "".join(f", {name} (of {package})" for name, package in brought(group).items())


def show_cluster(path: Path) -> None:
    """The effective policy of each cluster of a file, in words."""
    out = console()
    for cluster in load_clusters(path):
        words = in_words(cluster)
        name = printable(words.cluster)
        out.print(f"[bold]{name}[/bold]: {words.policy}, {words.about}", markup=True)
        for k, line in enumerate(words.steps, 1):
            out.print(f"  {k:2}. {line}", markup=False)
        if words.note:
            out.print(f"  {words.note}", markup=False)
        for line in warnings(cluster):
            out.print(f"  warning: {on_one_line(line)}", markup=False)
        rows = [
            {
                "destination": printable(each.name),
                "subject": printable(each.subject or ""),
                "address": printable(each.address),
                "condition": each.condition,
                "weight": "" if each.weight is None else str(each.weight),
                "share": "" if each.share is None else f"{each.share:.2%}",
            }
            for each in words.destinations
        ]
        print_table(out, filled(rows, right=("weight", "share")))
    out.print("ok")


def printable(text: str) -> str:
    """A name as it can stand in a line: what is not printable is escaped."""
    from rich.markup import escape

    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape(shown)
