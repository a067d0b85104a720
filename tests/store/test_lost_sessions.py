"""A process whose session at the server is ended lives on, and keeps what it holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

import psycopg
import pytest

from fairlead import AsyncStore, Store
from fairlead.store.queues import lease_holders_postgresql
from tests.stores import made_url

END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
LOCKS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1181641069 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


@contextmanager
def administrator(url: str) -> Iterator[Any]:
    with psycopg.connect(url, autocommit=True) as admin:
        yield admin


def until_locked(admin: Any) -> None:
    """Wait until one process says that it lives."""
    while admin.execute(LOCKS).fetchone() != (1,):
        time.sleep(0.01)


def test_the_work_of_a_process_that_lost_its_session_stays_its_own() -> None:
    url = made_url("postgresql")
    with Store.open(url) as working, Store.open(url) as other, administrator(url) as admin:
        working.send("jobs", "long")
        work = working.take("jobs")
        assert work is not None
        assert [message.body for message in work] == ["long"]
        admin.execute(END_ALL)
        assert other.take("jobs") is None
        work.extend()
        work.accept()
        assert [event.kind for event in other.journal()] == ["sent", "taken", "accepted"]


def test_a_process_that_lost_its_session_says_again_that_it_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease_holders_postgresql, "ASK", 0.05)
    url = made_url("postgresql")
    with Store.open(url) as working, administrator(url) as admin:
        working.send("jobs", "long")
        assert working.take("jobs") is not None
        admin.execute(END_ALL)
        until_locked(admin)


def test_a_process_with_an_event_loop_says_again_that_it_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = made_url("postgresql")

    async def story() -> None:
        from fairlead.store.aio import sessions

        monkeypatch.setattr(sessions, "ASK", 0.05)
        async with await AsyncStore.open(url) as working:
            await working.send("jobs", "long")
            assert await working.take("jobs") is not None
            with administrator(url) as admin:
                admin.execute(END_ALL)
                await asyncio.to_thread(until_locked, admin)

    asyncio.run(story())


def test_a_process_whose_session_stays_away_counts_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_holders_postgresql, "GRACE", 0)
    monkeypatch.setattr(lease_holders_postgresql, "ASK", 600)
    url = made_url("postgresql")
    with Store.open(url) as working, Store.open(url) as other, administrator(url) as admin:
        working.send("jobs", "long")
        assert working.take("jobs") is not None
        admin.execute(END_ALL)
        assert other.take("jobs") is not None


def test_who_waits_goes_on_when_the_session_is_lost() -> None:
    url = made_url("postgresql")
    with Store.open(url) as waiting, Store.open(url) as sending, administrator(url) as admin:
        waiting.send("jobs", "first")
        work = waiting.take("jobs")
        assert work is not None
        assert [message.body for message in work] == ["first"]
        work.accept()
        timers = [
            Timer(0.5, admin.execute, [END_ALL]),
            Timer(1.5, sending.send, ["jobs", "second"]),
        ]
        for each in timers:
            each.start()
        work = waiting.take("jobs", wait=60)
        assert work is not None
        assert [message.body for message in work] == ["second"]
        for each in timers:
            each.join()


def test_tasks_that_wait_go_on_when_the_session_is_lost() -> None:
    url = made_url("postgresql")

    async def story() -> list[object]:
        async with await AsyncStore.open(url) as store:
            await store.send("jobs", "first")
            work = await store.take("jobs")
            assert work is not None
            async with work:
                assert [message.body async for message in work] == ["first"]
            waits = asyncio.create_task(store.take("jobs", wait=60))
            await asyncio.sleep(0.5)
            with administrator(url) as admin:
                admin.execute(END_ALL)
            await asyncio.sleep(0.5)
            with Store.open(url) as sending:
                sending.send("jobs", "second")
            work = await waits
            assert work is not None
            return [message.body async for message in work]

    assert asyncio.run(story()) == ["second"]


def test_no_connection_of_a_store_is_ended_for_being_idle() -> None:
    url = made_url("postgresql")
    with administrator(url) as admin:
        admin.execute(f"ALTER DATABASE {admin.info.dbname} SET idle_session_timeout = '10s'")
    with Store.open(url) as store, store._connection() as database:
        assert database.execute("SHOW idle_session_timeout").fetchone() == ("0",)


def test_work_of_a_process_that_closed_its_store_need_not_wait() -> None:
    url = made_url("postgresql")
    with Store.open(url) as working, Store.open(url) as other:
        working.send("jobs", "long")
        assert working.take("jobs") is not None
        with administrator(url) as admin:
            admin.execute("UPDATE fairlead.lease_holders SET host = 'another'")
        working.close()
        assert other.take("jobs", wait=20) is not None, "long before it would count as dead"
