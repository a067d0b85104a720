"""Whoever is at a terminal is asked before something is done that cannot be undone."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from fairlead.balance.objects import on_one_line


def is_wanted(question: str | Callable[[], str], *, yes: bool) -> bool:
    """Ask on a terminal, unless `yes`; says so where nothing is to be done.

    `question`: or what makes it, where it has to count for that.
    """
    if yes or not sys.stdin.isatty():
        return True
    text = question if isinstance(question, str) else question()
    if typer.confirm(on_one_line(text), err=True):
        return True
    print("nothing was done")
    return False
