"""Verbs in a thread: SQLite waits for the disk, and has no other way to let a loop go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
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
    """Runs the verbs of a store on SQLite in one thread, which has all its connections.

    One task writes at a time: while a transaction of one is open, others that write wait for it, as
    they do for other processes.
    """

    def __init__(self) -> None:
        """Of one store."""
        self.place = ""
        """The database, as errors name it; known when it is open."""
        self._thread = ThreadPoolExecutor(1, "fairlead-store")
        self._endings = Endings()
        self._turn = asyncio.Lock()
        self.writes = 0
        """So many times somebody was the one who writes."""
        self._writer: object = None
        """The task with the transaction that is open."""
        self._closed = False
        self._joins = False
        """Whether it is one on a connection of the user's own."""

    async def read(self, verb: Callable[[], T]) -> T:
        return await self._endings.to_the_end(self._run(verb))

    async def write(self, verb: Callable[[], T]) -> T:
        return await self.surely(verb)

    async def surely(
        self, verb: Callable[[], T], undo: Callable[[T], Awaitable[None]] | None = None
    ) -> T:
        if self._writer is asker():  # what writes is refused there
            if self._joins:
                raise nested("task")
            return await self._endings.to_the_end(self._run(verb), undo)
        async with self.turn():
            return await self._endings.to_the_end(self._run(verb), undo)

    async def within(self, verb: Callable[[], T]) -> T:
        return await self.read(verb)

    async def begin(self, block: AbstractContextManager[T]) -> T:
        if self._writer is asker():
            return await self.read(block.__enter__)
        await self._wait()
        self._writer = asker()
        try:
            return await self._endings.to_the_end(
                self._run(block.__enter__), lambda _: self._undo(block)
            )
        except BaseException:
            self._pass_on()
            raise

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

    def joined(self, raw: object) -> Joined:
        return on_sqlite(raw, self.joining)

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
    async def joining(self) -> AsyncIterator[None]:
        """The same, on a connection of the user's own."""
        if self._writer is asker():
            raise nested("task")
        async with self.turn():
            self._joins = True
            try:
                yield
            finally:
                self._joins = False

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
        self._writer = None
        self.writes += 1
        self._turn.release()

    async def _run(self, verb: Callable[[], T]) -> T:
        if self._closed:
            raise closed(self.place)
        run = partial(copy_context().run, verb)  # in the task's context: its span, say
        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def _undo(self, block: AbstractContextManager[Any]) -> None:
        error = asyncio.CancelledError()
        await self._run(partial(block.__exit__, type(error), error, None))
