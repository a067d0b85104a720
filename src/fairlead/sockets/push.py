"""PUSH: each message to one of the peers."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from fairlead.balance.decision import Decision
from fairlead.balance.message import Message
from fairlead.errors import SocketError
from fairlead.sockets.base import Peer, now
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.ring import NOTHING
from fairlead.sockets.sender import SENT, Sender
from fairlead.sockets.waiter import Waiter
from fairlead.sockets.wire import Protocol

NOBODY: Final = "send: nobody was ready"
LOST: Final = "lost"


class _Waiting(Waiter[None]):
    """A message for which nobody was ready."""

    __slots__ = ("body", "message")

    def __init__(self, body: bytes, message: Message, *, coroutine: bool) -> None:
        super().__init__(coroutine=coroutine)
        self.body = body
        self.message = message


class Push(Sender):
    """Sends each message to one peer, which does not answer.

    A peer is ready while fewer than `buffer` messages for it (or its own `capacity`) wait for the
    transport. So many, and what the transport has taken, are lost with a peer that dies.
    """

    protocol = Protocol.PUSH

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as `Sender`
        """As a `Sender`."""
        self._waiting: deque[_Waiting] = deque()
        super().__init__(*args, **options)

    def send(
        self, body: bytes, *, timeout: float | None = None, message: Message = NOTHING
    ) -> None:
        """Send a message, waiting until somebody is ready.

        `timeout`: seconds, None is for ever; `message`: what the policy reads of it, such as
        `group`. Raises SocketTimeoutError, which names the endpoints and their states; SocketError.
        """
        waiting = self._begin(body, message, coroutine=False)
        if waiting is not None:
            self._wait(waiting, timeout, NOBODY)

    async def asend(
        self,
        body: bytes,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the same words as `send`
        message: Message = NOTHING,
    ) -> None:
        """The same in a coroutine."""
        waiting = self._begin(body, message, coroutine=True)
        if waiting is not None:
            await self._await(waiting, timeout, NOBODY)

    def _begin(self, body: bytes, message: Message, *, coroutine: bool) -> _Waiting | None:
        """Send it, or let it wait."""
        body = self.checked(body)
        with self.lock:
            self._check_open()
            if not self._waiting and self._sent(body, message):
                return None
            waiting = _Waiting(body, message, coroutine=coroutine)
            self._waiting.append(waiting)
            return waiting

    def _sent(self, body: bytes, message: Message) -> bool:
        """Whether somebody was ready, and has it."""
        while (chosen := self._choose(message)) is not None:
            pipe, decision = chosen
            if pipe.send(body, decision):
                self._ring.completed(now(), decision)
            elif not pipe.open:  # the connection turned out to be over: choose again
                continue
            else:
                self._reconsider(pipe.peer)
            pipe.peer.count(SENT)
            return True
        return False

    def _send_waiting(self) -> None:
        while self._waiting and self._sent(self._waiting[0].body, self._waiting[0].message):
            self._waiting.popleft().settle(None)

    def written(self, pipe: Pipe, token: object) -> None:
        if isinstance(token, Decision):
            self._ring.completed(now(), token)
        self._reconsider(pipe.peer)
        self._drain()
        super().written(pipe, token)

    def _left(self, peer: Peer, pipe: Pipe) -> None:
        if pipe.waiting:
            peer.count(LOST, pipe.waiting)
        super()._left(peer, pipe)
        self._drain()

    def _rests(self, peer: Peer) -> bool:
        return peer.full and not self._ring.knows_capacity

    def _capacity(self) -> int:
        return self._buffer

    def _abandon(self, waiter: Waiter[Any]) -> None:
        if not waiter.done:
            self._waiting = deque(each for each in self._waiting if each is not waiter)

    def _abort(self, error: SocketError) -> None:
        while self._waiting:
            self._waiting.popleft().fail(error)
