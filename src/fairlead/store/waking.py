"""Wait for work: until something may have arrived, or is due."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from fairlead.store.connections import Connections
from fairlead.store.database import Database
from fairlead.store.holders import LockFiles, Session
from fairlead.store.settings import Queue, read_queue

LOOK: Final = 1.0
"""Seconds: a reader that waits looks at least so often."""
NAP: Final = 0.005
"""Seconds: so often a reader that waits looks whether a file has changed."""
PAUSE: Final = 0.05
"""Seconds until a reader looks again at what somebody else is about to settle, or for a queue that
is not there yet."""


class Waker:
    """How the readers of a store wait."""

    def __init__(
        self,
        connections: Connections,
        liveness: LockFiles | Session,
        clock: Callable[[], int | None],
    ) -> None:
        """`clock`: of the user's own, in microseconds; None: the database's."""
        self._connections = connections
        self._liveness = liveness
        self._clock = clock

    def ready(self, queue: str) -> bool:
        """Whether a group can be taken, as far as that is seen without taking it."""
        with self._connections.one() as database:
            found = read_queue(database, queue, self._clock())
            return found is not None and _is_ready(database, found)

    def wait(self, queue: str, left: float) -> None:
        """Wait until something may have arrived for a queue; so many seconds, at most one."""
        with self._connections.one() as database:
            now = self._clock()
            found = read_queue(database, queue, now)
            on = found is not None and found.columns.enabled
            if found is not None and on and now is None:
                ((due,),) = database.run("next_due", queue=found.id)
                if due is not None and due <= found.now:
                    time.sleep(min(left, PAUSE))  # it was just done, but for what is locked
                    return
                if due is not None:
                    left = min(left, (due - found.now) / 1_000_000)
            left = min(left, LOOK)
            if isinstance(self._liveness, LockFiles):
                _watch(database, found.id if found and on else 0, left)
                return
        if found is None:
            time.sleep(min(left, PAUSE))
        else:
            self._listen(self._liveness, found, left)

    def _listen(self, session: Session, queue: Queue, left: float) -> None:
        """One thread listens; the others look when it has heard something."""
        if not session.lock.acquire(timeout=left):
            return
        try:
            session.listen(queue.id)
            with self._connections.one() as database:
                if _is_ready(database, queue):
                    return
            session.hear(left)
        finally:
            session.lock.release()


def _is_ready(database: Database, queue: Queue) -> bool:
    """Whether a group is ready, or becomes so by what is done before the next take."""
    if not queue.columns.enabled:
        return False
    ((_, parked, delayed, lapsed),) = database.run("chores", queue=queue.id, now=queue.now)
    if parked or delayed or database.run("any_ready", queue=queue.id):
        return True
    # A reader may be in a transaction for longer than its lease: its group is locked then.
    return bool(lapsed and database.run("lapsed", queue=queue.id, now=queue.now, most=1))


def _watch(database: Database, queue: int, left: float) -> None:
    """Until another connection has written to the file."""
    until = time.monotonic() + left
    before = database.execute("PRAGMA data_version").fetchall()
    if database.run("any_ready", queue=queue):
        return  # it came after the last take, and before this look
    while time.monotonic() < until:
        time.sleep(min(NAP, max(until - time.monotonic(), 0)))
        if database.execute("PRAGMA data_version").fetchall() != before:
            return
