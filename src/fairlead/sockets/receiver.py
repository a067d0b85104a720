"""A socket that receives from several sources."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from typing import Any, Generic, TypeVar, Unpack

from fairlead.balance.objects import listed, shown
from fairlead.errors import SocketError
from fairlead.sockets.arguments import SocketOptions
from fairlead.sockets.base import SHARE, Socket
from fairlead.sockets.guard import Calm
from fairlead.sockets.options import check_timeout
from fairlead.sockets.peers import NAME, PRIORITY, SocketPeer
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.sources import MessageSource, Sources
from fairlead.sockets.waiter import Waiter
from fairlead.sockets.wire import Bytes

T = TypeVar("T")

NORMAL, WORST = 8, 16
RECEIVED = "received"
NOTHING_CAME = "recv: nothing came"


class ReceivingSocket(Socket, Generic[T]):
    """Receives items, each of which comes from one pipe."""

    def __init__(self, **more: Unpack[SocketOptions]) -> None:
        """As a `Socket`."""
        self._sources: Sources[T] = Sources(self._size)
        self._of: dict[Pipe, MessageSource[T]] = {}
        self._pipe_of: dict[MessageSource[T], Pipe] = {}
        self._priorities: dict[str, int] = {}
        self._stopped: set[Pipe] = set()
        """Pipes that are not read because enough of theirs, or of all, is here."""
        self._tight = False
        """Whether that is so of all."""
        self._waiting: deque[Waiter[tuple[MessageSource[T], T]]] = deque()
        super().__init__(**more)

    def recv(self, *, timeout: float | None = None) -> T:
        """The next message, waiting until there is one.

        `timeout`: seconds, None is for ever. Raises SocketTimeoutError, SocketError.
        """
        check_timeout(timeout)
        result = self._begin(coroutine=False)
        if isinstance(result, Waiter):
            return self._wait(result, timeout, NOTHING_CAME)[1]
        return result[1]

    async def arecv(self, *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - as `recv`
        """The same in a coroutine."""
        check_timeout(timeout)
        result = self._begin(coroutine=True)
        if isinstance(result, Waiter):
            return (await self._await(result, timeout, NOTHING_CAME))[1]
        return result[1]

    def _begin(
        self, *, coroutine: bool
    ) -> tuple[MessageSource[T], T] | Waiter[tuple[MessageSource[T], T]]:
        result: tuple[MessageSource[T], T] | Waiter[tuple[MessageSource[T], T]] | None = None
        try:
            with Calm(), self.lock:
                result = self._take()
                if result is None:
                    self._check_open()
                    result = Waiter(coroutine=coroutine)
                    self._waiting.append(result)
            return result
        except BaseException:  # a signal's handler has raised: nobody gets what was found
            if isinstance(result, Waiter):
                with Calm(), self.lock:
                    self._abandon(result)
            elif result is not None:
                with Calm(), self.lock:
                    self._put_back(*result)
                    self._give()
            raise

    def _take(self) -> tuple[MessageSource[T], T] | None:
        pair = self._sources.take()
        if pair is not None and self._stopped:
            if self._tight and self._sources.held <= self._memory // 2:
                self._tight = False
                for stopped_pipe in [*self._stopped]:
                    self._read_again(stopped_pipe)
            elif (pipe := self._pipe_of.get(pair[0])) is not None:
                self._read_again(pipe)
        return pair

    def _put_back(self, source: MessageSource[T], item: T) -> None:
        """Nobody has received it after all."""
        self._sources.put_back(source, item)

    def _read_again(self, pipe: Pipe) -> None:
        """Read again from where nothing more was read, if little of that is here."""
        source = self._of[pipe]
        few = len(source.items) <= self._buffer // 2
        small = source.held <= self._memory // SHARE // 2 and not self._tight
        if pipe in self._stopped and few and small:
            self._stopped.discard(pipe)
            pipe.read(on=self._reads(pipe))

    @staticmethod
    @abstractmethod
    def _size(item: T) -> int:
        """Bytes of what is received."""

    @abstractmethod
    def _item(self, pipe: Pipe, message: Bytes) -> T | None:
        """What is received for a message; None for nothing."""

    def received(self, pipe: Pipe, messages: list[Bytes]) -> None:
        items = [item for message in messages if (item := self._item(pipe, message)) is not None]
        pipe.peer.count(RECEIVED, len(items))
        source = self._of[pipe]
        self._sources.put(source, items)
        self._give()
        self._tight = self._tight or self._sources.held >= self._memory
        large = source.held >= self._memory // SHARE or self._tight
        if source.items and (large or len(source.items) >= self._buffer):
            self._stopped.add(pipe)
            pipe.read(on=False)

    def _give(self) -> None:
        """Give what is here to those who wait for it."""
        while self._waiting and (pair := self._take()) is not None:
            self._waiting.popleft().settle(pair)

    def _reads(self, pipe: Pipe) -> bool:
        """Whether more is to come from a pipe."""
        return pipe not in self._stopped

    def _joined(self, peer: SocketPeer) -> None:
        pipe = peer.pipe
        if pipe is not None:
            source = self._of[pipe] = MessageSource(self._priorities[peer.name])
            self._pipe_of[source] = pipe

    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        """What it has sent can still be received."""
        self._pipe_of.pop(self._of.pop(pipe), None)
        self._stopped.discard(pipe)

    def _add(self, tables: list[dict[str, Any]]) -> None:
        for table in tables:
            for key in table:
                if key not in (NAME, PRIORITY, "address"):
                    raise SocketError(
                        f"endpoint: found {shown(key)}, allowed: {listed([NAME, PRIORITY])}"
                    )
            priority = table.get(PRIORITY, NORMAL)
            if not isinstance(priority, int) or not 1 <= priority <= WORST:
                raise SocketError(
                    f"endpoint: priority: found {shown(priority)}, allowed: 1 (best) to {WORST}"
                )
            self._priorities[table[NAME]] = priority

    def _abandon(self, waiter: Waiter[Any]) -> None:
        if waiter.done and not waiter.failed:  # it came too late for whoever waited
            self._put_back(*waiter.result())
            self._give()
        else:
            self._waiting = deque(other for other in self._waiting if other is not waiter)

    def _forget(self, name: str, peers: list[str]) -> None:
        super()._forget(name, peers)
        for peer in peers:
            del self._priorities[peer]

    def _abort(self, error: SocketError) -> None:
        while self._waiting:
            self._waiting.popleft().fail(error)
