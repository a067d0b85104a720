"""A run that keeps clusters from everybody else, while one transaction publishes it.

Whoever would choose there meanwhile waits or is refused at once, and is told the name of the run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError, StoreError
from fairlead.store.database.port import Database
from fairlead.store.database.run_file import REFUSE, WAIT, PublishingRun, RunFile


class HeldClusters(Protocol):
    """The clusters of a run, kept from others."""

    def begin(self, database: Database) -> None:
        """From now on, in the transaction that has begun."""

    def end(self) -> None:
        """Keep the clusters from others no more."""


class HeldBySession:
    """On PostgreSQL: rows say so, for as long as a session has the lock of the run's number."""

    def __init__(self, database: Database, name: str, clusters: Sequence[str], others: str) -> None:
        """`database`: a connection of its own. Raises MessageError where the run is on its way."""
        self._database = database
        ((self._number,),) = database.run(
            "begin_holding", name=name, clusters=list(clusters), others=others
        )

    def begin(self, database: Database) -> None:
        database.run("hold_clusters", number=self._number)

    def end(self) -> None:
        with suppress(StoreError):  # the run has arrived, or not; whoever comes next sweeps it
            self._database.run("end_staging", number=self._number)


class HeldByFile:
    """On SQLite, where whoever writes is alone: a file says by which run."""

    def __init__(self, place: str, name: str, clusters: Sequence[str], others: str) -> None:
        """`place`: the database's file."""
        self._file = RunFile(Path(place))
        self._run = PublishingRun(name, list(clusters), others, int(time.time()))

    def begin(self, database: Database) -> None:
        self._file.hold(self._run)

    def end(self) -> None:
        self._file.end()


def checked_others(others: object) -> str:
    """What becomes of others. Raises MessageError for no such word."""
    if others not in (WAIT, REFUSE):
        raise MessageError(f"others: found {repr_of(others)}, allowed: {WAIT}, or {REFUSE}")
    return str(others)
