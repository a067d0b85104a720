"""A server whose side of a connection is gone, while what is sent is acknowledged."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import StoreError
from fairlead.store.database import deadline
from tests.stores import made_url


class Way:
    """A way to a server that can end on its side alone, for the connections of then."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = parse_qs(parts.query)["host"][0] + "/.s.PGSQL.5432"
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        port = self._listening.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._pairs.append((client, server))
                threading.Thread(target=pump, args=(client, server, True), daemon=True).start()
                threading.Thread(target=pump, args=(server, client, False), daemon=True).start()

    def lose_server(self) -> None:
        for _, server in self._pairs:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.close()


def pump(source: socket.socket, sink: socket.socket, ends: bool) -> None:
    """Pass on what comes; `ends`: and that it has ended."""
    with suppress(OSError):
        while said := source.recv(65536):
            with suppress(OSError):
                sink.sendall(said)
        if ends:
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def half_open() -> Iterator[Way]:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.send("jobs", 1)
    way = Way(url)
    try:
        yield way
    finally:
        way.close()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Looks at once whether a statement is served, and often."""
    monkeypatch.setattr(deadline, "ASKED", 0.2)
    ended = threading.Event()

    def often() -> None:
        while not ended.wait(0.1):
            deadline.look()

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
    async def story(url: str, way: Way) -> str:
        async with await AsyncStore.open(url) as store:
            await store.waiting("jobs")
            way.lose_server()
            with pytest.raises(StoreError):
                await store.waiting("jobs")
            return await store.send("jobs", 2, id="b")

    with half_open() as way:
        assert asyncio.run(story(way.url, way)) == "b"


def test_a_statement_that_takes_long_is_let_end() -> None:
    with half_open() as way, Store.open(way.url) as store, store._connection() as database:
        database.script("SELECT pg_sleep(2)")
        assert not database.lost
        with psycopg.connect(way.url) as other:
            assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_answers_and_has_no_place_ends_nobodys_statement() -> None:
    url = made_url("postgresql")
    with psycopg.connect(url) as connection:
        ours = connection.info.backend_pid
        assert deadline._served(url, [ours, 0]) == {ours}
        refused = url.replace("/made", "/no_such")  # as where too many are connected
        assert deadline._served(refused, [ours]) is None
    assert deadline._served("postgresql://127.0.0.1:1/none", [ours]) == set()
