"""Servers that write nothing for a while, as a stand-by does that was asked by mistake."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import StoreError
from fairlead.store.database.postgresql import without_password
from fairlead.store.workers.threads import Threads
from tests.proxies import read_only
from tests.stores import made_url


def eventually(does: Callable[[], Any]) -> Any:
    until = time.monotonic() + 20
    while True:
        try:
            return does()
        except StoreError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def test_a_store_goes_on_when_the_server_writes_again() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.send("q", 1)
        with read_only(url):
            for _ in range(3):
                with pytest.raises(StoreError):
                    store.send("q", 2)
            with pytest.raises(StoreError):
                store.take("q")
        store.send("q", 3)
        work = eventually(lambda: store.take("q"))
        assert [message.body for message in work] == [1]
        work.accept()


def test_an_asyncio_store_goes_on_when_the_server_writes_again() -> None:
    url = made_url("postgresql")

    async def story() -> list[Any]:
        async with await AsyncStore.open(url) as store:
            await store.send("q", 1)
            with read_only(url):
                for _ in range(3):
                    with pytest.raises(StoreError):
                        await store.send("q", 2)
                with pytest.raises(StoreError):
                    await store.take("q")
            await store.send("q", 3)
            async with await store.take("q") as work:
                return [message.body async for message in work]

    assert asyncio.run(story()) == [1]


def test_a_process_does_not_say_that_it_lives_to_a_server_that_only_reads() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.send("q", 1)
        with read_only(url):
            with suppress(StoreError):
                store.queues()  # this connection is a new one, and serves to look
            with pytest.raises(StoreError, match=r"read-only|only reads"):
                store.take("q")
        assert eventually(lambda: store.take("q")) is not None


def test_the_database_is_back_when_the_thread_that_missed_it_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with Store.open(made_url("sqlite")) as store:
        threads = Threads(store)
        steps: SimpleQueue[str] = SimpleQueue()
        failing = iter([True, True, True, False])

        def writes() -> bool:
            if next(failing):
                raise StoreError("it only reads")
            steps.put("wrote")
            return False

        def looks() -> bool:  # succeeds all the while
            time.sleep(0.01)
            return steps.empty()

        doing = [Thread(target=threads._go_on, args=(step,)) for step in (writes, looks)]
        for each in doing:
            each.start()
        for each in doing:
            each.join(20)
    said = [record.getMessage().split()[0] for record in caplog.records]
    assert [each for each in said if "database" in each] == [
        "event=database-lost",
        "event=database-back",
    ]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://h1,h2/db", "postgresql://h1,h2/db"),
        ("postgresql://u:secret@h1:1,h2:2/db?x=y", "postgresql://h1:1,h2:2/db"),
        ("postgresql://u@/db?host=far.example&port=9", "postgresql://far.example:9/db"),
        ("postgresql://u:secret@/db?host=/run/pg", "postgresql://localhost/db"),
        ("postgresql:///db", "postgresql://localhost/db"),
        ("postgresql://u@h1:5432/db?host=h2", "postgresql://h2:5432/db"),
        ("postgresql://u@h1:5432/db?host=h2&port=5433", "postgresql://h2:5433/db"),
        ("postgresql://h1/db?host=/run/pg", "postgresql://localhost/db"),
        ("postgresql://[::1]/db?host=h2", "postgresql://h2/db"),
        ("postgres://[::1]:5433/db", "postgresql://[::1]:5433/db"),
    ],
)
def test_servers_are_named_as_the_url_has_them(url: str, place: str) -> None:
    assert without_password(url) == place


@pytest.mark.parametrize(
    "url", ["postgresql://h:abc/db", "postgresql://a:1:2/db", "postgresql://[/d"]
)
def test_a_url_that_cannot_be_read_says_how_one_is(url: str) -> None:
    with pytest.raises(StoreError, match="several HOST:PORT with commas"):
        without_password(url)
