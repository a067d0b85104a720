"""Open a store for an event loop: on each database it runs its verbs in another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fairlead.balance.times import Time
from fairlead.errors import EnvironmentProblem
from fairlead.store.aio.running import Runner
from fairlead.store.aio.thread import OnThread
from fairlead.store.aio.waking import Ears, Eyes, LoopWaker
from fairlead.store.database.postgresql import open_postgresql, without_password
from fairlead.store.store import Store

Opened = tuple[Store, Runner, LoopWaker]


async def opened_on_sqlite(
    url: str, clock: Callable[[], Time] | None, how: Mapping[str, Any]
) -> Opened:
    """A store on SQLite; its verbs run in a thread."""
    runner = OnThread()
    try:
        store: Store = await runner.read(partial(Store.open, url, clock=clock, **how))
    except BaseException:
        await runner.close()
        raise
    runner.place = store.place

    waker = Eyes(runner, store.waker.look, store.waker.version)
    return store, runner, waker


async def opened_on_postgresql(
    url: str, clock: Callable[[], Time] | None, how: Mapping[str, Any], connections: int
) -> Opened:
    """A store on PostgreSQL; its verbs run on the loop."""
    try:
        from fairlead.store.aio.loop import LoopConnections, OnLoop
        from fairlead.store.aio.lots import LoopLots
        from fairlead.store.aio.sessions import LoopSessionLocks
        from fairlead.store.database.postgresql_async import AsyncPostgreSQL
    except ImportError:
        raise EnvironmentProblem(
            "an AsyncStore on PostgreSQL needs greenlet: pip install 'fairlead[postgresql]'"
        ) from None
    runner, place = OnLoop(), without_password(url)
    session = LoopSessionLocks(url)
    connect = partial(open_postgresql, url, AsyncPostgreSQL)
    pool = LoopConnections(connect, place, connections)
    store = Store(connect, session, place, clock, pool, LoopLots())
    await runner.surely(partial(store.begin, **{"create": None, "upgrade": False, **how}))
    return store, runner, Ears(runner, store.waker.look, session)
