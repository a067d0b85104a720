"""Verbs on the loop itself: over psycopg's own connections for it, at most so many at one time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Final, TypeVar

from fairlead.errors import StoreError
from fairlead.store.aio.joining import Joined
from fairlead.store.aio.running import Endings, asker
from fairlead.store.database import bridge
from fairlead.store.database.connections import Connections
from fairlead.store.database.port import Database

T = TypeVar("T")

PATIENCE: Final = 30.0
"""Seconds for which a task waits for its turn."""


class OnLoop:
    """Runs verbs on the event loop: others go on where one waits for the database."""

    def __init__(self) -> None:
        """Of one store."""
        self._endings = Endings()

    async def read(self, verb: Callable[[], T]) -> T:
        return await bridge.run_verb(verb, asker())

    async def write(self, verb: Callable[[], T]) -> T:
        return await bridge.run_verb(verb, asker())

    async def surely(
        self, verb: Callable[[], T], undo: Callable[[T], Awaitable[None]] | None = None
    ) -> T:
        return await self._endings.to_the_end(bridge.run_verb(verb, asker()), undo)

    async def within(self, verb: Callable[[], T]) -> T:
        return await bridge.run_verb(verb, asker())

    async def begin(self, block: AbstractContextManager[T]) -> T:
        return await bridge.run_verb(block.__enter__, asker())

    async def end(
        self,
        block: AbstractContextManager[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        leave = partial(block.__exit__, kind, error, trace)
        await self._endings.to_the_end(bridge.run_verb(leave, asker()))

    async def close(self) -> None:
        await self._endings.wait()

    def joined(self, raw: object) -> Joined:
        return Joined(raw, self)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Several write at one time."""
        yield


class LoopConnections(Connections):
    """As many connections as tasks use at one time, up to a limit; others wait for their turn.

    A task that has one already, as it is in a transaction, gets a second one beyond the limit:
    else tasks that wait for each other would wait for ever.
    """

    caller = "task"

    def __init__(self, connect: Callable[[], Database], place: str, most: int) -> None:
        """`most`: of connections at one time."""
        super().__init__(connect, place)
        self._most = most
        self._turns = asyncio.Semaphore(most)
        self._in_use: Counter[object] = Counter()
        """Task → its connections."""
        self._users: dict[int, tuple[object, bool]] = {}
        """Connection → the task that uses it, and whether it has waited for its turn."""

    def _caller(self) -> object:
        return bridge.owner()

    def _free(self) -> tuple[Database, bool]:
        caller = self._caller()
        in_turn = not self._in_use[caller]
        self._in_use[caller] += 1
        try:
            if in_turn:
                bridge.wait_for(self._turn())
        except BaseException:
            self._leave(caller, in_turn=False)
            raise
        try:
            result = super()._free()
        except BaseException:
            self._leave(caller, in_turn=in_turn)
            raise
        self._users[id(result[0])] = caller, in_turn
        return result

    async def _turn(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._turns.acquire()
        except TimeoutError:
            raise StoreError(
                f"{self._place}: found all {self._most} connections in use for {PATIENCE:g} "
                "seconds, allowed: shorter transactions, or more `connections` of the store"
            ) from None

    def _give_back(self, database: Database) -> None:
        caller, in_turn = self._users.pop(id(database))
        try:
            super()._give_back(database)
        finally:
            self._leave(caller, in_turn=in_turn)

    def _leave(self, caller: object, *, in_turn: bool) -> None:
        self._in_use[caller] -= 1
        if not self._in_use[caller]:
            del self._in_use[caller]
        if in_turn:
            self._turns.release()
