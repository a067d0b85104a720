"""Lines of CSV one by one, as Spark reads them: for files that are not regular throughout.

A row that has another number of cells than the header is kept with what it has, and why it is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from fairlead.runs.files import LONGEST_CELL

LINE_END: Final = re.compile(r"\r\n|\n|\r")
QUOTE: Final = '"'
SEPARATORS: Final = ",;\t|"


class CellTooLongError(Exception):
    """A cell is too long."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


Cells = list[str | None]
"""None: nothing stands there, or an empty text in quotes, which is nothing to Spark."""


class CsvRow(NamedTuple):
    """A row as it stands in the file."""

    cells: Cells
    raw: str


def rows(text: str, separator: str, *, multi_line: bool) -> Iterator[CsvRow]:
    """The rows of a file, without those in which nothing stands. Raises TooLongError."""
    apart = re.escape(separator)
    if not multi_line:
        ends = re.compile(apart)
        for number, line in enumerate(LINE_END.split(text)):
            if line.strip():
                try:
                    yield CsvRow(_cells(line, separator, 0, ends, "\n")[0], line)
                except CellTooLongError as error:
                    raise CellTooLongError(error.line + number) from None
        return
    first = LINE_END.search(text)
    end = "\n" if first is None else first.group()  # all rows end as the first does
    at, ends = 0, re.compile(rf"{apart}|{end}")
    while at < len(text):
        cells, after = _cells(text, separator, at, ends, end)
        raw = text[at:after].replace(end, "\n").removesuffix("\n")
        if raw.strip():
            yield CsvRow(cells, raw)
        at = after


def _cells(
    text: str, separator: str, at: int, ends: re.Pattern[str], end: str
) -> tuple[Cells, int]:
    """The cells from a place on, and where the next row begins.

    `ends`: what ends a cell. `end`: what ends a row; in a quoted cell it is a line break as any.
    """
    cells: Cells = []
    n = len(text)
    while True:
        start = at
        if text.startswith(QUOTE, at):
            cell, at = _quoted(text, at, ends)
            cell = cell.replace(end, "\n")
        else:
            at = _end(text, at, ends)
            cell = text[start:at]
        if len(cell) > LONGEST_CELL:
            raise CellTooLongError(text.count(end, 0, start) + 1)
        cells.append(cell or None)
        if text.startswith(separator, at):
            at += 1
            continue
        return cells, min(n, at + len(end))


def line_too_long(text: str) -> int | None:
    """In which line a cell begins that is too long, whatever is between cells; None: in none."""
    for multi_line in (False, True):
        for separator in SEPARATORS:
            try:
                for _ in rows(text, separator, multi_line=multi_line):
                    pass
            except CellTooLongError as error:
                return error.line
    return None


def _end(text: str, at: int, ends: re.Pattern[str]) -> int:
    match = ends.search(text, at)
    return len(text) if match is None else match.start()


def _passed(text: str, at: int, ends: re.Pattern[str]) -> int:
    """Where blanks after a quote end: they are no part of its cell."""
    while at < len(text) and text[at] <= " " and not ends.match(text, at):
        at += 1
    return at


def _quoted(text: str, at: int, ends: re.Pattern[str]) -> tuple[str, int]:
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
        if text.startswith(QUOTE, at):
            parts.append(QUOTE)
            at += 1
        elif (after := _passed(text, at, ends)) >= n or ends.match(text, after):
            return "".join(parts), after
        else:
            at = _end(text, at, ends)
            return text[begin:at], at
    return "".join(parts), n


def table(every: Sequence[CsvRow], columns: int) -> tuple[list[Cells], list[str | None]]:
    """The cells by column, and of each row that is none what stands there; else None."""
    by_column: list[Cells] = [[] for _ in range(columns)]
    raw: list[str | None] = []
    for row in every:
        cells = row.cells[:columns] + [None] * (columns - len(row.cells))
        for column, cell in zip(by_column, cells, strict=True):
            column.append(cell)
        raw.append(None if len(row.cells) == columns else row.raw)
    return by_column, raw
