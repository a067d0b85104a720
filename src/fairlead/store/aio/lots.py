"""What many tasks ask for at one time is done in one transaction.

A few go at once, each by itself. What others ask meanwhile is a lot: the first of them does it for
all, one lot after another. So nobody waits for others to come, and the more there are, the less
each costs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from copy import copy
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, TypeVar

from fairlead.errors import StoreError
from fairlead.store.database import bridge

FEW: Final = 2
"""So many are under way at one time, and a lot is more than that: a transaction for less costs more
than a statement for each."""
MOST: Final = 100
"""So many are done in one transaction."""
PATIENCE: Final = 0.5
"""Seconds after which the others go on, whether the one before is through or not."""

Item = TypeVar("Item")
Found = TypeVar("Found")


class _Verdict(Enum):
    """What somebody who waits is told, where it is no result."""

    LEAD = "do it, for all who wait"
    ALONE = "do it yourself"


class _Place(NamedTuple, Generic[Item]):
    """A call that waits for its turn, and where its result goes."""

    item: Item
    told: asyncio.Future[Any]


class _LotLine:
    """Of what is asked alike: what is under way, and who waits."""

    def __init__(self) -> None:
        self.alone = 0
        self.lots = 0
        """One at a time, but for those that are slow."""
        self.places: deque[_Place[Any]] = deque()


class _Turn:
    """Of somebody who is under way, until the next one may be."""

    def __init__(self, key: Hashable, *, leads: bool) -> None:
        self.key, self.leads = key, leads
        self.is_over = False


class LoopLots:
    """Who waits for whom, on one event loop."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._lines: dict[Hashable, _LotLine] = {}

    def do(
        self,
        key: Hashable,
        item: Item,
        alone: Callable[[], Found],
        together: Callable[[list[Item]], list[Found] | None],
    ) -> Found:
        """Do what is asked, by itself or with others of the same key; inside a verb on the loop.

        `together` returns the result of each, or None where each is to be done by itself, and
        nothing was done. What it raises is raised to all.
        """
        line = self._lines.setdefault(key, _LotLine())
        if not line.lots and line.alone < FEW:
            line.alone += 1
            return self._in_turn(_Turn(key, leads=False), alone)
        place = _Place(item, asyncio.get_running_loop().create_future())
        line.places.append(place)
        try:
            answer = bridge.wait_for(place.told)
        except asyncio.CancelledError:
            if place.told.done() and not place.told.cancelled():
                self._pass_on(key, place.told)
            raise
        if answer is _Verdict.ALONE:
            return alone()
        if answer is _Verdict.LEAD:
            turn = _Turn(key, leads=True)
            return self._in_turn(turn, lambda: self._lead(key, place, alone, together))
        result: Found = answer
        return result

    def _in_turn(self, turn: _Turn, what: Callable[[], Found]) -> Found:
        timer = asyncio.get_running_loop().call_later(PATIENCE, self._end, turn)
        try:
            return what()
        finally:
            timer.cancel()
            self._end(turn)

    def _pass_on(self, key: Hashable, told: asyncio.Future[Any]) -> None:
        """Somebody was told something, and is cancelled: if it was to lead, the next one does."""
        if told.exception() is None and told.result() is _Verdict.LEAD:
            self._end(_Turn(key, leads=True))

    def _end(self, turn: _Turn) -> None:
        """The next one leads."""
        if turn.is_over:
            return
        turn.is_over = True
        line = self._lines[turn.key]
        if turn.leads:
            line.lots -= 1
        else:
            line.alone -= 1
        while line.places and not line.lots:
            place = line.places.popleft()
            if not place.told.done():  # else it was cancelled
                line.lots += 1
                place.told.set_result(_Verdict.LEAD)
        if not line.lots and not line.alone:
            del self._lines[turn.key]

    def _lead(
        self,
        key: Hashable,
        own: _Place[Item],
        alone: Callable[[], Found],
        together: Callable[[list[Item]], list[Found] | None],
    ) -> Found:
        waiting, lot = self._lines[key].places, [own]
        while waiting and len(lot) < MOST:
            place = waiting.popleft()
            if not place.told.done():
                lot.append(place)
        results: list[Found] | None = None
        try:
            if len(lot) > FEW:
                results = together([place.item for place in lot])
        except StoreError as error:
            for follower in lot[1:]:
                if not follower.told.done():
                    follower.told.set_exception(copy(error))
            raise
        finally:
            for k, follower in enumerate(lot[1:], 1):
                if not follower.told.done():
                    follower.told.set_result(_Verdict.ALONE if results is None else results[k])
        return alone() if results is None else results[0]
