"""A connection of the user's own on an event loop, and how verbs run on it."""

from __future__ import annotations

import sqlite3
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Within(Protocol):
    """How verbs run in a transaction of the user's own."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Be the one who writes, where one writes at a time."""

    async def begin(self, block: AbstractContextManager[T]) -> T:
        """Begin the block of it that is the store's."""

    async def within(self, verb: Callable[[], T]) -> T:
        """Run a verb in it."""

    async def end(
        self,
        block: AbstractContextManager[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the block."""


class Joined(NamedTuple):
    """The driver's connection, and how verbs run on it."""

    connection: object
    runs: Within


class ToTheEnd(Protocol):
    """What must not stop in the middle: see `Endings` of `running.py`."""

    async def to_the_end(
        self,
        what: Coroutine[Any, Any, T],
        undo: Callable[[T], Awaitable[None]] | None = None,
    ) -> T:
        """Do something that must not stop in the middle."""


class Here:
    """Runs verbs where the connection is used: in the loop's own thread, or in its own."""

    def __init__(
        self,
        run: Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]],
        turn: Callable[[], AbstractAsyncContextManager[None]],
        endings: ToTheEnd,
    ) -> None:
        """`run`: gives a coroutine that runs a function there."""
        self._run = run
        self._endings = endings
        self.turn = turn

    async def begin(self, block: AbstractContextManager[T]) -> T:
        async def undo(_: T) -> None:
            error = CancelledError()
            await self._run(lambda: block.__exit__(type(error), error, None))

        result: T = await self._endings.to_the_end(self._run(block.__enter__), undo)
        return result

    async def within(self, verb: Callable[[], T]) -> T:
        result: T = await self._run(verb)
        return result

    async def end(
        self,
        block: AbstractContextManager[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._endings.to_the_end(self._run(lambda: block.__exit__(kind, error, trace)))


async def unwrapped(connection: object) -> Any:  # noqa: ANN401 - a driver's connection
    """The driver's connection under one of SQLAlchemy's for loops, in a transaction."""
    layer: Any = connection
    if hasattr(layer, "sync_session"):
        layer = await layer.connection()
    if hasattr(layer, "sync_connection") and hasattr(layer, "get_raw_connection"):
        if not layer.in_transaction():
            await layer.begin()  # else its commit would know of no transaction
        layer = (await layer.get_raw_connection()).driver_connection
    return layer


def on_sqlite(
    raw: Any,  # noqa: ANN401 - a driver's connection
    turn: Callable[[Callable[[], bool]], AbstractAsyncContextManager[None]],
    endings: ToTheEnd,
) -> Joined:
    """A connection of sqlite3, used by the loop's thread, or of aiosqlite, which has a thread.

    `turn`: to be the one who writes; it is told whether the connection is in a transaction already.
    """
    used, run = raw, _at_once
    if isinstance(getattr(raw, "_conn", None), sqlite3.Connection):
        used, run = raw._conn, raw._execute  # noqa: SLF001 - no other way leads in

    def in_transaction() -> bool:
        return bool(getattr(used, "in_transaction", False))

    return Joined(used, Here(run, partial(turn, in_transaction), endings))


async def _at_once(verb: Callable[[], T]) -> T:
    return verb()
