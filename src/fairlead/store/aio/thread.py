"""Verbs in threads: SQLite waits for the disk, and has no other way to let a loop go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from fairlead.errors import StoreError
from fairlead.store.aio.joining import Joined, on_sqlite
from fairlead.store.aio.running import Endings, asker
from fairlead.store.database.connections import closed, nested
from fairlead.store.database.sqlite import BUSY_TIMEOUT

T = TypeVar("T")


class OnThread:
    """Runs the verbs of a store on SQLite in two threads: one writes, the other reads.

    One task writes at a time: while a transaction of one is open, others that write wait for it, as
    they do for other processes. So there are two locks, the turn and the database's own, and
    whoever wants both takes the turn first. A connection of the user's own may have the database's
    lock already: then it does without the turn, as whoever has that waits for it.
    """

    def __init__(self) -> None:
        """Of one store."""
        self.place = ""
        """The database, as errors name it; known when it is open."""
        self._thread = ThreadPoolExecutor(1, "fairlead-store")
        self._reader = ThreadPoolExecutor(1, "fairlead-store-reader")
        """It does not stand still where the other one waits for the database's lock."""
        self._endings = Endings()
        self._turn = asyncio.Lock()
        self.writes = 0
        """So many times somebody was the one who writes."""
        self._writer: object = None
        """The task that writes."""
        self._open = False
        """Whether its transaction has begun, so that it has the database's lock."""
        self._closed = False
        self._joiners: set[object] = set()
        """Tasks with a transaction on a connection of their own."""

    async def read(self, verb: Callable[[], T]) -> T:
        return await self._endings.to_the_end(self._run(verb, self._reader))

    async def write(self, verb: Callable[[], T]) -> T:
        return await self.surely(verb)

    async def surely(
        self, verb: Callable[[], T], undo: Callable[[T], Awaitable[None]] | None = None
    ) -> T:
        self._refuse_joiners()
        if self._writer is asker():  # what writes is refused there
            return await self._endings.to_the_end(self._run(verb), undo)
        async with self.turn():
            return await self._endings.to_the_end(self._run(verb), undo)

    async def within(self, verb: Callable[[], T]) -> T:
        return await self._endings.to_the_end(self._run(verb))

    async def begin(self, block: AbstractContextManager[T]) -> T:
        self._refuse_joiners()
        if self._writer is asker():
            return await self.within(block.__enter__)
        await self._wait()
        self._writer = asker()
        try:
            result = await self._endings.to_the_end(
                self._run(block.__enter__), lambda _: self._undo(block)
            )
        except BaseException:
            self._pass_on()
            raise
        self._open = True
        return result

    async def end(
        self,
        block: AbstractContextManager[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._endings.to_the_end(self._run(partial(block.__exit__, kind, error, trace)))
        finally:
            self._pass_on()

    async def close(self) -> None:
        await self._endings.wait()
        self._closed = True
        self._thread.shutdown()
        self._reader.shutdown()

    def joined(self, raw: object) -> Joined:
        return on_sqlite(raw, self.joining, self._endings)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Be the one who writes. Raises StoreError where another task is for too long."""
        await self._wait()
        self._writer = asker()
        try:
            yield
        finally:
            self._pass_on()

    @asynccontextmanager
    async def joining(self, in_transaction: Callable[[], bool]) -> AsyncIterator[None]:
        """The same, on a connection of the user's own; it needs no turn that waits for it.

        `in_transaction`: whether it may have the database's lock already.
        """
        self._refuse_joiners()
        if self._writer is asker():
            raise nested("task")
        async with AsyncExitStack() as stack:
            if not self._turn.locked() or self._open or not in_transaction():
                await stack.enter_async_context(self.turn())
            self._joiners.add(asker())
            stack.callback(self._joiners.discard, asker())
            yield

    def _refuse_joiners(self) -> None:
        if asker() in self._joiners:
            raise nested("task")

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(BUSY_TIMEOUT):
                await self._turn.acquire()
        except TimeoutError:
            raise StoreError(
                f"{self.place}: another task has had a transaction open for {BUSY_TIMEOUT:g} "
                "seconds"
            ) from None

    def _pass_on(self) -> None:
        self._writer, self._open = None, False
        self.writes += 1
        self._turn.release()

    async def _run(self, verb: Callable[[], T], thread: ThreadPoolExecutor | None = None) -> T:
        if self._closed:
            raise closed(self.place)
        run = partial(copy_context().run, verb)  # in the task's context: its span, say
        return await asyncio.get_running_loop().run_in_executor(thread or self._thread, run)

    async def _undo(self, block: AbstractContextManager[Any]) -> None:
        error = asyncio.CancelledError()
        await self._run(partial(block.__exit__, type(error), error, None))
