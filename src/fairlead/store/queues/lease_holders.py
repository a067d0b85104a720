"""Who holds work, and who of them is dead.

A process that takes work is a holder, and says that it lives by a lock that ends with it: on SQLite
on a file of its own beside the database, on PostgreSQL of a session of its own. So the work of a
process that was killed is taken back at once, by whoever takes next; that of a machine that is
lost, or of a process that hangs, when its lease is over.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Lock
from typing import Final, Protocol
from weakref import WeakSet

from fairlead.errors import StoreError
from fairlead.store.database.port import Database
from fairlead.store.database.postgresql import PostgreSQL, open_postgresql
from fairlead.store.database.reserve import Reserve

CHANNEL: Final = "fairlead_"
"""Of a queue, with its id: on it a server notifies those who wait."""


class Liveness(Protocol):
    """How holders of one kind of database say that they live."""

    def live(self, id_: int) -> None:
        """Say that this process is the holder, for as long as it lives."""

    def dead(self, database: Database, holders: Sequence[tuple[int, str]]) -> set[int]:
        """Those of other holders (id and host) that are surely dead."""

    def blameless(self, database: Database, taken: int) -> bool:
        """Whether work taken then was lost because the database's server was started anew."""

    def close(self) -> None:
        """This process holds nothing any more."""


class LockFiles:
    """A lock on a file for each holder, `work.db-holder-7`: the system takes it from the dead."""

    def __init__(self, path: Path) -> None:
        """`path`: the database's file."""
        self._path = path
        self.reserve = Reserve(path)
        self._own: dict[int, int] = {}
        _files.add(self)

    def live(self, id_: int) -> None:
        if id_ not in self._own:
            file = os.open(self._file(id_), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                raise StoreError(
                    f"{self._path}: found that another process holds the lock of holder {id_}: the "
                    "file was deleted or replaced while this store was open; allowed: to open it "
                    "anew"
                ) from None
            self._own[id_] = file
            self.reserve.keep()

    def dead(self, database: Database, holders: Sequence[tuple[int, str]]) -> set[int]:
        here = socket.gethostname()
        return {
            id_
            for id_, host in holders
            if host == here and id_ not in self._own and self._is_free(id_)
        }

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
        return self._path.with_name(f"{self._path.name}-holder-{id_}")

    def leave_to_parent(self) -> None:
        """In a forked child: the holder is the parent, whose lock must end with the parent."""
        for file in self._own.values():
            with suppress(OSError):
                os.close(file)
        self._own = {}


_files: Final[WeakSet[LockFiles]] = WeakSet()


def _leave_to_parent() -> None:
    for each in list(_files):
        each.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)


class SessionLocks:
    """A session of the server that holds an advisory lock, and hears of new work."""

    def __init__(self, url: str) -> None:
        """Connects when it is first needed."""
        self._url = url
        self._database: PostgreSQL | None = None
        self._ids: set[int] = set()
        self._queues: set[int] = set()
        self.lock = Lock()
        """Of the thread that listens."""
        self._poke: tuple[int, int] | None = None
        """By which it is interrupted: a pipe."""
        self._counting = Condition()
        self._interrupters = 0

    def live(self, id_: int) -> None:
        self._ids.add(id_)
        if self._database is None or self._database.connection.closed:
            self._connect()
        else:
            self._database.run("lock_alive", id=id_)

    def check(self) -> None:
        """Connect again where the session was lost, as when the server was started anew."""
        if self._database is None or not self.lock.acquire(blocking=False):
            return  # whoever listens finds out
        try:
            with suppress(StoreError):  # what says that it is lost
                if not self._database.lost:
                    self._database.run("time")
            if self._database.lost:
                self._connect()
        finally:
            self.lock.release()

    def dead(self, database: Database, holders: Sequence[tuple[int, str]]) -> set[int]:
        others = [id_ for id_, _ in holders if id_ not in self._ids]
        found = database.run("dead_lease_holders", ids=others) if others else []
        return {id_ for (id_,) in found}

    def blameless(self, database: Database, taken: int) -> bool:
        ((since,),) = database.run("server_since")
        return bool(since > taken)

    def hears(self, queue: int) -> bool:
        """Whether it hears of what arrives for a queue."""
        return queue in self._queues

    @contextmanager
    def interrupting(self, timeout: float) -> Iterator[bool]:
        """Interrupt who hears; whether nobody does now. `timeout`: seconds."""
        with self._counting:
            self._interrupters += 1
        if self._poke is not None:
            os.write(self._poke[1], b"!")
        ours = self.lock.acquire(timeout=timeout)
        try:
            yield ours
        finally:
            if ours:
                self.lock.release()
            with self._counting:
                self._interrupters -= 1
                self._counting.notify_all()

    def listen(self, queue: int) -> None:
        """Hear of what arrives for a queue, from now on. Needs `lock`."""
        if self._database is not None and queue not in self._queues:
            self._hear_of(queue)
            for id_ in self._ids:
                self._database.run("add_listener", queue=queue, holder=id_)
            self._queues.add(queue)

    def hear(self, timeout: float) -> list[tuple[int, bool]]:
        """Wait until something arrives, or for so many seconds, or until somebody interrupts.

        Returns the queues for which something has, and whether this process is meant to take it.
        """
        from psycopg import Error

        with self._counting:
            self._counting.wait_for(lambda: not self._interrupters, timeout)
        with self.lock:
            database = self._database
            if database is None:
                return []
            try:
                found = self._heard(database)
                if not found:
                    self._sleep(database, timeout)
                    found = self._heard(database)
            except Error as error:
                raise StoreError(f"{database.place}: {error}") from None
        return found

    def _sleep(self, database: PostgreSQL, timeout: float) -> None:
        """Until the server says something, or somebody interrupts."""
        look = select.poll()
        look.register(database.connection.pgconn.socket, select.POLLIN)
        poke = self._poke[0] if self._poke else -1
        look.register(poke, select.POLLIN)
        for file, _ in look.poll(timeout * 1000):
            if file == poke:
                os.read(file, 1024)

    def _heard(self, database: PostgreSQL) -> list[tuple[int, bool]]:
        return [
            (
                int(each.channel.removeprefix(CHANNEL)),
                not each.payload or int(each.payload) in self._ids,
            )
            for each in database.connection.notifies(timeout=0)
        ]

    def close(self) -> None:
        if self._database is not None:
            with suppress(StoreError):
                if self._queues:
                    self._database.run("drop_listeners", ids=sorted(self._ids))
            self._database.close()
            self._database = None
        for file in self._poke or ():
            os.close(file)
        self._poke = None

    def _connect(self) -> None:
        self._database = open_postgresql(self._url)
        self._poke = self._poke or os.pipe()
        for id_ in self._ids:
            self._database.run("lock_alive", id=id_)
        for queue in self._queues:
            self._hear_of(queue)

    def _hear_of(self, queue: int) -> None:
        if self._database is not None:
            self._database.script(f"LISTEN {CHANNEL}{queue:d}")


def is_running(host: str, pid: int) -> bool:
    """Whether a process may be running; of another host, it may."""
    if host != socket.gethostname():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def describe_self() -> dict[str, object]:
    """The host, the process and what they are called in the journal."""
    host, pid = socket.gethostname(), os.getpid()
    return {"host": host, "pid": pid, "name": f"{host}:{pid}"}
