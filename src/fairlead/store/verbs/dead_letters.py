"""Dead letters: to look at them, to send them again, to delete them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from fairlead.store.admin import dead_letters
from fairlead.store.admin.dead_letters import Dead
from fairlead.store.arguments import queue_name, whole
from fairlead.store.context import Context
from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again
from fairlead.store.queues.settings import Queue, known_queue


class StoreDeadLetters(ABC):
    """Each in a transaction of its own."""

    _context: Context
    _connection: Callable[[], AbstractContextManager[Database]]
    _writing: Callable[[], AbstractContextManager[Database]]

    @abstractmethod
    def _clock(self) -> int | None:
        """Microseconds, of a clock of the user's own; None: the database's."""

    def dead(self, queue: str, most: int = 100, after: int = 0) -> list[Dead]:
        """The dead letters of a queue, at most so many, the oldest first. Raises MessageError."""
        whole("most", most, 1)
        whole("after", after, 0)
        with self._connection() as database:
            found = known_queue(database, queue_name(queue), self._clock())
            return dead_letters.dead(database, found, most, after)

    def requeue(self, queue: str, ids: Iterable[str] | None = None) -> int:
        """Send dead letters again, to the end of their groups; how many. `ids`: None = all."""
        return self._in_steps(queue, ids, dead_letters.requeue)

    def discard(self, queue: str, ids: Iterable[str] | None = None) -> int:
        """Delete dead letters; how many. `ids`: None = all. The journal says which they were."""
        return self._in_steps(queue, ids, dead_letters.discard)

    def _in_steps(
        self,
        queue: str,
        ids: Iterable[str] | None,
        step: Callable[[Database, Queue, Iterable[str] | None, str], int],
    ) -> int:
        chosen = ids if ids is None or isinstance(ids, str) else list(ids)

        @again
        def one() -> int:
            with self._writing() as database:
                database.run("may_operate")
                found = known_queue(database, queue_name(queue), self._clock())
                return step(database, found, chosen, self._context.actor)

        done = 0
        while True:
            count = one()
            done += count
            if chosen is not None or count < dead_letters.STEP:
                return done
