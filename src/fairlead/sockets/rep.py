"""REP: what requesters ask here, each to be answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Unpack

from fairlead.errors import SocketError, WireError
from fairlead.sockets.arguments import SocketOptions
from fairlead.sockets.base import SHARE
from fairlead.sockets.events import GAVE_UP
from fairlead.sockets.guard import Calm
from fairlead.sockets.neighbours import MARK
from fairlead.sockets.options import check_handler, check_ttl, checked_reply
from fairlead.sockets.peers import IGNORED, SocketPeer
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.receiver import RECEIVED, ReceivingSocket
from fairlead.sockets.sources import MessageSource
from fairlead.sockets.wire import MAX_TTL, Bytes, Protocol, split

REPLIED, LOST, TOO_FAR, RESENT = "replied", "lost", "too_far", "resent"


class Request:
    """A request that was received. It can be answered at any time, from any thread, once."""

    __slots__ = ("_answered", "_rep", "pipe", "raw", "stack")

    def __init__(self, body: Bytes, stack: bytes, pipe: Pipe, rep: Rep) -> None:
        """Made by the socket."""
        self.raw: Bytes = body
        """What was asked, as it can be sent on."""
        self.stack: Final = stack
        """The words before it, which its reply brings back."""
        self.pipe: Final = pipe
        """By which it came."""
        self._answered = False
        self._rep = rep

    @property
    def body(self) -> bytes:
        """The body of the request."""
        self.raw = bytes(self.raw)
        return self.raw

    def reply(self, body: bytes) -> None:
        """Send the reply. Where the requester has gone, it is lost: nobody waits for it there.

        Raises SocketError for a second one.
        """
        body = self._rep.checked(body)
        with Calm(), self._rep.lock:
            if self._answered:
                raise SocketError("reply: found a second one, allowed: one for each request")
            self._answered = True
            self._rep.answer(self.pipe, self.stack, body)


class Rep(ReceivingSocket[Request]):
    """Receives requests, in turn from the requesters of the best priority that have one."""

    protocol = Protocol.REP

    def __init__(self, *, max_ttl: int = MAX_TTL, **more: Unpack[SocketOptions]) -> None:
        """A request that more than `max_ttl` have received, this one included, is dropped.

        The rest as a `Socket`. Raises SocketError.
        """
        check_ttl(max_ttl)
        self._max_ttl = max_ttl
        self._untaken: dict[Pipe, set[bytes]] = {}
        """Stacks of the requests of each requester that nobody has received yet."""
        self._clogged: set[Pipe] = set()
        """Those who do not read their replies: nothing more is read from them."""
        super().__init__(**more)

    def serve(self, handler: Callable[[bytes], bytes]) -> None:
        """Answer with what a function makes of each request, until the socket is closed.

        Several threads can serve. What the function raises ends this, and its request is not
        answered: the requester sends it again. Raises SocketError for what is no such function, and
        for a reply that is no bytes.
        """
        check_handler(handler, coroutine=False)
        while True:
            try:
                request = self.recv()
            except SocketError:
                if self._closed:
                    return
                raise
            request.reply(checked_reply(handler(request.body)))

    async def aserve(self, handler: Callable[[bytes], Awaitable[bytes]]) -> None:
        """The same in a coroutine, with a coroutine function; several can serve side by side."""
        check_handler(handler, coroutine=True)
        while True:
            try:
                request = await self.arecv()
            except SocketError:
                if self._closed:
                    return
                raise
            request.reply(checked_reply(await handler(request.body)))

    def answer(self, pipe: Pipe, stack: bytes, body: Bytes) -> None:
        """Send a reply with its stack. The lock is held."""
        if not pipe.open:
            pipe.peer.count(LOST)
            return
        pipe.peer.count(REPLIED)
        pipe.send(body, before=stack)
        much = pipe.waiting >= self._buffer or pipe.held >= self._memory // SHARE
        if pipe in self._of and much and pipe not in self._clogged:
            self._clogged.add(pipe)
            pipe.read(on=False)

    def written(self, pipe: Pipe, tokens: list[object]) -> None:
        little = pipe.waiting <= self._buffer // 2 and pipe.held <= self._memory // SHARE // 2
        if pipe in self._clogged and little:
            self._clogged.discard(pipe)
            pipe.read(on=self._reads(pipe))
        super().written(pipe, tokens)

    def _reads(self, pipe: Pipe) -> bool:
        return super()._reads(pipe) and pipe not in self._clogged

    def _joined(self, peer: SocketPeer) -> None:
        super()._joined(peer)
        if peer.pipe is not None:
            self._untaken[peer.pipe] = set()

    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        self._clogged.discard(pipe)
        super()._left(peer, pipe)
        del self._untaken[pipe]

    def _take(self) -> tuple[MessageSource[Request], Request] | None:
        pair = super()._take()
        if pair is not None and (untaken := self._untaken.get(pair[1].pipe)):
            untaken.discard(pair[1].stack)
        return pair

    def _put_back(self, source: MessageSource[Request], request: Request) -> None:
        super()._put_back(source, request)
        if (untaken := self._untaken.get(request.pipe)) is not None:
            untaken.add(request.stack)

    @staticmethod
    def _size(item: Request) -> int:
        return len(item.raw)

    def aside(self, pipe: Pipe, frame: bytes) -> None:
        """A device has said something that is no request. Workers need not know."""

    def _item(self, pipe: Pipe, message: Bytes) -> Request | None:
        if message[: len(MARK)] == MARK:
            self.aside(pipe, bytes(message))
            return None
        try:
            parts = split(message, self._max_ttl)
        except WireError:
            pipe.peer.count(IGNORED)
            return None
        if parts is None:
            pipe.peer.count(TOO_FAR)
            self.tell(GAVE_UP, pipe.peer, f"more than {self._max_ttl} have received it", 1)
            return None
        stack, body = parts
        request = Request(body, stack, pipe, self)
        if self._is_here(request):
            pipe.peer.count(RECEIVED)
            pipe.peer.count(RESENT)
            return None
        self._untaken[pipe].add(stack)
        return request

    def _is_here(self, request: Request) -> bool:
        """Whether the same was asked before, and still waits here: then it is not done twice."""
        return request.stack in self._untaken[request.pipe]
