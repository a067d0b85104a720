"""On PostgreSQL the server says what arrives, to the session by which a process says it lives."""

from __future__ import annotations

from fairlead.store.queues.hearing import Sleepers
from fairlead.store.queues.lease_holders_postgresql import SessionLocks


class SessionHearing:
    """Who listens to one session."""

    def __init__(self, session: SessionLocks) -> None:
        """`session`: to which it is said."""
        self._session = session

    def begin(self, queue: int, left: float) -> bool:
        if self._session.hears(queue):
            return False
        with self._session.interrupting(left) as ours:
            if ours:
                self._session.listen(queue)
        return True

    def hears_surely(self, queue: int) -> bool:
        return self._session.hears_surely(queue)

    def hear(self, sleepers: Sleepers, left: float) -> None:
        for queue, meant in self._session.hear(left):
            sleepers.arrived(queue, meant=meant)

    def stop(self) -> None:
        self._session.poke()
