"""PUSH: each message to one of the peers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from fairlead.balance.decision import Decision
from fairlead.balance.message import Message
from fairlead.errors import SocketError, UserError
from fairlead.sockets.base import now
from fairlead.sockets.events import GAVE_UP
from fairlead.sockets.guard import Calm
from fairlead.sockets.options import check_timeout
from fairlead.sockets.peers import SocketPeer
from fairlead.sockets.pipe import TOGETHER, Pipe
from fairlead.sockets.ring import CAPACITY, NOTHING, Lane
from fairlead.sockets.sender import SENT, Sender
from fairlead.sockets.waiter import Waiter
from fairlead.sockets.wire import Protocol

NOBODY: Final = "send: nobody was ready"
LOST: Final = "lost"
FAILED_OVER: Final = "failed_over"
QUICK: Final = 100
"""Microseconds after a message within which another may be held, to be written with more."""
MANY: Final = 16
"""So many messages have to follow each other so quickly before one is held."""


class _Sent(NamedTuple):
    """A message that a peer was chosen for, and that the transport has not taken yet."""

    body: bytes
    message: Message
    decision: Decision
    first: str
    """The id of its first row in the journal."""
    chosen: int
    """How often somebody was chosen for it."""


class _Waiting(Waiter[None]):
    """A message for which nobody was ready."""

    __slots__ = ("before", "body", "lane", "message")

    def __init__(
        self, body: bytes, message: Message, lane: Lane, *, coroutine: bool = False
    ) -> None:
        super().__init__(coroutine=coroutine)
        self.body = body
        self.message = message
        self.lane = lane
        self.before: tuple[SocketPeer, _Sent] | None = None
        """Who went before it left this process. Then nobody waits here: it was sent."""


class Push(Sender):
    """Sends each message to one peer, which does not answer.

    A peer is ready while fewer than `buffer` messages for it (or its own `capacity`) wait for the
    transport. What still waits when a peer goes is sent to another; what the transport has taken
    whole may be lost with it.
    """

    protocol = Protocol.PUSH

    _latest = 0
    """When the latest was sent, in microseconds."""
    _streak = 0
    """How many followed each other quickly."""
    _together = 0
    """Messages that may be written at once."""

    def send(
        self, body: bytes, *, timeout: float | None = None, message: Message = NOTHING
    ) -> None:
        """Send a message, waiting until somebody is ready.

        `timeout`: seconds, None is for ever; `message`: what the policy reads of it, such as
        `group`. Raises SocketTimeoutError, which names the endpoints and their states; SocketError;
        MessageError for what a message cannot say.
        """
        check_timeout(timeout)
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
        check_timeout(timeout)
        waiting = self._begin(body, message, coroutine=True)
        if waiting is not None:
            await self._await(waiting, timeout, NOBODY)

    def _begin(self, body: bytes, message: Message, *, coroutine: bool) -> _Waiting | None:
        """Send it, or let it wait."""
        body = self.checked(body)
        with Calm(), self.lock:
            self._check_open()
            if message is not NOTHING:
                self._ring.check(message)
            others = self._waiting.count
            if not others and self._sent(body, message):
                return None
            lane = self._ring.lane(message)
            if others and not self._waiting.holds(lane) and self._sent(body, message):
                return None
            waiting = _Waiting(body, message, lane, coroutine=coroutine)
            self._waiting.put(waiting)
            self._set_alarm()
            return waiting

    def _sent(self, body: bytes, message: Message, first: str = "", times: int = 0) -> bool:
        """Whether somebody was ready, and has it."""
        time = now()
        self._streak = self._streak + 1 if time - self._latest < QUICK else 0
        self._latest = time
        while (chosen := self._choose(message, first, times + 1)) is not None:
            pipe, decision = chosen
            token = _Sent(body, message, decision, first, times)
            if pipe.send(body, token, hold=self._hold(pipe) if self._streak >= MANY else 0):
                self._ring.completed(time, decision)
            elif not pipe.open:  # the connection turned out to be over: choose again
                continue
            elif pipe.blocked:
                self._reconsider(pipe.peer)
            pipe.peer.count(SENT)
            if times:
                pipe.peer.count(FAILED_OVER)
            return True
        return False

    def _taken(self, waiting: _Waiting) -> bool:
        before = waiting.before
        try:
            if before is None:
                sent = self._sent(waiting.body, waiting.message)
            else:
                sent = self._sent(waiting.body, waiting.message, before[1].first, before[1].chosen)
        except UserError as error:  # of a rule of the user's own
            self._fail(waiting, error)
            return True
        if sent:
            waiting.settle(None)
        return sent

    def _fail(self, waiting: _Waiting, error: UserError) -> None:
        """Nobody gets it."""
        waiting.fail(error)
        if waiting.before is not None:
            peer, _ = waiting.before
            peer.count(LOST)
            self.tell(GAVE_UP, peer, f"it has gone, and nobody else got this: {error}", 1)

    def _hold(self, pipe: Pipe) -> int:
        """How many messages may be held to be written together, without effect on a choice.

        What is held is not completed. So the peer must not become busy by it, nor count as one that
        has more to do than others.
        """
        return 0 if self._tables[pipe.source.name].get(CAPACITY) else self._together

    def _add(self, tables: list[dict[str, Any]]) -> None:
        super()._add(tables)
        self._together = 0 if self._ring.weighs_held else min(TOGETHER, self._buffer)

    def written(self, pipe: Pipe, tokens: list[object]) -> None:
        time = now()
        for token in tokens:
            if isinstance(token, _Sent):
                self._ring.completed(time, token.decision)
        self._reconsider(pipe.peer)
        self._drain()
        super().written(pipe, tokens)

    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        unsent = [token for token in pipe.unsent if isinstance(token, _Sent)]
        if self._closed and unsent:
            peer.count(LOST, len(unsent))
            self.tell(GAVE_UP, peer, "the socket was closed before they had left", len(unsent))
        super()._left(peer, pipe)
        if not self._closed:
            for leftover in unsent:  # no peer has one that has not left this process whole
                again = _Waiting(leftover.body, leftover.message, self._ring.lane(leftover.message))
                first = leftover.first or str(leftover.decision.sequence)
                again.before = peer, leftover._replace(first=first, chosen=leftover.chosen + 1)
                self._waiting.put(again, again=True)
        self._drain()

    def _rests(self, peer: SocketPeer) -> bool:
        return peer.heavy or (peer.full and not self._ring.knows_capacity)

    def _capacity(self) -> int:
        return self._buffer

    def _abandon(self, waiter: Waiter[Any]) -> None:
        if not waiter.done:
            self._waiting.drop(waiter)

    def _abort(self, error: SocketError) -> None:
        for waiting in self._waiting.take_all():
            self._fail(waiting, error)
