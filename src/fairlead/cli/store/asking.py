"""Whoever is at a terminal is asked before something is done that cannot be undone."""

from __future__ import annotations

import sys

import typer

from fairlead.balance.objects import on_one_line


def is_wanted(question: str, *, yes: bool) -> bool:
    """Ask on a terminal, unless `yes`; says so where nothing is to be done."""
    if yes or not sys.stdin.isatty() or typer.confirm(on_one_line(question), err=True):
        return True
    print("nothing was done")
    return False
