"""Many peers that speak the wire by hand, all in one thread: each at an address of its own."""

import selectors
import socket
import threading
from pathlib import Path
from typing import Self

from fairlead.sockets.wire import Decoder, Protocol, greeting, header

READ = selectors.EVENT_READ


class Crowd:
    """Peers on Unix sockets; a REP sends each request back, a PULL counts what it gets."""

    def __init__(self, folder: Path, n: int, protocol: Protocol) -> None:
        self.urls = [f"ipc://{folder}/{k}" for k in range(n)]
        self.received = [0] * n
        self._protocol = protocol
        self._selector = selectors.DefaultSelector()
        self._open: list[list[socket.socket]] = [[] for _ in range(n)]
        self._changing = threading.Lock()
        self._running = True
        self._thread = threading.Thread(target=self._run)

    def come(self, *places: int) -> None:
        """These peers can be connected to."""
        with self._changing:
            for k in places:
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(self.urls[k].removeprefix("ipc://"))
                listener.listen()
                self._open[k].append(listener)
                self._selector.register(listener, READ, (k, None))

    def go(self, *places: int) -> None:
        """These peers are gone, and their connections with them."""
        with self._changing:
            for k in places:
                for each in self._open[k]:
                    self._selector.unregister(each)
                    each.close()
                self._open[k].clear()
                Path(self.urls[k].removeprefix("ipc://")).unlink()

    def _run(self) -> None:
        while self._running:
            ready = self._selector.select(0.02)
            with self._changing:
                for key, _ in ready:
                    if isinstance(key.fileobj, socket.socket) and key.fileobj.fileno() >= 0:
                        self._serve(key.fileobj, *key.data)

    def _serve(self, end: socket.socket, k: int, decoder: Decoder | None) -> None:
        if decoder is None:
            peer, _ = end.accept()
            peer.sendall(greeting(self._protocol))
            self._open[k].append(peer)
            self._selector.register(peer, READ, (k, Decoder(self._protocol, ipc=True)))
            return
        piece = end.recv(65_536)
        if not piece:
            self._selector.unregister(end)
            self._open[k].remove(end)
            end.close()
            return
        for message in decoder.feed(piece):
            self.received[k] += 1
            if self._protocol == Protocol.REP:
                end.sendall(header(len(message), ipc=True) + message)

    def __enter__(self) -> Self:
        self.come(*range(len(self.urls)))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._thread.join()
        self.go(*(k for k, each in enumerate(self._open) if each))
        self._selector.close()
