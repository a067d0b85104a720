"""How a process says that it lives to others at the same PostgreSQL server, and hears of work."""

from __future__ import annotations

import os
import secrets
import select
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Condition, Event, Lock, Thread
from typing import Any, Final

from fairlead.errors import StoreError
from fairlead.store.database.port import Database
from fairlead.store.database.postgresql import PostgreSQL, open_postgresql
from fairlead.store.queues.lease_holders import Holder, is_running, is_seen_running

SURELY: Final = 30.0
"""Seconds."""
TRIES: Final = 100
"""Keys of advisory locks that are tried."""
ASK: Final = 5.0
"""Seconds: so often a process looks whether its session is there, and connects again."""
HEAR: Final = 30.0
"""Seconds: so often the session is asked where somebody listens to it: it may have gone silent."""
GRACE: Final = 30.0
"""Seconds for which a session has to be gone before its process counts as dead, if it may live."""
CHANNEL: Final = "fairlead_"
"""Of a queue, with its id: on it a server notifies those who wait."""


class SessionLocks:
    """A session of the server that holds an advisory lock, and hears of new work."""

    def __init__(self, url: str) -> None:
        """Connects when it is first needed."""
        self._url = url
        self._database: PostgreSQL | None = None
        self._ids: set[int] = set()
        self._queues: dict[int, float] = {}
        """Queue → since when it hears of what arrives for it."""
        self.lock = Lock()
        """Of the thread that listens."""
        self._poke: tuple[int, int] | None = None
        """By which it is interrupted: a pipe."""
        self._counting = Condition()
        self._interrupters = 0
        self._session = self._key = 0
        """The server's process, and the lock that it holds."""
        self._gone: dict[int, float] = {}
        """Holder → since when its session is gone, though its process may live."""
        self._closed = Event()
        self._asked = time.monotonic()
        """When the server has last been asked over the session."""
        self._keeper: Thread | None = None

    def live(self, id_: int, database: Database) -> None:
        if self._database is None or self._database.connection.closed:
            self._connect()
        self._ids.add(id_)
        self._say_alive(database, id_)
        self._keep()

    def _keep(self) -> None:
        """See to it in the background that the session is there, whatever the readers do."""
        if self._keeper is None:
            self._keeper = Thread(target=self._ask, name="fairlead-alive", daemon=True)
            self._keeper.start()

    def _ask(self) -> None:
        while not self._closed.wait(ASK):
            with suppress(StoreError):  # it is asked again
                self.check()

    def check(self) -> None:
        """Connect again where the session was lost, as when the server was started anew."""
        if self._database is None:
            return
        if not self.lock.acquire(blocking=False):  # whoever listens finds out
            if self._is_to_be_asked():
                self.poke()
            return
        try:
            with suppress(StoreError):  # what says that it is lost
                if not self._database.lost:
                    self._database.run("time")
            if self._database.lost:
                self._connect()
        finally:
            self.lock.release()

    def dead(self, database: Database, holders: Sequence[Holder]) -> set[int]:
        """Those whose session is gone, once it is sure that they did not only lose it.

        A server or a proxy ends sessions that are idle, and a process connects again.
        """
        others = self._others(holders)
        gone, now = self._without_session(database, others), time.monotonic()
        for id_ in others:
            if id_ not in gone:
                self._gone.pop(id_, None)
        return {
            id_
            for id_ in gone
            if not is_running(*others[id_]) or now - self._gone.setdefault(id_, now) >= GRACE
        }

    def gone(self, database: Database, holders: Sequence[Holder]) -> set[int]:
        others = self._others(holders)
        without = self._without_session(database, others)
        return {id_ for id_ in without if not is_seen_running(*others[id_])}

    def _others(self, holders: Sequence[Holder]) -> dict[int, tuple[str, int]]:
        """Holder → its host and its process there."""
        return {id_: (host, pid) for id_, host, pid in holders if id_ not in self._ids}

    def _without_session(self, database: Database, others: Collection[int]) -> set[int]:
        rows = database.run("dead_lease_holders", ids=sorted(others)) if others else []
        return {id_ for (id_,) in rows}

    def blameless(self, database: Database, taken: int) -> bool:
        ((since,),) = database.run("server_since")
        return bool(since > taken)

    def hears(self, queue: int) -> bool:
        """Whether it hears of what arrives for a queue."""
        return queue in self._queues

    def hears_surely(self, queue: int) -> bool:
        """The same, also of what somebody is sending who had looked whether anybody waits before.

        Such a transaction is over by then, unless it is very long.
        """
        since = self._queues.get(queue)
        return since is not None and time.monotonic() - since > SURELY

    @contextmanager
    def interrupting(self, timeout: float) -> Iterator[bool]:
        """Interrupt who hears; whether nobody does now. `timeout`: seconds."""
        with self._counting:
            self._interrupters += 1
        self.poke()
        ours = self.lock.acquire(timeout=timeout)
        try:
            yield ours
        finally:
            if ours:
                self.lock.release()
            with self._counting:
                self._interrupters -= 1
                self._counting.notify_all()

    def poke(self) -> None:
        """Let who hears look up."""
        if self._poke is not None:
            os.write(self._poke[1], b"!")

    def listen(self, queue: int) -> None:
        """Hear of what arrives for a queue, from now on. Needs `lock`."""
        if self._database is not None and queue not in self._queues:
            self._hear_of(queue)
            for id_ in self._ids:
                self._database.run("add_listener", queue=queue, holder=id_)
            self._queues[queue] = time.monotonic()

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
                if self._is_to_be_asked():
                    self._asked = time.monotonic()
                    database.run("time")
                arrivals = self._heard(database)
                if not arrivals:
                    self._sleep(database, timeout)
                    arrivals = self._heard(database)
            except (Error, StoreError) as error:
                if not database.lost:
                    raise StoreError(f"{database.place}: {error}") from None
                self._connect()
                arrivals = self._maybe_missed()
        return arrivals

    def _is_to_be_asked(self) -> bool:
        return time.monotonic() - self._asked >= HEAR

    def _maybe_missed(self) -> list[tuple[int, bool]]:
        """Something may have arrived for any queue while nobody heard of it."""
        return [(queue, True) for queue in self._queues]

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
        return [self._meaning(notice) for notice in database.connection.notifies(timeout=0)]

    def _meaning(self, value: Any) -> tuple[int, bool]:  # noqa: ANN401 - the driver's
        """The queue for which something has arrived, and whether this process is meant.

        Every login of the server may notify: what no sender says means somebody else.
        """
        queue = int(value.channel.removeprefix(CHANNEL))
        return queue, not value.payload or value.payload in map(str, self._ids)

    def close(self) -> None:
        self._closed.set()
        if self._keeper is not None:
            self._keeper.join(ASK)
        if self._database is not None:
            with suppress(StoreError):
                if self._queues:
                    self._database.run("drop_listeners", ids=sorted(self._ids))
            self._database.close()
            self._database = None
        for file in self._poke or ():
            os.close(file)
        self._poke = None

    def _open(self) -> PostgreSQL:
        self._poke = self._poke or os.pipe()
        return open_postgresql(self._url)

    def _connect(self) -> None:
        database = self._open()
        try:
            ((only_reads,),) = database.run("only_reads")
            if only_reads:  # nobody at the server that writes would see that this process lives
                raise StoreError(
                    f"{database.place}: found a server that only reads, such as a stand-by, "
                    "allowed: one that writes; target_session_attrs=read-write in the URL finds it"
                )
            self._lock_alive(database)
        except BaseException:
            database.close()
            raise
        self._database = database
        for id_ in self._ids:
            self._say_alive(self._database, id_)
        for queue in self._queues:
            self._hear_of(queue)

    def _lock_alive(self, database: PostgreSQL) -> None:
        """Hold a lock of which nobody knows before; it is shared, so nobody need wait for it."""
        for _ in range(TRIES):
            self._key = secrets.randbits(31)
            if rows := database.run("lock_alive", key=self._key):
                ((self._session,),) = rows
                return
        raise StoreError(
            f"{database.place}: found {TRIES} advisory locks in the hands of others, allowed: one "
            "that is free, by which this process says that it lives; pg_locks says who has them"
        )

    def _say_alive(self, database: Database, id_: int) -> None:
        database.run("say_alive", id=id_, session=self._session, key=self._key)

    def _hear_of(self, queue: int) -> None:
        if self._database is not None:
            self._database.script(f"LISTEN {CHANNEL}{queue:d}")
