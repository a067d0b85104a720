"""How a process says that it lives to others who use the same SQLite file."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import WeakSet

from fairlead.errors import StoreError
from fairlead.store.database.port import Database
from fairlead.store.database.reserve import Reserve
from fairlead.store.queues.lease_holders import Holder


class LockFiles:
    """A lock on a file for each holder, `work.db-holder-7`: the system takes it from the dead."""

    def __init__(self, path: Path) -> None:
        """`path`: the database's file."""
        self.path = path
        self._reserve = Reserve(path)
        self._own: dict[int, int] = {}
        _files.add(self)

    def live(self, id_: int, database: Database) -> None:
        del database
        if id_ not in self._own:
            file = os.open(self._file(id_), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                raise StoreError(
                    f"{self.path}: found that another process holds the lock of holder {id_}: the "
                    "file was deleted or replaced while this store was open; allowed: to open it "
                    "anew"
                ) from None
            self._own[id_] = file
            self._reserve.keep()

    def check(self) -> None:
        """The system keeps the locks."""

    def dead(self, database: Database, holders: Sequence[Holder]) -> set[int]:
        here = socket.gethostname()
        return {
            id_
            for id_, host, _ in holders
            if host == here and id_ not in self._own and self._is_free(id_)
        }

    def gone(self, database: Database, holders: Sequence[Holder]) -> set[int]:
        return self.dead(database, holders)

    def blameless(self, database: Database, taken: int) -> bool:
        return False

    def close(self) -> None:
        for id_, file in self._own.items():
            self._file(id_).unlink(missing_ok=True)
            os.close(file)
        self._own = {}

    def _is_free(self, id_: int) -> bool:
        try:
            file = os.open(self._file(id_), os.O_RDWR)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        else:
            self._file(id_).unlink(missing_ok=True)
            return True
        finally:
            os.close(file)

    def _file(self, id_: int) -> Path:
        return self.path.with_name(f"{self.path.name}-holder-{id_}")

    def leave_to_parent(self) -> None:
        """In a forked child: the holder is the parent, whose lock must end with the parent."""
        for file in self._own.values():
            with suppress(OSError):
                os.close(file)
        self._own = {}


_files: Final[WeakSet[LockFiles]] = WeakSet()


def _leave_to_parent() -> None:
    for locks in list(_files):
        locks.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)
