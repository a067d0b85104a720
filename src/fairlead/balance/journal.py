"""The journal row: one format for every decision, wherever it was made."""

from __future__ import annotations

from typing import NamedTuple


class JournalRow(NamedTuple):
    """One decision. Times in whole microseconds since the epoch."""

    position: int
    """Place among all decisions of this journal, from 0."""
    time: int | None
    id: str
    cluster: str
    version: int
    """How many steps of changes the cluster had seen."""
    stream: str
    sequence: int | None
    destination: str | None
    outcome: str
    attempt: int
    step: str
    """The step that decided."""
    runner_up: str | None
