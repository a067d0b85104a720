"""A way to a server on which nothing comes back, while what is sent is acknowledged."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import psycopg
import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import StoreError
from fairlead.store.database import deadline
from fairlead.store.database.postgresql import settings_for
from fairlead.store.workers.handlers import Handler
from fairlead.store.workers.handling import Handling, handle
from tests.proxies import Proxy
from tests.stores import made_url


@contextmanager
def half_open() -> Iterator[Proxy]:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.send("jobs", 1)
    with Proxy(url) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Looks at once whether a statement is served, and often."""
    monkeypatch.setattr(deadline, "ASKED", 0.5)
    ended = threading.Event()

    def often() -> None:
        while not ended.wait(0.1):
            deadline.look()
            deadline.end_what_is_left()

    looking = threading.Thread(target=often)
    looking.start()
    yield
    ended.set()
    looking.join()


def test_a_statement_does_not_wait_for_a_server_that_is_gone() -> None:
    with half_open() as way, Store.open(way.url) as store:
        store.waiting("jobs")
        way.lose_server()
        with pytest.raises(StoreError):
            store.waiting("jobs")
        assert store.send("jobs", 2, id="b") == "b"


def test_a_task_does_not_wait_for_a_server_that_is_gone() -> None:
    async def story(way: Proxy) -> str:
        async with await AsyncStore.open(way.url) as store:
            await store.waiting("jobs")
            way.lose_server()
            with pytest.raises(StoreError):
                await store.waiting("jobs")
            return await store.send("jobs", 2, id="b")

    with half_open() as way:
        assert asyncio.run(story(way)) == "b"


def test_a_statement_does_not_wait_for_an_answer_that_is_lost_on_the_way() -> None:
    """The server's process is there all the while, and has nothing to do."""
    with half_open() as way, Store.open(way.url) as store:
        store.waiting("jobs")
        with way.silent():
            pass
        with pytest.raises(StoreError):
            store.waiting("jobs")
        assert store.send("jobs", 2, id="b") == "b"


@pytest.mark.costly
@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="the system tells nothing of it")
@pytest.mark.parametrize("hangs_up", [False, True], ids=["waits", "is gone"])
def test_a_server_that_cannot_say_its_answer_holds_nobody_up(hangs_up: bool) -> None:
    with half_open() as way, Store.open(way.url) as store, Store.open(way.url) as other:
        with store.transaction() as tx:
            tx.execute("CREATE TABLE mine AS SELECT repeat('x', 100000000) AS text")

        def read() -> None:
            with store.transaction() as tx:
                tx.execute("SELECT 1")
                way.stop_reading()
                if hangs_up:
                    hang_up = partial(deadline.hang_up, tx._database.connection)
                    threading.Timer(1, hang_up).start()
                tx.execute("SELECT * FROM mine FOR UPDATE")

        with pytest.raises(StoreError):
            read()
        with other.transaction() as tx:
            tx.execute("SET LOCAL lock_timeout = '20s'")
            assert len(tx.execute("UPDATE mine SET text = '' RETURNING 1").fetchall()) == 1


@pytest.mark.slow
def test_an_answer_that_takes_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "ASKED", 3.0)
    long = "SELECT repeat('x', 1000000), pg_sleep(0.2) FROM generate_series(1, 25)"
    with (
        half_open() as way,
        Store.open(way.url) as store,
        way.slow(0.3),
        store.transaction() as tx,
    ):
        assert len(tx.execute(long).fetchall()) == 25


def test_what_was_locked_over_a_silent_way_is_free_again() -> None:
    with half_open() as way, Store.open(way.url) as store:
        work = store.take("jobs")
        assert work is not None
        assert [message.body for message in work] == [1]

        def change() -> None:
            with work.transaction() as tx:
                tx.execute("SELECT 1")
                with way.silent():
                    pass
                tx.execute("SELECT 2")

        with pytest.raises(StoreError):
            change()
        work.accept()
        assert store.outcome(work.token) == "accepted"


def test_what_a_lost_connection_has_locked_is_free_though_its_way_stays_open() -> None:
    """The client's side is gone; the server's side is kept open by what stands between."""
    with half_open() as way, Store.open(way.url) as store:
        work = store.take("jobs")
        assert work is not None
        assert [message.body for message in work] == [1]

        def change() -> None:
            with work.transaction() as tx:
                tx.execute("UPDATE fairlead.groups SET failures = failures")
                with way.silent():
                    deadline.hang_up(tx._database.connection)
                tx.execute("SELECT 2")

        with pytest.raises(StoreError):
            change()
        with Store.open(f"{way.url}&options=-c%20lock_timeout%3D10s") as other:
            assert other.take_back(work.token) == 1


def test_a_session_does_not_wait_to_be_settled() -> None:
    with half_open() as way:
        way.hushed = b"SESSION CHARACTERISTICS"
        with pytest.raises(StoreError):
            Store.open(way.url)
        way.hushed = b""
        Store.open(way.url).close()


