"""Takes whose answer was lost on the way: what they took, this process holds, and no reader knows.

A server may have done what a connection asked that was lost before it answered. So after each loss
a process compares what it holds, as the database says, with what its readers have in hand.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from fairlead.store.database.connections import Connections
from fairlead.store.database.context import BaseContext
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.settings import read_queue
from fairlead.store.queues.taken_group import TakenGroup

LOGGER: Final = logging.getLogger("fairlead.store")
FIRST: Final = 1.0
"""Seconds after a loss until it looks."""
LAST: Final = 64.0
"""It looks again, each time after twice as long, and so long at most: the server may do late what
it was asked."""
ALL: Final = 1_000_000
"""So many groups that it holds are read."""
REASON: Final = "the answer to its taking was lost"


class _Look(NamedTuple):
    """When a queue is looked at again."""

    losses: int
    """Connections that were lost by then."""
    at: float
    """As `time.monotonic` has it."""
    pause: float
    """Seconds from the look before; more than `LAST`: none is due."""


NEVER: Final = _Look(0, 0.0, 2 * LAST)


class _Suspect(NamedTuple):
    """A group that this process holds, and that no reader has in hand yet."""

    group: int
    token: int
    underway: frozenset[object]
    """The takes that may still bring it."""


class Unanswered:
    """What this process has taken, for its readers or for nobody. Thread-safe."""

    def __init__(self, connections: Connections, context: BaseContext) -> None:
        """Of one store."""
        self._connections = connections
        self._context = context
        self._in_hand: WeakValueDictionary[int, TakenGroup] = WeakValueDictionary()
        """Token → the work, for as long as anybody can settle it."""
        self._highest = 0
        """Of the tokens."""
        self._underway: dict[object, int] = {}
        """Each take, and the highest token when it began: it can only bring higher ones."""
        self._looks: dict[str, _Look] = {}
        self._suspects: dict[str, list[_Suspect]] = {}

    @contextmanager
    def taking(self) -> Iterator[Callable[[Iterable[TakenGroup]], None]]:
        """In this block something is taken; gives what is to be told what was."""
        mark = object()
        self._underway[mark] = self._highest
        try:
            yield self._took
        finally:
            del self._underway[mark]

    def _took(self, found: Iterable[TakenGroup]) -> None:
        for held in found:
            self._in_hand[held.token] = held
            self._highest = max(self._highest, held.token)

    def give_back(self, queue: str, holder: int, *, leaves: bool = False) -> None:
        """After a loss, now and then: give back what nobody knows. Raises StoreError.

        `leaves`: nothing more is taken, and this is the last time.
        """
        underway = self._underway.copy()
        every = self._suspects.get(queue, [])
        surely = [suspect for suspect in every if not suspect.underway & underway.keys()]
        if unknown := self._unknown((suspect.group, suspect.token) for suspect in surely):
            self._give_back(queue, unknown)
        self._suspects[queue] = [suspect for suspect in every if suspect not in surely]
        look = self._look(queue)
        if look.pause > LAST or (look.at > time.monotonic() and not leaves):
            return
        with self._connections.one() as database:
            row = read_queue(database, queue, self._context.clock())
            if row is None:
                return
            rows = database.run("held_by", queue=row.id, holders=[holder], most=ALL)
        underway = self._underway.copy()
        self._suspects[queue] = [
            _Suspect(
                group, token, frozenset(mark for mark, high in underway.items() if token > high)
            )
            for group, token in self._unknown((id_, token) for id_, token, _ in rows)
        ]
        pause = 2 * look.pause
        self._looks[queue] = _Look(look.losses, time.monotonic() + pause, pause)
        if leaves:
            self.give_back(queue, holder)

    def give_back_all(self, holder: int) -> None:
        """Nothing more is taken: give back what nobody knows, of all queues. Raises StoreError."""
        for queue in list(self._looks):
            self.give_back(queue, holder, leaves=True)

    def _look(self, queue: str) -> _Look:
        """When it is due; each loss begins anew. It stays due until it is done."""
        look, losses = self._looks.get(queue, NEVER), self._connections.losses
        if look.losses != losses:
            soon = time.monotonic() + FIRST
            if look.pause <= LAST:  # where many are lost, one after another, it still looks
                soon = min(soon, look.at)
            look = _Look(losses, soon, FIRST)
        self._looks[queue] = look
        return look

    def _unknown(self, groups: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(id_, token) for id_, token in groups if token not in self._in_hand]

    def _give_back(self, queue: str, groups: list[tuple[int, int]]) -> None:
        with self._connections.writing() as database:
            engine = engine_of(database, self._context.clock(), self._context.actor)
            engine.take_back(queue, groups, REASON)
        LOGGER.warning(
            "event=given-back queue=%s groups=%d reason=%s",
            *(json.dumps(queue), len(groups), json.dumps(REASON)),
        )
