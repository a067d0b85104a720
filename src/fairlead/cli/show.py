"""Print tables, on a terminal or into a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

NAMES: Final = {
    *("queue", "group", "cluster", "destination", "subject", "tenant", "schedule", "service"),
    *("end", "scenario", "name", "phase", "priority"),
}
"""Columns of names: they are cut, where texts go on in the next line."""
LEAST: Final = 12
"""Characters that are left of a name or a text."""
GAP: Final = 2
"""Blanks between two columns."""
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
        number = column in right
        found.add_column(
            column, justify="right" if number else "left", overflow="fold", no_wrap=number
        )
    return found


def filled(rows: Sequence[Mapping[str, str]], right: tuple[str, ...] = ()) -> Table:
    """A table of at least one row, without the columns in which nothing stands."""
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    to = console()
    left_out: list[str] = []
    if to.is_terminal:
        rows, columns, left_out = fitted(rows, columns, right, to.width)
    found = table(*columns, right=right)
    for row in rows:
        found.add_row(*(row[name] for name in columns))
    if left_out:
        found.caption = f"no room for: {', '.join(left_out)}"
        found.caption_justify = "left"
    return found


def fitted(
    rows: Sequence[Mapping[str, str]], columns: Sequence[str], right: tuple[str, ...], width: int
) -> tuple[list[dict[str, str]], list[str], list[str]]:
    """The rows as a narrow terminal has room for them, their columns, and those left out.

    Numbers stay whole. Columns of zeros go first, then names are cut in the middle, then the last
    columns go.
    """
    kept, left_out = [*columns], list[str]()
    cells = [{name: row[name] for name in columns} for row in rows]

    def widths() -> dict[str, int]:
        return {name: max(cell_len(name), *(cell_len(c[name]) for c in cells)) for name in kept}

    def missing() -> int:
        found = widths()
        texts = [name for name in kept if name not in right and name not in NAMES]
        needed = sum(min(n, LEAST) if name in texts else n for name, n in found.items())
        return needed + GAP * (len(kept) - 1) - width

    while (too_much := missing()) > 0:
        numbers = [name for name in kept[1:] if name in right]
        zeros = [n for n in numbers if all(c[n] in ("", "0", "0 s") for c in cells)]
        if zeros:
            kept.remove(zeros[-1])
            continue
        found = widths()
        names = [name for name in kept if name in NAMES and found[name] > LEAST]
        if names:
            widest = max(names, key=lambda name: found[name])
            most = max(LEAST, len(widest), found[widest] - too_much)
            if most < found[widest]:
                for each in cells:
                    each[widest] = cut(each[widest], most)
                continue
        if not numbers:
            break
        left_out.append(numbers[-1])
        kept.remove(numbers[-1])
    return cells, kept, left_out


def cut(name: str, most: int) -> str:
    """A name without its middle, where it is longer than that.

    >>> cut("reports-of-the-night", 12)
    'report…night'
    """
    if cell_len(name) <= most:
        return name
    half = most // 2
    return name[:half] + "…" + name[len(name) - (most - half - 1) :]


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