def test_a_server_that_does_not_answer_when_it_is_asked_ends_the_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deadline, "LOOK", 2)
    with half_open() as way, Store.open(way.url) as store:
        store.waiting("jobs")
        way.lose_server()
        way.hushed = b"pg_stat_activity"
        with pytest.raises(StoreError):
            store.waiting("jobs")


def test_nobody_waits_for_a_connection_for_ever() -> None:
    with half_open() as way, way.silent():
        began = time.monotonic()
        with pytest.raises(StoreError, match="timeout"):
            Store.open(f"{way.url}&connect_timeout=2")
        assert time.monotonic() - began >= 2
    assert settings_for(way.url)["connect_timeout"] == 30
    assert "connect_timeout" not in settings_for(f"{way.url}&connect_timeout=2")


def test_one_verb_finds_out_for_all_connections_that_nobody_uses() -> None:
    with half_open() as way, Store.open(way.url) as store:
        with store._connection(), store._connection(), store._connection():
            pass
        with way.silent():
            pass
        with pytest.raises(StoreError):
            store.waiting("jobs")
        assert store.waiting("jobs") is not None


def test_a_handler_whose_transaction_is_lost_has_not_failed() -> None:
    with half_open() as way, Store.open(way.url) as store:
        store.set_limits("jobs", max_failures=1)
        work = store.take("jobs")
        assert work is not None

        def loses(message: object, tx: object) -> None:
            way.lose_server()
            tx.execute("SELECT 1")  # type: ignore[attr-defined]

        handle(store, work, Handler(loses, in_transaction=True), Handling(retry_delay=0))
        assert store.dead("jobs") == []
        assert [event.kind for event in store.journal()][-1] == "released"


def test_a_block_that_the_database_has_failed_blames_no_message() -> None:
    with half_open() as way, Store.open(way.url) as store:
        store.set_limits("jobs", max_failures=1)
        work = store.take("jobs")
        assert work is not None

        def go_on() -> None:
            with work:
                next(work)
                way.lose_server()
                store.send("next", 2)

        with pytest.raises(StoreError):
            go_on()
        assert store.dead("jobs") == []
        assert [event.kind for event in store.journal()][-1] == "released"


def test_a_statement_that_takes_long_is_let_end() -> None:
    with half_open() as way, Store.open(way.url) as store, store._connection() as database:
        database.script("SELECT pg_sleep(2)")
        assert not database.lost
        with psycopg.connect(way.url) as other:
            assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_answers_and_has_no_place_ends_nobodys_statement() -> None:
    url = made_url("postgresql")
    with psycopg.connect(url) as connection:
        connection.execute("SELECT 1")  # in a transaction, for a moment only
        with Store.open(url) as store, store._connection() as database:
            began = f"SELECT pid, {deadline.BEGAN} FROM pg_stat_activity WHERE pid = %s"  # noqa: S608
            ours = database.execute(began, [connection.info.backend_pid]).fetchone()
        connection.execute("SELECT 1")
        assert deadline._served(url, [ours, (0, 0)], [False, False]) == {ours[0]}
        earlier = ours[0], 1
        assert deadline._served(url, [earlier], [False]) == set(), "another one had this number"
        refused = url.replace("/made", "/no_such")  # as where too many are connected
        assert deadline._served(refused, [ours], [False]) is None
    assert deadline._served("postgresql://127.0.0.1:1/none", [ours], [False]) == set()


def test_of_several_hosts_the_one_of_the_connection_is_asked() -> None:
    url = made_url("postgresql")
    with Proxy(url) as way:
        several = way.url.replace("127.0.0.1:", "127.0.0.1:1,127.0.0.1:")
        with Store.open(several) as store, store._connection() as database:
            asked = psycopg.conninfo.conninfo_to_dict(deadline._urls[database])
            assert f":{asked['port']}/" in way.url


def test_nobody_waits_for_a_lock_for_ever() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, store._connection() as database:
        assert database.execute("SHOW lock_timeout").fetchone() == ("30s",)
        store.send("jobs", 1)
    soon = f"{url}&options=-c%20lock_timeout%3D300"
    with psycopg.connect(url) as other, Store.open(soon) as store:
        other.execute("LOCK TABLE fairlead.messages")
        who = f"may have been process {other.info.backend_pid} of the server \\(user 'postgres'"
        for waits in (
            lambda: store.send("jobs", 2),
            lambda: store.send_many("jobs", [{"body": 2}, {"body": 3}]),
            store.queues,
            lambda: store.delete_queue("jobs", purge=True),
        ):
            with pytest.raises(
                StoreError, match=f"has held what this one needs .lock_timeout.; it {who}"
            ):
                waits()
        other.rollback()
        store.send("jobs", 2)


def test_a_task_does_not_wait_for_its_turn_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlead.store.aio import loop

    monkeypatch.setattr(loop, "PATIENCE", 0.2)

    async def story(url: str) -> None:
        async with await AsyncStore.open(url, connections=1) as store, store.transaction():
            with pytest.raises(StoreError, match="all 1 connections in use"):
                await asyncio.create_task(store.send("jobs", 1))

    asyncio.run(story(made_url("postgresql")))
