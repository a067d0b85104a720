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
DATES: Final = {"since", "until", "died", "next", "last"}
"""Columns of moments: they stay whole, as numbers do."""
BODIES: Final = {"first", "body"}
"""Columns of which the beginning is enough."""
LEAST: Final = 12
"""Characters that are left of a name or a text."""
LONGEST_WORD: Final = 40
"""Characters of a word that is not broken, as an id or a time zone is."""
PROSE: Final = {"reason"}
"""Columns of texts whose words may be broken, as somebody else wrote them."""
PROSE_LEAST: Final = 24
"""Characters that a line of these has."""
GAP: Final = 2
"""Blanks between two columns."""
PIPED_WIDTH: Final = 1_000_000
"""Only a terminal's lines are folded."""


def console() -> Console:
    """Where results are printed: pretty on a terminal, plain lines when piped."""
    output = Console(highlight=False, emoji=False, soft_wrap=False)
    if not output.is_terminal:
        output = Console(highlight=False, emoji=False, width=PIPED_WIDTH, no_color=True)
    return output


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table in the style of all ours."""
    listing = Table(box=None, pad_edge=False)
    for column in columns:
        number = column in right
        listing.add_column(
            column, justify="right" if number else "left", overflow="fold", no_wrap=number
        )
    return listing


def filled(
    rows: Sequence[Mapping[str, str]], right: tuple[str, ...] = (), spare: tuple[str, ...] = ()
) -> Table:
    """A table of at least one row, without the columns in which nothing stands.

    `right`: columns of numbers. `spare`: those that go first where there is no room, in this order.
    """
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    to = console()
    left_out: list[str] = []
    if to.is_terminal:
        rows, columns, left_out = fitted(rows, columns, right, to.width, spare)
    listing = table(*columns, right=right)
    if to.is_terminal:
        for column, width in zip(
            listing.columns, _widths(rows, columns, right, to.width), strict=True
        ):
            column.width = width
    for row in rows:
        listing.add_row(*(row[name] for name in columns))
    if left_out:
        listing.caption = f"no room for: {', '.join(left_out)}"
        listing.caption_justify = "left"
    return listing


def fitted(
    rows: Sequence[Mapping[str, str]],
    columns: Sequence[str],
    right: tuple[str, ...],
    width: int,
    spare: tuple[str, ...] = (),
) -> tuple[list[dict[str, str]], list[str], list[str]]:
    """The rows as a narrow terminal has room for them, their columns, and those left out.

    Numbers, moments and words stay whole. Columns of zeros go first, then bodies and names are cut,
    then `spare` columns go, and then the last ones.
    """
    names, left_out = [*columns], list[str]()
    cells = [{name: row[name] for name in columns} for row in rows]

    def missing() -> int:
        needed = sum(_least(cells, name, right) for name in names)
        return needed + GAP * (len(names) - 1) - width

    while (too_much := missing()) > 0:
        numbers = [name for name in names[1:] if name in right]
        zeros = [n for n in numbers if all(c[n] in ("", "0", "0 s") for c in cells)]
        if zeros:
            names.remove(zeros[-1])
            continue
        if _cut_widest(cells, names, too_much):
            continue
        gone = [name for name in spare if name in names[1:]][:1] or numbers[-1:]
        gone = gone or [name for name in names[1:] if name in DATES][-1:]
        if not gone:
            break
        left_out += gone
        names.remove(gone[0])
    return cells, names, left_out


def _cut_widest(cells: list[dict[str, str]], kept: Sequence[str], too_much: int) -> bool:
    """Cut the widest column of bodies, or else of names; whether there was one to cut."""
    for cuttable in (BODIES, NAMES):
        natural = {name: _natural(cells, name) for name in kept if name in cuttable}
        widths = {name: most for name, most in natural.items() if most > max(LEAST, len(name))}
        if widths:
            widest = max(widths, key=lambda name: widths[name])
            most = max(LEAST, len(widest), widths[widest] - too_much)
            for row in cells:
                row[widest] = (begin if cuttable is BODIES else cut)(row[widest], most)
            return True
    return False


def _natural(cells: Sequence[Mapping[str, str]], name: str) -> int:
    return max(cell_len(name), *(cell_len(row[name]) for row in cells))


def _is_folded(name: str, right: tuple[str, ...]) -> bool:
    """Whether the texts of a column go on in the next line."""
    return name not in right and name not in NAMES | DATES | BODIES


def _least(cells: Sequence[Mapping[str, str]], name: str, right: tuple[str, ...]) -> int:
    """So wide a column has to be."""
    natural = _natural(cells, name)
    if not _is_folded(name, right):
        return natural
    words = (cell_len(word) for row in cells for word in row[name].split())
    longest = max((width for width in words if width <= LONGEST_WORD), default=0)
    longest = PROSE_LEAST if name in PROSE else longest
    return min(natural, max(LEAST, cell_len(name), longest))


def _widths(
    rows: Sequence[Mapping[str, str]], columns: Sequence[str], right: tuple[str, ...], width: int
) -> list[int | None]:
    """The width of each column; None for all where rich finds them itself."""
    natural = {name: _natural(rows, name) for name in columns}
    widths = {name: _least(rows, name, right) for name in columns}
    room = width - GAP * (len(columns) - 1) - sum(widths.values())
    if room < 0 or sum(natural.values()) + GAP * (len(columns) - 1) <= width:
        return [None] * len(columns)
    for name in sorted(columns, key=lambda each: natural[each] - widths[each]):
        more = min(room, natural[name] - widths[name])
        widths[name] += more
        room -= more
    return [widths[name] for name in columns]


def cut(name: str, most: int) -> str:
    """A name without its middle, where it is longer than that.

    >>> cut("reports-of-the-night", 12)
    'report…night'
    """
    if cell_len(name) <= most:
        return name
    half = most // 2
    return name[:half] + "…" + name[len(name) - (most - half - 1) :]


def begin(text: str, most: int) -> str:
    """The beginning of a text, where it is longer than that.

    >>> begin("the night of all nights", 12)
    'the night o…'
    """
    return text if cell_len(text) <= most else text[: most - 1] + "…"


def print_table(to: Console, listing: Table) -> None:
    """Print a table; piped, without the blanks that fill its lines."""
    if to.is_terminal:
        to.print(listing)
        return
    with to.capture() as capture:
        to.print(listing)
    to.out("\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n")))


def printable(text: str) -> str:
    """A name as it can stand in a line: what is not printable is escaped."""
    from rich.markup import escape

    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape(shown)
