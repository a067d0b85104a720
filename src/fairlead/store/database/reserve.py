"""Room that is kept on the disk of a SQLite store, so that a full disk can be drained.

To take work is to write, too. So a process that takes work keeps some room, in a file beside the
database. Where the disk is full, that is given up for those who take and settle; senders are
refused until the disk has it again. What SQLite has written beside the database (the WAL) is moved
there first, so that it is written over, and grows no more.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from fairlead.errors import DiskFullError

SIZE: Final = 8 << 20
"""Bytes: twice what SQLite writes beside the database before it moves it there."""
PATIENCE: Final = 1.0
"""Seconds to wait for those who read the WAL."""
T = TypeVar("T")


class Reserve:
    """The room beside one database. An empty file: it was given up."""

    def __init__(self, database: Path) -> None:
        """`database`: its file."""
        self._file = database.with_name(f"{database.name}-reserve")
        self._place = str(database)

    def keep(self) -> bool:
        """Keep the room, if the disk has it; whether it is kept."""
        try:
            file = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return False
        try:
            if os.fstat(file).st_size < SIZE:
                _allocate(file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(file, 0)
            return False
        else:
            return True
        finally:
            os.close(file)

    def needed_by(self, what: Callable[[], T]) -> T:
        """Do something that is to be done on a full disk, too; then the room is given up for it."""
        try:
            return what()
        except DiskFullError:
            self._give_up()
            self._checkpoint()
        try:
            result = what()
        finally:
            self._checkpoint()
        self.keep()  # for the next one, if there is room now
        return result

    def _checkpoint(self) -> None:
        """Move what stands in the WAL into the database; not where somebody still reads it."""
        with suppress(sqlite3.Error):
            connection = sqlite3.connect(self._place, timeout=PATIENCE, isolation_level=None)
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.close()

    def _give_up(self) -> None:
        with suppress(OSError):
            os.truncate(self._file, 0)

    def check(self) -> None:
        """Raises DiskFullError where the room was given up, and the disk does not have it again."""
        try:
            given_up = not self._file.stat().st_size
        except OSError:  # nobody has taken work yet
            return
        if given_up and not self.keep():
            raise DiskFullError(
                f"{self._place}: the disk is full; nothing of this was written. What is there can "
                "be taken; senders are refused until the disk has room"
            )


def _allocate(file: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, SIZE)
    else:
        os.pwrite(file, bytes(SIZE), 0)
