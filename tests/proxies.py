"""A connection that is lost at the worst moment: a proxy before PostgreSQL that cuts it."""

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit

from tests.stores import server

IDLE = b"Z\x00\x00\x00\x05I"
"""The server has done what it was asked, and no transaction is open."""
LARGE = 65536


class Proxy:
    """Passes on what clients and the test server say, until a client says certain words."""

    def __init__(self, url: str) -> None:
        """`url`: of a database of the test server."""
        self.cuts = 0
        self._words = b""
        self._passes_on = False
        self._server = parse_qs(urlsplit(server().get_uri()).query)["host"][0] + "/.s.PGSQL.5432"
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}{urlsplit(url).path}?sslmode=disable"
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def cut(self, words: str, *, passes_on: bool) -> None:
        """Cut the next connection whose client says these words.

        `passes_on`: when the server has heard them and done what they say; else before that.
        """
        self._passes_on = passes_on
        self._words = words.encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._threads:
            each.join()

    def _start(self, call: Callable[..., None], *values: object) -> None:
        self._threads.append(threading.Thread(target=call, args=values))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):  # the test is over
            while True:
                client, _ = self._listening.accept()
                self._start(self._pass_on, client)

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as upstream, suppress(OSError):
            upstream.connect(self._server)
            while True:
                ready, _, _ = select.select([client, upstream], [], [])
                for each in ready:
                    said = each.recv(LARGE)
                    if not said:
                        return
                    if each is upstream:
                        client.sendall(said)
                    elif self._words and self._words in said:
                        self._end(upstream, said)
                        return
                    else:
                        upstream.sendall(said)

    def _end(self, upstream: socket.socket, said: bytes) -> None:
        self._words = b""
        self.cuts += 1
        if self._passes_on:
            upstream.sendall(said)
            answer = b""
            while IDLE not in answer:
                answer += upstream.recv(LARGE)
