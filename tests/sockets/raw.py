"""A worker that speaks the wire by hand, and answers what and when a test says."""

import socket
import threading
from collections.abc import Callable
from typing import Self

from fairlead.sockets.wire import HIGHEST_TTL, Decoder, Protocol, greeting, header, split

Answer = Callable[["RawWorker", bytes, bytes], None]
"""Called with the worker, a request's stack and its body."""


class RawWorker:
    """A REP of one connection at a time, over TCP."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._end: socket.socket | None = None
        self._sending = threading.Lock()
        self.url = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run)

    def reply(self, message: bytes) -> None:
        """Send a message: a stack and a body, or anything. From any thread."""
        with self._sending:
            assert self._end is not None
            self._end.sendall(header(len(message)) + message)

    def _run(self) -> None:
        self._end, _ = self._listener.accept()
        self._end.sendall(greeting(Protocol.REP))
        decoder = Decoder(Protocol.REP)
        while piece := self._received():
            for message in decoder.feed(piece):
                parts = split(message, HIGHEST_TTL)
                if parts is not None:  # else it has gone too far, and is dropped
                    self._answer(self, *parts)

    def _received(self) -> bytes:
        assert self._end is not None
        try:
            return self._end.recv(65_536)
        except ConnectionResetError:
            return b""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """After the requester has closed."""
        self._thread.join()
        self._listener.close()
        if self._end is not None:
            self._end.close()
