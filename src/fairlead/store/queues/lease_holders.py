"""Who holds work, and who of them is dead.

A process that takes work is a lease holder, and says that it lives by a lock that ends with it: on
SQLite on a file of its own beside the database (`lease_holders_sqlite.py`), on PostgreSQL of a
session of its own (`lease_holders_postgresql.py`). So the work of a process that was killed is
taken back at once, by whoever takes next (`leases.py`); that of a machine that is lost, or of a
process that hangs, when its lease is over (`maintenance.py`).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Protocol

from fairlead.store.database.port import Database

Holder = tuple[int, str, int]
"""Its number, its host and its process there."""


class Liveness(Protocol):
    """How holders of one kind of database say that they live."""

    def live(self, id_: int, database: Database) -> None:
        """Say that this process is the holder, for as long as it lives.

        `database`: in the transaction in which the holder was added.
        """

    def check(self) -> None:
        """See to it that others still know that it lives."""

    def dead(self, database: Database, holders: Sequence[Holder]) -> set[int]:
        """Those of other holders that are surely dead."""

    def gone(self, database: Database, holders: Sequence[Holder]) -> set[int]:
        """Those of other holders of which nothing is there, as far as can be seen now.

        One that has only lost its connection is among them for the seconds until it has another.
        """

    def blameless(self, database: Database, taken: int) -> bool:
        """Whether work taken then was lost because the database's server was started anew."""

    def close(self) -> None:
        """This process holds nothing any more."""


def is_running(host: str, pid: int) -> bool:
    """Whether a process may be running; of another host, it may. `pid`: 0, if it has left."""
    if pid == 0:
        return False
    if host != socket.gethostname():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def is_seen_running(host: str, pid: int) -> bool:
    """The same, but of another host nothing is seen."""
    return host == socket.gethostname() and is_running(host, pid)


def describe_self() -> dict[str, object]:
    """The host, the process and what they are called in the journal."""
    host, pid = socket.gethostname(), os.getpid()
    return {"host": host, "pid": pid, "name": f"{host}:{pid}"}
