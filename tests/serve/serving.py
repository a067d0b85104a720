"""A server in a thread of the test's own process, and clients of proton's."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from proton.utils import BlockingConnection

from fairlead import Store
from fairlead.serve.loop import Listening, Server


class Served:
    """A server that runs."""

    def __init__(self, store: Store, **more: Any) -> None:
        self._begun = threading.Event()
        self._loop = asyncio.new_event_loop()
        self.server = Server(store, **more)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._begun.wait(10)

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.server.places[0][1]}"

    def _run(self) -> None:
        self._stop = asyncio.Event()

        async def main() -> None:
            is_secure = self.server.access.tls is not None
            secure = [Listening("127.0.0.1", 0, secure=True)] if is_secure else []
            await self.server.begin([Listening("127.0.0.1", 0), *secure])
            self._begun.set()
            await self._stop.wait()
            await self.server.stop(self._grace)

        self._loop.run_until_complete(main())
        self._loop.close()

    def stop(self, grace: float = 0.0) -> None:
        self._grace = grace
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    def hang_up(self, container: str = "") -> None:
        """Break all connections off, or those of one container."""

        def abort() -> None:
            for session in self.server.sessions:
                if not container or session.peer.container == container:
                    session._transport.abort()

        self.call(abort)

    def call(self, what: Callable[[], object]) -> None:
        """Do this in the server's thread, soon."""
        self._loop.call_soon_threadsafe(what)

    def connect(self, **more: Any) -> Any:
        return BlockingConnection(self.url, timeout=20, allowed_mechs="ANONYMOUS", **more)


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


@contextmanager
def serving(store: Store, **more: Any) -> Iterator[Served]:
    served = Served(store, **more)
    try:
        yield served
    finally:
        served.stop()
