"""The file of a SQLite database, which may be deleted or replaced under an open store."""

from __future__ import annotations

from pathlib import Path

from fairlead.errors import StoreError


class SameFile:
    """The file that stood at a path when a store first opened it.

    Who deletes a file, or moves a copy to its place, takes only its name away: SQLite goes on to
    write into what has no name any more, and all of it is gone with the last connection.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._first: tuple[int, int] | None = None
        """Device and number of the file; None: it was not opened yet."""

    def opened(self) -> None:
        """A connection was opened: the first one says which file it is."""
        if self._first is None:
            self._first = self._now()

    @property
    def gone(self) -> bool:
        """Whether it was opened, and the path now leads to another file, or to none."""
        return self._first is not None and self._now() != self._first

    def check(self) -> None:
        """Raises StoreError where the file is gone."""
        if self.gone:
            raise gone(str(self.path))

    def _now(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:  # its folder may not be searched any more: that says nothing of the file
            return self._first
        return status.st_dev, status.st_ino


def gone(place: str) -> StoreError:
    """What is raised where the file of an open database was deleted or replaced."""
    return StoreError(
        f"{place}: found that the file was deleted or replaced while it was open, allowed: the "
        "file that was opened; nothing of this was written. Open the store anew"
    )
