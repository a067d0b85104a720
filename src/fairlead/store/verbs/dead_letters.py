"""Dead letters: to look at them, to send them again, to delete them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError
from fairlead.store.admin import dead_letters
from fairlead.store.admin.dead_letters import (
    Dead,
    DeadCounts,
    DeadLetterFilter,
    DeadPortion,
)
from fairlead.store.arguments import queue_name, whole
from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again
from fairlead.store.queues.settings import Queue, known_queue
from fairlead.store.verbs.store_verbs import StoreVerbs, nobody


class StoreDeadLetters(StoreVerbs):
    """Each in a transaction of its own."""

    def dead(
        self, queue: str, most: int = 100, after: int = 0, *, reason: str | None = None
    ) -> list[Dead]:
        """The dead letters of a queue, at most so many, the oldest first.

        `reason`: only those whose reason begins with this text. Raises MessageError.
        """
        whole("most", most, 1)
        whole("after", after, 0)
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return dead_letters.dead(database, row, most, after, beginning_of_reasons(reason))

    def dead_counts(self, queue: str, most: int = 10, *, reason: str | None = None) -> DeadCounts:
        """How many dead letters a queue has, and how many of each reason.

        `most`: of so many reasons, the most frequent ones. `reason`: only those whose reason begins
        with this text. Raises MessageError.
        """
        whole("most", most, 1)
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return dead_letters.dead_counts(database, row, beginning_of_reasons(reason), most)

    def requeue(
        self,
        queue: str,
        ids: Iterable[str] | None = None,
        *,
        reason: str | None = None,
        told: Callable[[int], None] = nobody,
    ) -> int:
        """Send dead letters again, to the end of their groups; how many. `ids`: None = all.

        `reason`: all whose reason begins with this text. `told`: is called after each portion, with
        how many are sent so far. Raises MessageError.
        """
        return self._in_steps(queue, ids, reason, dead_letters.requeue, told)

    def discard(
        self,
        queue: str,
        ids: Iterable[str] | None = None,
        *,
        reason: str | None = None,
        told: Callable[[int], None] = nobody,
    ) -> int:
        """Delete dead letters; how many. `ids`: None = all. The journal says which they were.

        `reason`: all whose reason begins with this text. `told`: as `requeue` has it. Raises
        MessageError.
        """
        return self._in_steps(queue, ids, reason, dead_letters.discard, told)

    def _in_steps(
        self,
        queue: str,
        ids: Iterable[str] | None,
        reason: str | None,
        step: Callable[[Database, Queue, DeadLetterFilter, str], DeadPortion],
        told: Callable[[int], None],
    ) -> int:
        if isinstance(ids, str):
            raise MessageError(f"ids: found {repr_of(ids)}, allowed: several, or None for all")
        if ids is not None and reason is not None:
            raise MessageError("dead letters: found ids and reason, allowed: one of them")
        wanted = DeadLetterFilter(None if ids is None else list(ids), beginning_of_reasons(reason))

        @again
        def one(after: int) -> DeadPortion:
            with self._writing() as database:
                database.run("may_operate")
                row = known_queue(database, queue_name(queue), self._clock())
                return step(database, row, wanted._replace(after=after), self._context.actor)

        done, after = 0, 0
        while True:
            portion = one(after)
            done += portion.done
            told(done)
            if portion.after is None:
                return done
            after = portion.after


def beginning_of_reasons(reason: object) -> str | None:
    """With what reasons begin. Raises MessageError for what is no text, or an empty one."""
    if reason is None or (isinstance(reason, str) and reason and "\0" not in reason):
        return reason
    raise MessageError(
        f"reason: found {repr_of(reason)}, allowed: the text with which it begins, or None for any"
    )
