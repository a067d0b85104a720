"""What is to be stored: gathered while the store is busy, and then done in one transaction."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from fairlead.errors import StoreError
from fairlead.serve.node.calls import QUEUE, Take, Unit, Write

MOST: Final = 1000
"""So many are done in one transaction."""
MOST_BYTES: Final = 16 * 1024 * 1024
RETRY: Final = 1.0
"""Seconds until the store is told again what it could not take, as its database was gone."""


class WriteBatches:
    """Units of work in their order; one write at a time, so that they stay in it.

    Nothing waits for others to come: what comes while a transaction is committed is the next one.
    """

    def __init__(self, stored: Callable[[Unit], None]) -> None:
        """`stored`: called with each that has happened."""
        self._stored = stored
        self._waiting: deque[Unit] = deque()
        self._takes: list[Take] = []
        self._writing = False
        self._later: list[Unit] = []
        """What the store could not take, in its order."""
        self._behind: set[int] = set()
        """Tokens of work of which something is to be told later: so is all that is told of it."""
        self._again = 0.0
        """When the store is told again."""

    @property
    def busy(self) -> bool:
        """Whether something is still to be stored."""
        return bool(self._waiting or self._writing or self._later)

    def submit(self, unit: Unit) -> None:
        """Let one more unit wait to be stored."""
        self._waiting.append(unit)

    def take(self, call: Take) -> None:
        """Take in the next transaction, after what is stored in it."""
        self._takes.append(call)

    @property
    def destinations(self) -> set[str]:
        """The queues to which messages are sent that are to be stored now; none if others are."""
        if self._writing:
            return set()
        first = islice(self._waiting, MOST)
        return {send.to for unit in first for send in unit.sends if send.kind == QUEUE}

    def next(self) -> Write | None:
        """What the store is to do now."""
        if self._writing or not (self._waiting or self._takes):
            return None
        units: list[Unit] = []
        size = 0
        while self._waiting and len(units) < MOST and size < MOST_BYTES:
            unit = self._waiting.popleft()
            if self._behind and not self._behind.isdisjoint(unit.tokens):
                self._put_off(unit)
                continue
            units.append(unit)
            size += unit.size
        takes, self._takes = self._takes, []
        self._writing = bool(units or takes)
        return Write(units, takes) if self._writing else None

    def _put_off(self, unit: Unit) -> None:
        self._later.append(unit)
        self._behind.update(unit.tokens)

    def written(self, call: Write, results: Sequence[Exception | None], now: float) -> None:
        """What the store said to a write, of each unit."""
        self._writing = False
        for unit, refused in zip(call.units, results, strict=True):
            if unit.ends and not unit.sends and isinstance(refused, StoreError):
                self._put_off(unit)  # a receiver has said so, and goes on
                self._again = now + RETRY
                continue
            unit.done(unit, refused)
            if refused is None:
                self._stored(unit)
        self.tick(now)

    def tick(self, now: float) -> None:
        """Time passes: tell the store again, also where one write follows another."""
        if self._later and now >= self._again and not self._writing:
            self._waiting.extendleft(reversed(self._later))
            self._later.clear()
            self._behind.clear()
