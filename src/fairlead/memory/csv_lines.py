"""Lines of CSV one by one, as Spark reads them: for files that are not regular throughout.

A row that has another number of cells than the header is kept with what it has, and why it is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

LINE_END: Final = re.compile(r"\r\n|\n|\r")
QUOTE: Final = '"'

Cells = list[str | None]
"""None: nothing stands there, or an empty text in quotes, which is nothing to Spark."""


class Row(NamedTuple):
    """A row as it stands in the file."""

    cells: Cells
    raw: str


def rows(text: str, separator: str, *, multi_line: bool) -> Iterator[Row]:
    """The rows of a file, without those in which nothing stands."""
    if not multi_line:
        for line in LINE_END.split(text):
            if line.strip():
                yield Row(_cells(line, separator, 0, multi_line=False)[0], line)
        return
    at = 0
    while at < len(text):
        cells, after = _cells(text, separator, at, multi_line=True)
        raw = LINE_END.sub("\n", text[at:after]).removesuffix("\n")
        if raw.strip():
            yield Row(cells, raw)
        at = after


def _cells(text: str, separator: str, at: int, *, multi_line: bool) -> tuple[Cells, int]:
    """The cells from a place on, and where the next row begins."""
    ends = {separator, "\n", "\r"} if multi_line else {separator}
    found: Cells = []
    n = len(text)
    while True:
        if at < n and text[at] == QUOTE:
            cell, at = _quoted(text, at, ends)
            found.append(cell or None)
        else:
            start = at
            while at < n and text[at] not in ends:
                at += 1
            found.append(text[start:at] or None)
        if at < n and text[at] == separator:
            at += 1
            continue
        if text.startswith("\r\n", at):
            return found, at + 2
        return found, min(n, at + 1)


def _quoted(text: str, at: int, ends: set[str]) -> tuple[str, int]:
    """A cell that begins with a quote: if what follows the last one is no end, as it stands."""
    parts: list[str] = []
    begin, n = at, len(text)
    at += 1
    while at < n:
        close = text.find(QUOTE, at)
        if close < 0:
            return "".join(parts) + text[at:], n
        parts.append(text[at:close])
        at = close + 1
        if at < n and text[at] == QUOTE:
            parts.append(QUOTE)
            at += 1
        elif at >= n or text[at] in ends:
            return "".join(parts), at
        else:
            while at < n and text[at] not in ends:
                at += 1
            return text[begin:at], at
    return "".join(parts), n


def table(every: Sequence[Row], columns: int) -> tuple[list[Cells], list[str | None]]:
    """The cells by column, and of each row that is none what stands there; else None."""
    by_column: list[Cells] = [[] for _ in range(columns)]
    raw: list[str | None] = []
    for row in every:
        cells = row.cells[:columns] + [None] * (columns - len(row.cells))
        for column, cell in zip(by_column, cells, strict=True):
            column.append(cell)
        raw.append(None if len(row.cells) == columns else row.raw)
    return by_column, raw
