"""Lines between programs that may be cut, or fall silent: a proxy of TCP connections."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

PIECE: Final = 65_536


class Link:
    """A port of this machine that passes on what is said to another one, unless it is harmed."""

    def __init__(self, links: "Links", port: int) -> None:
        """To be made in the loop of `links`. `port`: to which it leads."""
        self.port = 0
        self._to = port
        self._cut = False
        self._open = asyncio.Event()
        self._open.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._links = links

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def silent(self) -> None:
        """Nothing passes, nothing is lost, and both sides see a connection."""
        self._links.call(self._open.clear)

    def cut(self) -> None:
        """All connections are over at once, and no new one lasts."""
        self._links.call(self._break)

    def mend(self) -> None:
        self._links.call(self._mend)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        self._server.close()
        self._break()
        self._mend()

    def _break(self) -> None:
        self._cut = True
        for end in self._ends:
            end.transport.abort()

    def _mend(self) -> None:
        self._cut = False
        self._open.set()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        with suppress(OSError):
            await self._open.wait()
            if not self._cut:
                there, back = await asyncio.open_connection("127.0.0.1", self._to)
                self._ends.add(back)
                ways = self._copy(reader, back), self._copy(there, writer)
                await asyncio.gather(*ways)
                self._ends.discard(back)
        self._ends.discard(writer)
        writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(PIECE):
                await self._open.wait()
                writer.write(piece)
                await writer.drain()
        writer.transport.abort()


class Links:
    """A thread with all links."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._links: list[Link] = []

    def call(self, what: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(what)

    def to(self, port: int) -> Link:
        link = Link(self, port)
        asyncio.run_coroutine_threadsafe(link.start(), self._loop).result()
        self._links.append(link)
        return link

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self.call(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        for each in self._links:
            each.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
