"""What pages show, as data; `templates/parts.html` says how each looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fairlead.web.charts import Layer, Spec

MAX_ROWS: Final = 50


@dataclass(frozen=True)
class PageTable:
    """The first rows of a table, and what is said of the others."""

    columns: Sequence[tuple[str, str]]
    """(name, kind): "text", or "n" for numbers."""
    rows: Sequence[Sequence[str]]
    left: str


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: int = 1,
    total: int = 0,
    left_in: str = "summary.json",
) -> PageTable:
    """A table of at most 50 rows; after the first columns, which are `texts`, stand numbers.

    Columns in which nothing stands are left out.
    `total`: how many rows there would be, if `rows` are only the first. `left_in`: where the
    others stand.
    """
    indices = [k for k in range(len(columns)) if any(row[k] for row in rows)]
    left = max(total, len(rows)) - len(rows[:MAX_ROWS])
    return PageTable(
        [(columns[k], "text" if k < texts else "n") for k in indices],
        [[row[k] for k in indices] for row in rows[:MAX_ROWS]],
        f"… {left:,} more in {left_in}" if left else "",
    )


@dataclass(frozen=True)
class Figure:
    """A chart with its caption, and what it shows in words; `described`: for those who hear it."""

    caption: str
    about: str
    spec: Spec
    described: str
    legend: Sequence[Layer] = ()
    numbers: PageTable | None = None
    signs: Sequence[tuple[str, str]] = ()
    """(class, meaning) of the signs of its legend that are no colours."""
    stacked: bool = False


@dataclass(frozen=True)
class Tile:
    """A number and what it is; `until`: the end, where the value is a time that lasts."""

    term: str
    value: str
    kind: str = ""
    until: str = ""
