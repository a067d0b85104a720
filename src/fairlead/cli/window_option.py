"""The option --window: a time that gets a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fairlead.balance.objects import repr_of
from fairlead.balance.times import moment
from fairlead.errors import UserError
from fairlead.results.comparison import Window

OPTION: Final = "--window"
FORM: Final = re.compile(
    r"\s*(?P<name>[A-Za-z0-9_-]{1,40})\s*=\s*(?P<start>.+?)\s*\.\.\s*(?P<end>.+)"
)
EXAMPLE: Final = "storm=2013-02-08T00:00..2013-02-10T00:00"
MOST: Final = 50
"""So many windows are counted."""


def windows_of(texts: Sequence[str]) -> list[Window]:
    """The windows that texts state. Raises UserError.

    >>> windows_of(["rush=0..90.5"])
    [Window(name='rush', start=0, end=90500000)]
    """
    if len(texts) > MOST:
        raise UserError(f"{OPTION}: found {len(texts)}, allowed: at most {MOST}")
    windows: list[Window] = []
    for text in texts:
        window = _window(text)
        if window.name in (other.name for other in windows):
            raise UserError(f"{OPTION} {text}: found a second {window.name!r}, allowed: one")
        windows.append(window)
    return windows


def _window(text: str) -> Window:
    parts = FORM.fullmatch(text)
    if parts is None:
        raise UserError(
            f"{OPTION}: found {repr_of(text)}, allowed: NAME=START..END, with letters, digits, _ "
            f"and - in the name, such as {EXAMPLE!r}"
        )
    start, end = (moment(parts[name], f"{OPTION} {text}", UserError) for name in ("start", "end"))
    if end <= start:
        raise UserError(f"{OPTION} {text}: found an end that is not after the start")
    return Window(parts["name"], start, end)
