"""How verbs run for tasks of an event loop.

A verb is the store's own, and is written once. On PostgreSQL it runs on the loop itself, over
connections that psycopg has for loops (`loop.py`); on SQLite in a thread (`thread.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import Any, Final, Protocol, TypeVar

from fairlead.store.aio.joining import Joined

T = TypeVar("T")

_ASKER: Final[ContextVar[object]] = ContextVar("asker")
"""The task for which another one goes on."""


class Runner(Protocol):
    """How the verbs of one store run."""

    async def read(self, verb: Callable[[], T]) -> T:
        """Run a verb that does not write."""

    async def write(self, verb: Callable[[], T]) -> T:
        """Run a verb that is a transaction of its own."""

    async def surely(
        self, verb: Callable[[], T], undo: Callable[[T], Awaitable[None]] | None = None
    ) -> T:
        """The same, to its end, whether this task is cancelled meanwhile or not.

        `undo`: what is done with its result where the task was.
        """

    async def within(self, verb: Callable[[], T]) -> T:
        """Run a verb in a transaction that this task has begun."""

    async def begin(self, block: AbstractContextManager[T]) -> T:
        """Begin a transaction: the block of one that is not awaited."""

    async def end(
        self,
        block: AbstractContextManager[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, whether this task is cancelled meanwhile or not."""

    async def close(self) -> None:
        """Run nothing more."""

    def joined(self, raw: object) -> Joined:
        """A driver's connection of the user's own, and how verbs run on it."""


def asker() -> object:
    """The task that asks for what is done here."""
    return _ASKER.get(None) or asyncio.current_task()


class Endings:
    """What is brought to its end, even where the task that waits for it is cancelled."""

    def __init__(self) -> None:
        """Nothing is."""
        self._going_on: set[asyncio.Task[Any]] = set()

    async def to_the_end(
        self,
        what: Coroutine[Any, Any, T],
        undo: Callable[[T], Awaitable[None]] | None = None,
    ) -> T:
        """Do something that must not stop in the middle.

        Where this task is cancelled meanwhile, it ends when that is done, and undone. Where it is
        cancelled again, it ends at once, and the rest goes on without it.
        """
        context = copy_context()
        context.run(_ASKER.set, asker())
        cancelled = False

        async def all_of_it() -> T:
            result = await what
            if cancelled and undo is not None:
                await undo(result)
            return result

        task = asyncio.create_task(all_of_it(), context=context)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            if task.done() and undo is not None and not task.exception():
                task = asyncio.create_task(_undo(undo, task.result()), context=context)
            cancelled = True
            self._going_on.add(task)
            task.add_done_callback(self._ended)
            await asyncio.wait([task])
            raise

    async def wait(self) -> None:
        """Until all is ended."""
        while self._going_on:
            await asyncio.wait(self._going_on)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._going_on.discard(task)
        with suppress(asyncio.CancelledError):
            task.exception()  # nobody waits for it any more


async def _undo(undo: Callable[[T], Awaitable[None]], found: T) -> T:
    await undo(found)
    return found
