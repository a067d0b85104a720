"""A pooler that gives sessions of the server to transactions is named when a store is opened."""

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import StoreError
from tests.stores import made_url

SSL, CANCEL = 80877103, 80877102
READY, IDLE = b"Z", b"I"


class Pooler:
    """Gives a session of the server to each transaction, or to each client, as PgBouncer does.

    The session that was given back last is given first.
    """

    def __init__(self, url: str, *, by_transaction: bool) -> None:
        parts = urlsplit(url)
        self._place = parse_qs(parts.query)["host"][0] + "/.s.PGSQL.5432"
        self._by_transaction = by_transaction
        self._free: list[socket.socket] = []
        self._sessions: list[socket.socket] = []
        """All of the server."""
        self._greeting = b""
        self._start = b""
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()
        with self._lock:
            for each in self._sessions:
                each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _session(self) -> socket.socket:
        with self._lock:
            if self._free:
                return self._free.pop()
        server = socket.socket(socket.AF_UNIX)
        with self._lock:
            self._sessions.append(server)
        server.connect(self._place)
        server.sendall(self._start)
        greeting, kind = b"", b""
        while kind != READY:
            kind, message = _read(server)
            if kind != b"K":
                greeting += message
        self._greeting = greeting
        return server

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError, EOFError), client:
            length, code = struct.unpack("!ii", _exactly(client, 8))
            if code in (SSL, CANCEL):
                return
            self._start = struct.pack("!ii", length, code) + _exactly(client, length - 8)
            server: socket.socket | None = self._session()
            key = b"K" + struct.pack("!iii", 12, 1, 1)  # the pooler's own
            client.sendall(self._greeting[:-6] + key + self._greeting[-6:])
            if self._by_transaction and server is not None:
                self._free.append(server)
                server = None
            while True:
                kind, message = _read(client)
                if kind == b"X":
                    break
                server = server or self._session()
                server.sendall(message)
                if kind not in (b"Q", b"S"):
                    continue
                while True:
                    kind, message = _read(server)
                    client.sendall(message)
                    if kind == READY:
                        break
                if self._by_transaction and message[-1:] == IDLE:
                    self._free.append(server)
                    server = None
            if server is not None:
                server.close()


def _exactly(end: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = end.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def _read(end: socket.socket) -> tuple[bytes, bytes]:
    """A message's kind, and all of it."""
    head = _exactly(end, 5)
    return head[:1], head + _exactly(end, struct.unpack("!i", head[1:])[0] - 4)


def test_a_pooler_that_gives_sessions_to_transactions_is_refused_by_name() -> None:
    pooler = Pooler(made_url("postgresql"), by_transaction=True)
    with pytest.raises(StoreError, match="found a pooler that gives each transaction another"):
        Store.open(pooler.url)
    with pytest.raises(StoreError, match="found a pooler that gives each transaction another"):
        asyncio.run(AsyncStore.open(pooler.url))
    pooler.close()


def test_a_pooler_that_gives_sessions_to_clients_is_none_in_the_way() -> None:
    pooler = Pooler(made_url("postgresql"), by_transaction=False)
    with Store.open(pooler.url) as store:
        store.send("q", 1)
        assert store.queues()[0].messages == 1
    pooler.close()
