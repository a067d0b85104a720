"""A connection of the user's own on an event loop, and how verbs run on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
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


class Here:
    """Runs verbs where the connection is used: in the loop's own thread, or in its own."""

    def __init__(
        self,
        run: Callable[[Callable[[], Any]], Any],
        turn: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        """`run`: gives a coroutine that runs a function there."""
        self._run = run
        self.turn = turn

    async def begin(self, block: AbstractContextManager[T]) -> T:
        found: T = await self._run(block.__enter__)
        return found

    async def within(self, verb: Callable[[], T]) -> T:
        found: T = await self._run(verb)
        return found

    async def end(
        self,
        block: AbstractContextManager[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._run(lambda: block.__exit__(kind, error, trace))


async def unwrapped(connection: object) -> Any:  # noqa: ANN401 - a driver's connection
    """The driver's connection under one of SQLAlchemy's for loops, in a transaction."""
    found: Any = connection
    if hasattr(found, "sync_session"):
        found = await found.connection()
    if hasattr(found, "sync_connection") and hasattr(found, "get_raw_connection"):
        if not found.in_transaction():
            await found.begin()  # else its commit would know of no transaction
        found = (await found.get_raw_connection()).driver_connection
    return found


def on_sqlite(
    raw: Any,  # noqa: ANN401 - a driver's connection
    turn: Callable[[], AbstractAsyncContextManager[None]],
) -> Joined:
    """A connection of sqlite3, used by the loop's thread, or of aiosqlite, which has a thread."""
    if isinstance(getattr(raw, "_conn", None), sqlite3.Connection):
        return Joined(raw._conn, Here(raw._execute, turn))  # noqa: SLF001 - no other way leads in
    return Joined(raw, Here(_at_once, turn))


async def _at_once(verb: Callable[[], T]) -> T:
    return verb()
