"""Whether somebody may have written to a SQLite file: where nobody has, no statement is run.

What is written goes to the file `-wal` beside the database first, and is seen by others a moment
later. So its time is looked at, and the database is asked only when that is new, or of just now.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

MOMENT: Final = 250_000_000
"""Nanoseconds after a write until which others may not have seen it."""


class FileWatch:
    """Of one database."""

    def __init__(self, path: Path) -> None:
        """`path`: the database's file."""
        self._file = path.with_name(f"{path.name}-wal")
        self._last: object = None

    def moved(self) -> bool:
        """Whether the file was written since this was asked the last time, or a moment ago."""
        try:
            status = self._file.stat()
        except OSError:  # nobody has written yet, or the last connection was closed
            return True
        now = (status.st_mtime_ns, status.st_size, status.st_ino)
        changed, self._last = now != self._last, now
        return changed or time.time_ns() - status.st_mtime_ns < MOMENT
