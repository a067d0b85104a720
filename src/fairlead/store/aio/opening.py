"""Open a store for an event loop: on each database it runs its verbs in another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from fairlead.balance.times import Time
from fairlead.errors import EnvironmentProblem
from fairlead.store.aio.running import Runner
from fairlead.store.aio.thread import OnThread
from fairlead.store.aio.waking import Ears, Eyes, LoopWaker
from fairlead.store.backends.port import BackendKind
from fairlead.store.backends.postgresql import PostgresqlBackend
from fairlead.store.backends.sqlite import SqliteBackend
from fairlead.store.backends.urls import backend_of
from fairlead.store.database.connections import Connections
from fairlead.store.store import Store

Opened = tuple[Store, Runner, LoopWaker]


class SqliteOnThreads:
    """SQLite waits for the disk, and has no other way to let a loop go on."""

    @staticmethod
    async def opened(
        url: str, clock: Callable[[], Time] | None, how: Mapping[str, Any], most: int
    ) -> Opened:
        """Its verbs run in two threads, each of which has one connection."""
        del most
        backend, runner = SqliteBackend(url), OnThread()
        runner.place = backend.place
        connections = Connections(backend.connect, backend.place)
        store = Store(backend, clock, connections)
        try:
            await runner.read(partial(store.begin, **how))
        except BaseException:
            await runner.close()
            raise
        waker = Eyes(runner, store.waker.look, backend.hearing(connections).version)
        return store, runner, waker


class PostgresqlOnLoop:
    """Psycopg has connections for loops."""

    @staticmethod
    async def opened(
        url: str, clock: Callable[[], Time] | None, how: Mapping[str, Any], most: int
    ) -> Opened:
        """Its verbs run on the loop."""
        try:
            from fairlead.store.aio.loop import LoopConnections, OnLoop
            from fairlead.store.aio.lots import LoopLots
            from fairlead.store.aio.sessions import LoopSessionLocks
            from fairlead.store.database.postgresql_async import AsyncPostgreSQL
        except ImportError:
            raise EnvironmentProblem(
                "an AsyncStore on PostgreSQL needs greenlet: pip install 'fairlead[postgresql]'"
            ) from None
        runner, session = OnLoop(), LoopSessionLocks(url)
        backend = PostgresqlBackend(url, AsyncPostgreSQL, session)
        pool = LoopConnections(backend.connect, backend.place, most)
        store = Store(backend, clock, pool, LoopLots())
        await runner.surely(partial(store.begin, **how))
        return store, runner, Ears(runner, store.waker.look, session)


LOOPS: Final[Mapping[BackendKind, type[SqliteOnThreads | PostgresqlOnLoop]]] = {
    SqliteBackend: SqliteOnThreads,
    PostgresqlBackend: PostgresqlOnLoop,
}


async def opened(
    url: str, clock: Callable[[], Time] | None, how: Mapping[str, Any], connections: int
) -> Opened:
    """The store of a URL. `how`: as `Store.begin` takes it; `connections`: at most so many."""
    return await LOOPS[backend_of(url)].opened(url, clock, how, connections)
