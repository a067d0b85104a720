"""A worker with nothing to do asks the database nothing: its statements are counted."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from fairlead import AsyncStore, Service, Store
from fairlead.store.database.sqlite import SQLite
from fairlead.store.queues import lease_holders_postgresql
from fairlead.store.workers.activation import Readers
from fairlead.store.workers.handlers import Handler
from fairlead.store.workers.handling import Handling
from fairlead.store.workers.serving import activated, of_service
from fairlead.store.workers.worker import Worker
from tests.store.test_service import DECLARED
from tests.store.test_worker import both, empty, until
from tests.stores import made_url

SECONDS = 2
MOST = {"sqlite": SECONDS + 1, "postgresql": 0}
"""On SQLite one a second asks whether somebody has written, should a disk tell no times."""


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What any connection of this process is asked, when it hears of work for some time."""
    monkeypatch.setattr(lease_holders_postgresql, "SURELY", 0.5)
    found: list[str] = []
    for kind in (psycopg.Cursor, psycopg.AsyncCursor):
        before = kind.execute

        def execute(self: Any, query: Any, *args: Any, before: Any = before, **more: Any) -> Any:
            found.append(str(query))
            return before(self, query, *args, **more)

        monkeypatch.setattr(kind, "execute", execute)
    opened = SQLite.__init__

    def watched(self: SQLite, connection: sqlite3.Connection, *args: Any, **more: Any) -> None:
        opened(self, connection, *args, **more)
        connection.set_trace_callback(found.append)

    monkeypatch.setattr(SQLite, "__init__", watched)
    return found


def until_calm(statements: list[str]) -> Iterator[float]:
    """Pauses, in seconds, until what follows the last work is over.

    That is one more look; and on SQLite the file is of just now.
    """
    until = time.monotonic() + 60
    asked, since = len(statements), time.monotonic()
    while time.monotonic() < since + 1.2 and time.monotonic() < until:
        if len(statements) > asked + 2:
            asked, since = len(statements), time.monotonic()
        yield 0.05


def quiet(statements: list[str]) -> list[str]:
    """What is asked in a while in which nothing happens."""
    for pause in until_calm(statements):
        time.sleep(pause)
    statements.clear()
    time.sleep(SECONDS)
    return [*statements]


@pytest.mark.costly
@both
def test_an_idle_worker_asks_nothing(dialect: str, statements: list[str]) -> None:
    with Store.open(made_url(dialect)) as store:
        done: list[Any] = []
        handlers = {name: Handler(lambda m: done.append(m.body), False) for name in ("q", "r")}
        for number, name in enumerate(["q", "r"] * 3):
            store.send(name, number)
        worker = Worker(store, handlers, Handling())
        worker.start(2)
        until(lambda: len(done) == 6 and empty(store))
        assert len(quiet(statements)) <= MOST[dialect]
        began = time.monotonic()
        store.send("r", "late")
        until(lambda: done[-1] == "late")
        assert time.monotonic() - began < 30  # woken, not found a minute later
        worker.stop()
        until(lambda: not worker.busy)


@pytest.mark.slow
@both
def test_an_idle_service_asks_nothing(dialect: str, statements: list[str], tmp_path: Any) -> None:
    (tmp_path / "shop.toml").write_text(DECLARED)
    shop = Service("Orders/Shop", idle_timeout=0.1)
    shop.on("Order")(lambda message, tx: None)
    with Store.open(made_url(dialect)) as store:
        store.declare(tmp_path / "shop.toml")
        readers = Readers(store, Handling(), check_interval=0.2)
        for each in activated([of_service(shop)], store):
            readers.activate(each)
        store.begin_dialog("Orders/Client", "Orders/Shop").send("Order", "book")
        until(lambda: empty(store))
        assert len(quiet(statements)) <= MOST[dialect]
        store.begin_dialog("Orders/Client", "Orders/Shop").send("Order", "lamp")
        until(lambda: empty(store))
        readers.stop()
        until(lambda: not readers.busy)


@pytest.mark.costly
@both
def test_tasks_that_wait_ask_nothing(dialect: str, statements: list[str]) -> None:
    async def story() -> None:
        async with await AsyncStore.open(made_url(dialect)) as store:
            await store.set_limits("q")
            waiting = [asyncio.create_task(store.take("q", wait=60)) for _ in range(5)]
            for pause in until_calm(statements):
                await asyncio.sleep(pause)
            statements.clear()
            await asyncio.sleep(SECONDS)
            assert len(statements) <= MOST[dialect], statements
            for number in range(5):
                await store.send("q", number)
            async with asyncio.timeout(30):
                await asyncio.gather(*waiting)

    asyncio.run(story())


def test_who_holds_work_is_looked_after_while_others_wait(statements: list[str]) -> None:
    """Where a group is held, its reader may die: then it is taken back without being told."""
    url = made_url("postgresql")
    with Store.open(url) as store, Store.open(url) as other:
        store.set_limits("q")
        done: list[Any] = []
        worker = Worker(store, {"q": Handler(lambda m: done.append(m.body), False)}, Handling())
        worker.start(1)
        time.sleep(0.3)
        with other.transaction() as tx:
            tx.execute("DELETE FROM fairlead.listeners")  # nobody is told
            tx.send("q", "x")
        held = other.take("q", lease=1.5)
        assert held is not None
        with other.transaction() as tx:
            tx.send("q", "y")
            tx.execute("SELECT pg_notify('fairlead_' || (SELECT id FROM fairlead.queues), '0')")
        until(lambda: sorted(done) == ["x", "y"])  # when its lease is over
        worker.stop()
        until(lambda: not worker.busy)
