"""Bad ways to a PostgreSQL server, and a server that fails: one proxy for all tests of them."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Self
from urllib.parse import parse_qs, urlsplit

import psycopg

IDLE = b"Z\x00\x00\x00\x05I"
"""The server has done what it was asked, and no transaction is open."""
LARGE = 65536
NOBODY_CUTS = -1


class Proxy:
    """Passes on what clients and the server say to each other, until it is told otherwise."""

    def __init__(self, url: str) -> None:
        """`url`: of a database of a server at a socket of the file system."""
        parts = urlsplit(url)
        self.server = parse_qs(parts.query)["host"][0] + "/.s.PGSQL.5432"
        self.cuts = 0
        """Connections that were cut at words, or after so many bytes."""
        self.words = b""
        self.passes_on = False
        self.hushed = b""
        """The connections of clients that say these words fall silent."""
        self.left = NOBODY_CUTS
        """Bytes that pass before the connection that says the next one is cut."""
        self.is_silent = False
        """Whether nothing passes, of connections that come now, either."""
        self.delay = 0.0
        """Seconds for which everything is held, in each direction."""
        self.lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable"
        self._threads: list[threading.Thread] = []
        self._ways: list[_Way] = []
        self._start(self._accept)

    def cut(self, words: str, *, passes_on: bool) -> None:
        """Cut the next connection whose client says these words.

        `passes_on`: when the server has heard them and done what they say; else before that.
        """
        self.passes_on = passes_on
        self.words = words.encode()

    def cut_after(self, count: int) -> None:
        """Cut the connection that says the byte after so many, of all, in either direction."""
        with self.lock:
            self.left = count

    def lose_server(self) -> None:
        """The server's side of all connections ends; the clients' sides stay, and are heard."""
        for each in self._ways:
            each.lose_server()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """All is heard, and nothing passed on. The connections of this time stay so for good."""
        self.is_silent = True
        try:
            yield
        finally:
            for each in list(self._ways):
                each.is_silent = True
            self.is_silent = False

    def stop_reading(self) -> None:
        """Of the connections that are there nothing is read: the server can say what fits between.

        What their clients say is passed on.
        """
        for each in list(self._ways):
            each.is_deaf = True

    def end_silent(self) -> None:
        """What was silent ends, for the server, too."""
        for each in list(self._ways):
            if each.is_silent:
                each.end()

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Everything is held for so long, in each direction."""
        self.delay = seconds
        try:
            yield
        finally:
            self.delay = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for way in list(self._ways):
            way.end()
        for each in self._threads:
            each.join()

    def _start(self, call: Callable[..., None], *values: object) -> None:
        self._threads = [each for each in self._threads if each.is_alive()]
        self._threads.append(threading.Thread(target=call, args=values))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):  # the test is over
            while True:
                client, _ = self._listening.accept()
                self._start(self._pass_on, client)

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as upstream, suppress(OSError):
            upstream.connect(self.server)
            way = _Way(self, client, upstream)
            self._ways = [*(each for each in self._ways if not each.over), way]
            try:
                way.pass_on()
            finally:
                way.over = True


class _Way:
    """One connection."""

    def __init__(self, proxy: Proxy, client: socket.socket, upstream: socket.socket) -> None:
        self._proxy, self._client, self._upstream = proxy, client, upstream
        self.is_silent = self.is_deaf = self.over = False
        self._is_lost = False
        """Whether the server's side has ended, and the client is not to know."""
        self._held: deque[tuple[float, socket.socket, bytes]] = deque()
        """When what was said is passed on, and to whom."""

    def lose_server(self) -> None:
        self._is_lost = True
        with suppress(OSError):
            self._upstream.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        for each in (self._client, self._upstream):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def pass_on(self) -> None:
        heard = [self._client, self._upstream]
        while True:
            wait = max(self._held[0][0] - time.monotonic(), 0) if self._held else None
            ready, _, _ = select.select(heard, [], [], wait)
            if self.is_deaf and self._upstream in ready:
                ready.remove(self._upstream)
                time.sleep(0.01)
            for each in ready:
                said = each.recv(LARGE)
                if said:
                    if not self._said(each, said):
                        return
                    continue
                keeps = self._is_quiet() or (self._is_lost and each is self._upstream)
                if not keeps:
                    self._pass(float("inf"))
                    return
                heard.remove(each)
            if not heard:
                return
            self._pass(time.monotonic())

    def _is_quiet(self) -> bool:
        return self.is_silent or self._proxy.is_silent

    def _said(self, who: socket.socket, said: bytes) -> bool:
        """Whether the connection goes on."""
        if self._is_quiet():
            self.is_silent = True  # else what follows would make no sense
            return True
        proxy = self._proxy
        if who is self._client and proxy.words and proxy.words in said:
            self._cut_at_words(said)
            return False
        if who is self._client and proxy.hushed and proxy.hushed in said:
            self.is_silent = True
            return True
        left = self._counted(len(said))
        other = self._upstream if who is self._client else self._client
        self._held.append((time.monotonic() + self._proxy.delay, other, said[:left]))
        if left is not None:
            self._pass(float("inf"))
            return False
        return True

    def _counted(self, count: int) -> int | None:
        """So many bytes may pass before the connection is cut; None: all, and it is not."""
        proxy = self._proxy
        with proxy.lock:
            if proxy.left == NOBODY_CUTS or count <= proxy.left:
                proxy.left -= 0 if proxy.left == NOBODY_CUTS else count
                return None
            left, proxy.left = proxy.left, NOBODY_CUTS
            proxy.cuts += 1
            return left

    def _pass(self, now: float) -> None:
        """What has been held for long enough."""
        while self._held and self._held[0][0] <= now:
            _, who, said = self._held.popleft()
            if not self._is_quiet():
                with suppress(OSError):  # that side has ended, and the other one may not know
                    who.sendall(said)

    def _cut_at_words(self, said: bytes) -> None:
        proxy = self._proxy
        proxy.words = b""
        proxy.cuts += 1
        if proxy.passes_on:
            self._upstream.sendall(said)
            self._hear_until_idle()

    def _hear_until_idle(self) -> None:
        """Until the server has done all that was said, which may be only prepared at first."""
        while True:
            ready, _, _ = select.select([self._client, self._upstream], [], [])
            for each in ready:
                said = each.recv(LARGE)
                if not said or (each is self._upstream and said.endswith(IDLE)):
                    return
                other = self._upstream if each is self._client else self._client
                other.sendall(said)


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """All connections are lost, and those that come next can write nothing."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SET default_transaction_read_only = off")
        name = admin.info.dbname
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        end_sessions(admin)
        try:
            yield
        finally:
            admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


def end_sessions(admin: psycopg.Connection[tuple[object, ...]], some: Random | None = None) -> int:
    """End the sessions of a database; `some`: one that is drawn. How many were."""
    found = admin.execute(
        "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND client_port IS NOT NULL"
    ).fetchall()
    chosen = [some.choice(found)] if some and found else found
    for (pid,) in chosen:
        admin.execute("SELECT pg_terminate_backend(%s)", [pid])
    return len(chosen)
