"""Events of the journal as JSON lines, or as CSV that a spreadsheet takes for text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Final

from fairlead.rows import EVENT
from fairlead.store.journal.events import Event

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a text begins that a spreadsheet would take for a formula, and calculate."""
AS_TEXT: Final = "'"
"""What makes a text of it."""


def json_lines(events: Iterable[Event]) -> str:
    """A JSON object on each line, as `fairlead journal` prints them."""
    return "".join(json.dumps(event.to_dict(), ensure_ascii=False) + "\n" for event in events)


def csv_head() -> str:
    """The names of the columns."""
    return ",".join(EVENT) + "\r\n"


def csv_lines(events: Iterable[Event]) -> str:
    """A line for each; a text that a spreadsheet would calculate has an apostrophe before it."""
    text = io.StringIO()
    lines = csv.writer(text)
    for event in events:
        lines.writerow(map(_cell, event))
    return text.getvalue()


def _cell(value: object) -> object:
    """A value as a cell; nothing is written for None."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return AS_TEXT + value
    return value
