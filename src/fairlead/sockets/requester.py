"""Requests on their way: to whom they were sent, and again where no reply comes."""

from __future__ import annotations

import ssl
import time
from abc import ABC, abstractmethod
from itertools import takewhile
from typing import Final, NamedTuple

from fairlead.balance.cluster import Cluster
from fairlead.balance.decision import Decision
from fairlead.balance.message import Message
from fairlead.errors import SocketError, UserError, WireError
from fairlead.sockets import options
from fairlead.sockets.base import BACKOFF, BUFFER, BUSY, IGNORED, EndpointState, Peer, now
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.ring import CAPACITY, Lane
from fairlead.sockets.sender import SENT, Sender
from fairlead.sockets.wire import HIGHEST_TTL, MAX_SIZE, Protocol, split

RESEND: Final = 60.0
"""Seconds without a reply after which a request is sent again, as nanomsg has them."""
RETRY: Final = 1.0
"""Seconds after which a peer that was silent is tried again, unless a socket says otherwise."""
ATTEMPTS: Final = 10
"""How often a request is sent to peers that go, unless a socket says otherwise."""
RESENT, FAILED_OVER, REPLIED, LOST = "resent", "failed_over", "replied", "lost"
SUSPENDED: Final = "suspended"


class Pending(ABC):
    """A request without a reply."""

    __slots__ = (
        *("again", "attempt", "chosen", "first", "frame", "key", "lane", "lost"),
        *("message", "pipes", "since"),
    )

    def __init__(self, key: bytes, body: bytes, message: Message) -> None:
        """`key`: its stack of words, by which its replies are known."""
        self.key = key
        self.frame = key + body
        self.message = message
        self.since = time.monotonic()
        self.attempt: Attempt | None = None
        """The latest."""
        self.again = ""
        """Why it is sent again."""
        self.pipes: set[Pipe] = set()
        """By which it was sent: from there a reply may come."""
        self.lane: Lane = ()
        self.first = ""
        """The id of its first row in the journal."""
        self.chosen = 0
        """How often somebody was chosen for it."""
        self.lost = 0
        """How often it was lost with its peer."""

    @abstractmethod
    def settle(self, body: bytes) -> None:
        """This is the reply."""

    @abstractmethod
    def fail(self, error: UserError) -> None:
        """There will be none."""


class Attempt(NamedTuple):
    """A request that was sent to a peer, which has not replied."""

    key: bytes
    pipe: Pipe
    decision: Decision
    sent: float
    """On the monotonic clock."""


