"""Print tables, on a terminal or into a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

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


def printable(text: str) -> str:
    """A name as it can stand in a line: what is not printable is escaped."""
    from rich.markup import escape

    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape(shown)
