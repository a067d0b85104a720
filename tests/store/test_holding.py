"""What readers hold is told, and an operator takes it back from one of them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import MessageError, StaleWorkError
from tests.store.sql import until_gone
from tests.stores import made_url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as found:
        yield found


def test_it_tells_who_holds_what_the_longest_first(store: Store) -> None:
    store.send("orders", "a", group="kim", tenant="north")
    store.send("orders", "b", group="kim", tenant="north")
    store.send("letters", "c")
    first, second = store.take("orders"), store.take("letters")
    assert first is not None
    assert second is not None
    kim, lone = store.held()
    assert (kim.queue, kim.group, kim.tenant, kim.priority) == ("orders", "kim", "north", None)
    assert (kim.attempt, kim.messages, kim.token) == (1, 2, first.held.token)
    assert kim.reader == f"{socket.gethostname()}:{os.getpid()}"
    assert kim.since <= lone.since < kim.until
    assert (lone.queue, lone.group, lone.token) == ("letters", "", second.held.token)
    assert store.held("letters") == [lone]
    assert store.held(most=1) == [kim]
    first.accept()
    assert store.held("orders") == []


TAKER = """
import sys, time
from fairlead import Store
store = Store.open(sys.argv[1])
work = store.take("orders")
print(work.held.token, flush=True)
time.sleep(600)
"""


def test_it_tells_that_a_reader_is_gone_and_takes_nothing_back(store: Store, url: str) -> None:
    for group in ("kim", "lee"):
        store.send("orders", "a", group=group)
    mine = store.take("orders")
    assert mine is not None
    command = [sys.executable, "-c", TAKER, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        token = int(other.stdout.readline())
        assert [(each.token, each.gone) for each in store.held()] == [
            (mine.held.token, False),
            (token, False),
        ]
        other.kill()
        other.wait()
        until_gone(store, 1)
    assert [(each.token, each.gone) for each in store.held()] == [
        (mine.held.token, False),
        (token, True),
    ]
    assert [each.kind for each in store.journal()] == [*["sent"] * 2, *["taken"] * 2]


def test_a_reader_in_plain_sql_is_not_said_to_be_gone() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, psycopg.connect(url, autocommit=True) as connection:
        store.send("orders", "a", group="kim")
        assert connection.execute("SELECT * FROM fairlead.take('orders')").fetchall()
        assert [(each.reader, each.gone) for each in store.held()] == [("", False)]


def test_on_another_host_a_reader_is_gone_with_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, Store.open(url) as looks:
        store.send("orders", "a", group="kim")
        assert store.take("orders") is not None
        monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
        assert [each.gone for each in looks.held()] == [False]
        with looks.transaction() as tx:
            tx.execute("UPDATE fairlead.lease_holders SET alive = -1")
        assert [each.gone for each in looks.held()] == [True]


@pytest.mark.parametrize("group", ["kim", None])
def test_what_is_taken_back_can_be_taken_at_once(store: Store, group: str | None) -> None:
    store.send("orders", "a", group=group)
    work = store.take("orders")
    assert work is not None
    assert next(work).body == "a"
    assert store.take_back(work.held.token, "it hangs") == 1
    (event,) = [each for each in store.journal() if each.kind == "released"]
    assert event.detail == "an operator took it back: it hangs"
    with pytest.raises(StaleWorkError):
        work.accept()
    again = store.take("orders")
    assert again is not None
    assert (again.attempt, store.queues()[0].failures) == (2, 0)
    assert store.take_back(work.held.token) == 0
    assert store.held()[0].token == again.held.token


def test_the_journal_says_which_message_was_taken_back(store: Store) -> None:
    store.send("q", 1, id="lone")
    work = store.take("q")
    assert work is not None
    store.take_back(work.token, "hung")
    found = [event.kind for event in store.journal(id="lone")]
    assert found == ["sent", "taken", "released"]


def test_it_counts_as_a_failure_where_that_is_said(store: Store) -> None:
    store.set_limits("orders", max_failures=1)
    store.send("orders", "a", group="kim")
    store.send("orders", "b", group="kim")
    work = store.take("orders")
    assert work is not None
    assert [each.body for each in work] == ["a", "b"]
    assert store.take_back(work.held.token, failed=True) == 1
    (dead,) = store.dead("orders")
    assert (dead.body, dead.attempt) == ("a", 1)
    again = store.take("orders")
    assert again is not None
    assert [each.body for each in again] == ["b"]


@pytest.mark.parametrize("token", [-1, 2**63, True, None, "7", 1.0])
def test_what_is_no_token_is_refused(store: Store, token: object) -> None:
    with pytest.raises(MessageError, match=r"^token: found"):
        store.take_back(token)  # type: ignore[arg-type]


def test_a_queue_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(MessageError, match="order"):
        store.held("order")


def test_so_does_asyncio(url: str) -> None:
    async def run() -> None:
        async with await AsyncStore.open(url) as store:
            await store.send("orders", "a")
            work = await store.take("orders")
            assert work is not None
            (found,) = await store.held("orders")
            assert not found.gone
            assert await store.take_back(found.token) == 1
            with pytest.raises(StaleWorkError):
                await work.accept()

    asyncio.run(run())
