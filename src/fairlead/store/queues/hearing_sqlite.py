"""On SQLite one looks again and again whether another connection has written to the file."""

from __future__ import annotations

import time
from pathlib import Path

from fairlead.store.database.connections import Connections
from fairlead.store.database.port import Database
from fairlead.store.queues.file_watch import FileWatch
from fairlead.store.queues.hearing import Sleepers
from fairlead.store.queues.waking import LOOK, NAP


class FileHearing:
    """Who looks at one file."""

    def __init__(self, path: Path, connections: Connections) -> None:
        """`path`: the database's."""
        self._connections = connections
        self._moved = FileWatch(path).moved

    def begin(self, queue: int, left: float) -> bool:
        """What is written for any queue is seen."""
        del queue, left
        return False

    def hears_surely(self, queue: int) -> bool:
        del queue
        return True

    def hear(self, sleepers: Sleepers, left: float) -> None:
        until = time.monotonic() + left
        with self._connections.one() as database:  # no other thread writes through this one
            before, last_look = _version(database), time.monotonic()
            sleepers.look_at_all()
            while not sleepers.is_over():
                now = time.monotonic()
                if self._moved() or now > last_look + LOOK:  # a file system may tell no times
                    last_look = now
                    if _version(database) != before:
                        return
                if now >= until:
                    return
                time.sleep(min(NAP, until - now))

    def stop(self) -> None:
        """It looks often."""

    def version(self) -> object:
        """Another one when another connection has written to the file."""
        with self._connections.one() as database:
            return _version(database)


def _version(database: Database) -> object:
    return id(database), *database.execute("PRAGMA data_version").fetchall()