class Requester(Sender):
    """Sends requests by a ring, again to others where their peer goes or is silent."""

    protocol = Protocol.REQ
    resends = True
    """Whether it sends again where there was no reply for long; else whoever asked does."""

    def __init__(
        self,
        cluster: Cluster | None = None,
        *,
        resend: float = RESEND,
        retry: float = RETRY,
        attempts: int = ATTEMPTS,
        buffer: int = BUFFER,
        max_size: int = MAX_SIZE,
        reconnect: tuple[float, float] = BACKOFF,
        journal: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`resend`, `retry`: seconds; the rest as a `Sender`. Raises SocketError.

        `attempts`: how often a request is sent to peers that go before they reply; 0: no limit.
        """
        options.check_period("resend", resend)
        options.check_period("retry", retry)
        options.check_attempts(attempts)
        self._resend = resend
        self._retry = retry
        self._allowed = attempts
        self._pending: dict[bytes, Pending] = {}
        self._attempts: dict[Pipe, dict[bytes, Attempt]] = {}
        """The oldest first."""
        self._heard: dict[Pipe, float] = {}
        """When something came from there."""
        self._timed = False
        self._suspended: set[Pipe] = set()
        self._on_trial: dict[Pipe, Attempt | None] = {}
        """They were suspended, and may show that they work again: with one request."""
        super().__init__(
            cluster,
            buffer=buffer,
            max_size=max_size,
            reconnect=reconnect,
            journal=journal,
            tls=tls,
        )

    def ask(self, found: Pending) -> None:
        """Send a request, or let it wait. The lock is held.

        One with the same key, which somebody sends again, takes the place of the earlier one.
        """
        earlier = self.forget(found.key)
        if earlier is not None:
            found.first, found.chosen, found.lost = earlier.first, earlier.chosen, earlier.lost
        found.lane = self._ring.lane(found.message)
        self._pending[found.key] = found
        if self._waiting.holds(found.lane) or not self._taken(found):
            self._waiting.put(found)
            self._set_alarm()

    # -------- sending, and sending again

    def _handed(self, found: Pending) -> bool:
        """Whether somebody was ready, and has it."""
        while chosen := self._choose(found.message, found.first, found.chosen + 1):
            pipe, decision = chosen
            found.chosen += 1
            found.first = found.first or str(decision.sequence)
            pipe.send(found.frame)
            if not pipe.open:  # the connection turned out to be over: choose again
                continue
            earlier = self._attempts[pipe].pop(found.key, None)
            if earlier is not None:  # whoever asked sent it again, and it went there again
                self._ring.completed(now(), earlier.decision)
            attempt = Attempt(found.key, pipe, decision, time.monotonic())
            found.attempt = self._attempts[pipe][found.key] = attempt
            found.pipes = {*(each for each in found.pipes if each.open), pipe}
            if pipe in self._on_trial:
                self._on_trial[pipe] = attempt
            self._set_timer(attempt.sent)
            pipe.peer.count(SENT)
            if found.again:
                pipe.peer.count(found.again)
            self._reconsider(pipe.peer)
            return True
        return False

    def _taken(self, waiting: Pending) -> bool:
        try:
            return self._handed(waiting)
        except UserError as error:  # of a rule of the user's own
            self.forget(waiting.key)
            waiting.fail(error)
            return True

    def _send_again(self, attempt: Attempt, why: str) -> None:
        """Let a request wait for another peer, if this was its latest attempt."""
        found = self._pending.get(attempt.key)
        if found is not None and found.attempt is attempt:
            found.again = why
            self._waiting.drop(found)
            self._waiting.put(found, again=True)

    def _lose(self, attempt: Attempt) -> None:
        """A request was lost with its peer: send it again, or not if that was too often."""
        found = self._pending.get(attempt.key)
        if found is None or found.attempt is not attempt:
            return
        source = attempt.pipe.source
        if self._endpoints.get(source.name) is source:  # else it was closed here
            found.lost += 1
        if not self._allowed or found.lost < self._allowed:
            self._send_again(attempt, FAILED_OVER)
            return
        peer = attempt.pipe.peer
        peer.count(LOST)
        self.forget(found.key)
        found.fail(
            SocketError(
                f"request: found no reply in {found.lost} attempts, as each peer went before it "
                f"replied; the last was {peer.name}: {attempt.pipe.trouble}"
            )
        )

    def _set_timer(self, oldest: float) -> None:
        """See to it that somebody looks when this has had no reply for too long."""
        if not self._timed:
            self._timed = True
            left = oldest + self._resend - time.monotonic()
            self._loop.later(max(0.0, left), self._look)

    def _look(self) -> None:
        """Send again what has had no reply for too long."""
        with self.lock:
            self._timed = False
            if self._closed:
                return
            latest = time.monotonic() - self._resend
            for attempts in [*self._attempts.values()]:
                for attempt in [*takewhile(lambda each: each.sent <= latest, attempts.values())]:
                    self._give_up(attempt)
            self._drain()
            oldest = [next(iter(each.values())).sent for each in self._attempts.values() if each]
            if oldest:
                self._set_timer(min(oldest))

    def _give_up(self, attempt: Attempt) -> None:
        pipe = attempt.pipe
        del self._attempts[pipe][attempt.key]
        if self._heard[pipe] < attempt.sent:
            self._suspend(attempt)
        else:
            self._ring.completed(now(), attempt.decision)
        found = self._pending.get(attempt.key)
        if self.resends:
            self._send_again(attempt, RESENT)
        elif found is not None and found.attempt is attempt:
            self.forget(attempt.key)
        self._reconsider(pipe.peer)

    # -------- silent peers

    def _suspend(self, attempt: Attempt) -> None:
        """Take out a peer that is silent; what it held counts no more."""
        pipe = attempt.pipe
        if pipe in self._suspended or self._on_trial.get(pipe, attempt) is not attempt:
            return  # that is of before
        self._on_trial.pop(pipe, None)
        self._suspended.add(pipe)
        self._ring.failed(now(), pipe.peer.name)
        pipe.peer.busy = True
        self._loop.later(self._retry, lambda: self._try(pipe))

    def _try(self, pipe: Pipe) -> None:
        with self.lock:
            if pipe in self._suspended and pipe.open:
                self._on_trial[pipe] = None
                self._return(pipe)

    def _return(self, pipe: Pipe) -> None:
        self._suspended.discard(pipe)
        self._ring.joined(now(), pipe.peer.name)
        pipe.peer.busy = False
        self._reconsider(pipe.peer)
        self._drain()

    def _rests(self, peer: Peer) -> bool:
        pipe = peer.pipe
        tried = pipe is not None and self._on_trial.get(pipe) is not None
        return peer.full or tried or pipe in self._suspended

    # -------- what comes

    def received(self, pipe: Pipe, messages: list[bytes]) -> None:
        self._heard[pipe] = time.monotonic()
        self._on_trial.pop(pipe, None)
        if pipe in self._suspended:
            self._return(pipe)
        for each in messages:
            self._reply(pipe, each)
        self._reconsider(pipe.peer)
        self._drain()

    def _reply(self, pipe: Pipe, message: bytes) -> None:
        try:
            parts = split(message, HIGHEST_TTL)
        except WireError:
            parts = None
        if parts is None:
            pipe.peer.count(IGNORED)
            return
        key, body = parts
        attempt = self._attempts[pipe].pop(key, None)
        if attempt is not None:
            self._ring.completed(now(), attempt.decision)
        found = self._answered(pipe, key)
        pipe.peer.count(IGNORED if found is None else REPLIED)
        if found is None:
            self._unknown(key, body)
        else:
            found.settle(body)

    def _answered(self, pipe: Pipe, key: bytes) -> Pending | None:
        """The request that this is the reply to, which is settled with it.

        None for one that was never sent to this peer. Where whoever asked sends again, others than
        the latest may have it, too.
        """
        found = self._pending.get(key)
        if found is not None and self.resends and pipe not in found.pipes:
            return None
        return self.forget(key)

    def forget(self, key: bytes) -> Pending | None:
        """Nobody waits for a reply any more. The lock is held."""
        found = self._pending.pop(key, None)
        if found is not None:
            self._waiting.drop(found)
        return found

    def _unknown(self, key: bytes, body: bytes) -> None:
        """This is a reply for which nobody waits."""

    def _joined(self, peer: Peer) -> None:
        if peer.pipe is not None:
            self._attempts[peer.pipe] = {}
            self._heard[peer.pipe] = 0.0
        super()._joined(peer)

    def _left(self, peer: Peer, pipe: Pipe) -> None:
        super()._left(peer, pipe)
        for attempt in self._attempts.pop(pipe).values():
            self._lose(attempt)
        del self._heard[pipe]
        self._suspended.discard(pipe)
        self._on_trial.pop(pipe, None)
        self._drain()

    def written(self, pipe: Pipe, tokens: list[object]) -> None:
        self._reconsider(pipe.peer)
        self._drain()
        super().written(pipe, tokens)

    # -------- the rest

    def _one(self, peer: Peer) -> EndpointState:
        found = super()._one(peer)
        if peer.pipe is None:
            return found
        if peer.pipe in self._suspended:
            return found._replace(state=SUSPENDED)
        held = len(self._attempts[peer.pipe])
        capacity = self._tables[peer.source.name].get(CAPACITY, 0)
        return found._replace(state=BUSY) if capacity and held >= capacity else found

    def _abort(self, error: SocketError) -> None:
        for found in [*self._pending.values()]:
            self.forget(found.key)
            found.fail(error)
