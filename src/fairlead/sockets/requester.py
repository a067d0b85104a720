"""Requests on their way: to whom they were sent, and again where a peer hangs or none replies."""

from __future__ import annotations

import math
import time
from itertools import takewhile
from typing import Final, Unpack

from fairlead.balance.cluster import Cluster
from fairlead.errors import SocketError, UserError, WireError
from fairlead.sockets import options
from fairlead.sockets.arguments import SenderOptions
from fairlead.sockets.base import now
from fairlead.sockets.events import GAVE_UP, HANGS, RETURNED
from fairlead.sockets.neighbours import MARK
from fairlead.sockets.peers import BUSY, DOWN, IGNORED, UP, EndpointState, SocketPeer
from fairlead.sockets.pending import Pending, SentRequest
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.ring import CAPACITY
from fairlead.sockets.sender import SENT, Sender
from fairlead.sockets.suspects import Suspect, Watch
from fairlead.sockets.wire import HIGHEST_TTL, Bytes, Protocol, TooLongError, split

RESEND: Final = 60.0
"""Seconds without a reply after which a request is sent again, as nanomsg has them."""
RETRY: Final = 1.0
"""Seconds after which a peer that hangs is tried again, unless a socket says otherwise."""
ATTEMPTS: Final = 10
"""How often a request is sent to peers that go, unless a socket says otherwise."""
FAILED_OVER: Final = "failed_over"
SUSPENDED: Final = "suspended"
TRIED: Final = "tried"
ONCE: Final = 1
"""As `attempts`: no request is sent a second time because of its peer."""
RESENT, REPLIED, LOST = "resent", "replied", "lost"


class Requester(Sender):
    """Sends requests by a ring, again to others where their peer goes or hangs."""

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
        **more: Unpack[SenderOptions],
    ) -> None:
        """`resend`, `retry`: seconds; the rest as a `Sender`. Raises SocketError.

        `attempts`: how often a request is sent to peers that go before they reply; 0: no limit.
        """
        options.check_period("resend", resend)
        self._resend = resend
        self._timed = False
        options.check_period("retry", retry)
        options.check_attempts(attempts)
        self._retry = retry
        self._allowed = attempts
        self._pending: dict[bytes, Pending] = {}
        self._attempts: dict[Pipe, dict[bytes, SentRequest]] = {}
        """The oldest first."""
        self._watches: dict[Pipe, Watch] = {}
        self._due: set[Pipe] = set()
        """Suspects that it is time to try."""
        super().__init__(cluster, **more)

    def ask(self, pending: Pending) -> None:
        """Send a request, or let it wait. The lock is held.

        One with the same key, which somebody sends again, takes the place of the earlier one. Where
        a peer has that, and has not had it for longer than it usually takes, it is not sent there
        once more.
        """
        earlier = self.forget(pending.key)
        if earlier is not None:
            pending.first, pending.chosen, pending.lost = (
                earlier.first,
                earlier.chosen,
                earlier.lost,
            )
            self.impatient(earlier, "asked again")
            if self._underway(earlier):
                pending.attempt, pending.pipes = earlier.attempt, earlier.pipes
                self._pending[pending.key] = pending
                return
        pending.lane = self._ring.lane(pending.message)
        self._pending[pending.key] = pending
        if self._waiting.holds(pending.lane) or not self._taken(pending):
            self._waiting.put(pending)
            self._admit_due()
            self._set_alarm()

    def has(self, pending: Pending) -> bool:
        """Whether a request has no reply yet."""
        return self._pending.get(pending.key) is pending

    def _underway(self, pending: Pending) -> bool:
        """Whether its peer may still be expected to reply."""
        attempt = pending.attempt
        watch = self._watches.get(attempt.pipe) if attempt is not None else None
        if attempt is None or watch is None or watch.suspect is not None:
            return False
        return not watch.hangs(attempt.sent, time.monotonic())

    # -------- sending, and sending again

    def _handed(self, pending: Pending) -> bool:
        """Whether somebody was ready, and has it."""
        without = self._without(pending)
        while chosen := self._choose(pending.message, pending.first, pending.chosen + 1, without):
            pipe, decision = chosen
            pending.chosen += 1
            pending.first = pending.first or str(decision.sequence)
            pipe.send(pending.body, before=pending.key)
            if not pipe.open:  # the connection turned out to be over: choose again
                continue
            earlier = self._attempts[pipe].get(pending.key)
            if earlier is not None:  # whoever asked sent it again, and it went there again
                self._ring.completed(now(), earlier.decision)
            sent = earlier.sent if earlier is not None else time.monotonic()
            attempt = SentRequest(pending.key, pipe, decision, sent)
            # where there was one, in its place: the oldest stays the first
            pending.attempt = self._attempts[pipe][pending.key] = attempt
            pending.pipes = {*(other_pipe for other_pipe in pending.pipes if other_pipe.open), pipe}
            self._set_timer(attempt.sent)
            self._was_sent(pipe)
            if pending.again:
                pipe.peer.count(pending.again)
            waits_on = self._tried(pipe, pending)
            self._reconsider(pipe.peer)
            if not waits_on:
                return True
        return False

    def _was_sent(self, pipe: Pipe) -> None:
        """A peer was given a request."""
        pipe.peer.count(SENT)

    def _tried(self, pipe: Pipe, pending: Pending) -> bool:
        """Whether this was for a suspect, which gets nobody's only try: so another gets it, too."""
        suspect = self._watches[pipe].suspect
        if suspect is None:
            return False
        suspect.admitted = False
        pipe.peer.count(TRIED)
        if self._allowed == ONCE:
            return False
        pending.attempt = None
        return True

    def _taken(self, waiting: Pending) -> bool:
        try:
            return self._handed(waiting)
        except UserError as error:  # of a rule of the user's own
            self.forget(waiting.key)
            waiting.fail(error)
            return True

    def _send_again(self, attempt: SentRequest, why: str) -> None:
        """Let a request wait for another peer, if this was its latest attempt."""
        pending = self._pending.get(attempt.key)
        if pending is not None and pending.attempt is attempt:
            pending.again = why
            pending.attempt = None
            self._waiting.put(pending, again=True)

    def _lose(self, attempt: SentRequest) -> None:
        """A request was lost with its peer: send it again, or not if that was too often."""
        pending = self._pending.get(attempt.key)
        if pending is None or pending.attempt is not attempt:
            return
        source = attempt.pipe.source
        if self._endpoints.get(source.name) is source:  # else it was closed here
            pending.lost += 1
        if not self._allowed or pending.lost < self._allowed:
            self._send_again(attempt, FAILED_OVER)
            return
        peer = attempt.pipe.peer
        peer.count(LOST)
        self._fail(
            pending,
            peer,
            f"found no reply in {pending.lost} attempts, as each peer went before it replied; the "
            f"last was {peer.name}: {attempt.pipe.trouble}",
        )

    def _fail(self, pending: Pending, peer: SocketPeer, why: str) -> None:
        """There will be no reply."""
        self.forget(pending.key)
        self.tell(GAVE_UP, peer, why, 1)
        pending.fail(SocketError(f"request: {why}"))

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
            hang: set[Pipe] = set()
            for pipe, attempts in [*self._attempts.items()]:
                for attempt in [*takewhile(lambda each: each.sent <= latest, attempts.values())]:
                    if self._watches[pipe].suspect is None:
                        self._give_up(attempt)
                        hang |= {pipe} if self._watches[pipe].suspect else set()
            self._drain()
            if self._waiting.count and self.resends and self._allowed != ONCE:
                # nobody else is ready: so they are asked again now, not later
                self._due |= {pipe for pipe in hang if not pipe.waiting}
                self._admit_due()
            oldest = [
                next(iter(attempts.values())).sent
                for pipe, attempts in self._attempts.items()
                if attempts and self._watches[pipe].suspect is None
            ]
            if oldest:
                self._set_timer(min(oldest))

    def _give_up(self, attempt: SentRequest) -> None:
        """It has had no reply for too long: its peer is silent, or has lost it."""
        pipe = attempt.pipe
        if self._watches[pipe].heard < attempt.sent:
            if self.resends:
                self._send_again(attempt, RESENT)
            self._suspend(pipe, f"no reply within {self._resend:g} s")
            return
        del self._attempts[pipe][attempt.key]
        self._ring.completed(now(), attempt.decision)
        pending = self._pending.get(attempt.key)
        if self.resends:
            self._send_again(attempt, RESENT)
        elif pending is not None and pending.attempt is attempt:
            self.forget(attempt.key)
        self._reconsider(pipe.peer)

    # -------- peers that hang are suspended, and tried again from time to time

    def impatient(self, pending: Pending, what: str) -> None:
        """Whoever asked waits no more, or asks again: that may be because the peer hangs.

        The lock is held. `what`: he did.
        """
        pipe = pending.attempt.pipe if pending.attempt is not None else None
        watch = self._watches.get(pipe) if pipe is not None else None
        if pipe is None or watch is None or watch.suspect is not None:
            return
        attempts = self._attempts[pipe].values()
        moment = next((attempt.sent for attempt in attempts if attempt.sent > watch.heard), None)
        time_now = time.monotonic()
        if moment is not None and watch.hangs(moment, time_now):
            self._suspend(pipe, f"no reply in {time_now - moment:.3g} s, and somebody {what}")
            self._drain()

    def _suspend(self, pipe: Pipe, why: str) -> None:
        """Take out a peer that hangs; what it has is asked elsewhere, where that is allowed."""
        suspect = self._watches[pipe].suspect = Suspect(time.monotonic(), why)
        self._ring.failed(now(), pipe.peer.name)
        pipe.peer.busy = True
        pipe.peer.count(SUSPENDED)
        asked_elsewhere = self._waiting.count
        for attempt in [*self._attempts[pipe].values()]:
            pending = self._pending.get(attempt.key)
            if pending is None or pending.attempt is not attempt:
                continue
            if not self._allowed or pending.lost + 1 < self._allowed:
                pending.lost += 1
                self._send_again(attempt, FAILED_OVER)
        self.tell(HANGS, pipe.peer, why, self._waiting.count - asked_elsewhere)
        self._weigh(pipe.peer, f"it hangs: {why}")
        self._try_later(suspect)

    def _try_later(self, suspect: Suspect) -> None:
        self._loop.later(suspect.pause(time.monotonic(), self._retry), self._try)

    def _try(self) -> None:
        """It is time to try suspects, unless they have spoken or gone."""
        with self.lock:
            time_now = time.monotonic()
            for pipe, watch in self._watches.items():
                suspect = watch.suspect
                if suspect is None or suspect.at > time_now:
                    continue
                if pipe.waiting:  # what it got before has not even left
                    self._try_later(suspect)
                else:
                    suspect.at = math.inf
                    self._due.add(pipe)
            if self._waiting.count or self._allowed == ONCE:
                self._admit_due()

    def _admit_due(self) -> None:
        """Let the policy choose those that are due, each for one request."""
        for pipe in [*self._due]:
            watch = self._watches.get(pipe)
            suspect = watch.suspect if watch is not None else None
            self._due.discard(pipe)
            if suspect is not None:
                suspect.admitted = True
                self._ring.joined(now(), pipe.peer.name)
                pipe.peer.busy = False
                self._try_later(suspect)
                self._drain()

    def _try_with(self, pending: Pending, by: Pipe) -> None:
        """Try those that are due with a copy of what another has just replied to."""
        for pipe in [*self._due] if self._due and self._allowed != ONCE else ():
            watch = self._watches.get(pipe)
            self._due.discard(pipe)
            if pipe is not by and watch is not None and watch.suspect is not None:
                watch.copies.add(pending.key)
                self._try_later(watch.suspect)
                self._was_sent(pipe)
                pipe.peer.count(TRIED)
                pipe.send(pending.body, before=pending.key)

    def _return(self, pipe: Pipe, watch: Watch, suspect: Suspect) -> None:
        """A suspect has spoken: what it has and nobody else got is not asked elsewhere."""
        silent = watch.heard - suspect.since
        watch.suspect = None
        self._due.discard(pipe)
        for key, attempt in self._attempts[pipe].items():
            again = self._attempts[pipe][key] = attempt._replace(sent=watch.heard)
            pending = self._pending.get(key)
            if pending is not None and pending.attempt in (None, attempt):
                self._waiting.drop(pending)
                pending.attempt = again
            self._set_timer(watch.heard)
        self._ring.joined(now(), pipe.peer.name)
        pipe.peer.busy = False
        self.tell(RETURNED, pipe.peer, f"it has spoken after {silent:.3g} s")
        self._weigh(pipe.peer, "it has returned")

    def _can_get(self, peer: SocketPeer) -> bool:
        watch = self._watches.get(peer.pipe) if peer.pipe is not None else None
        return watch is not None and watch.suspect is None

    def _moved(self, pipe: Pipe) -> int:
        return sum(key in self._pending for key in self._attempts[pipe])

    def _has_some(self, peer: SocketPeer) -> bool:
        return bool(peer.pipe is not None and self._attempts.get(peer.pipe))

    def _rests(self, peer: SocketPeer) -> bool:
        watch = self._watches.get(peer.pipe) if peer.pipe is not None else None
        suspect = watch.suspect if watch is not None else None
        return super()._rests(peer) or (suspect is not None and not suspect.admitted)

    # -------- what comes

    def received(self, pipe: Pipe, messages: list[Bytes]) -> None:
        watch = self._watches[pipe]
        watch.heard = time.monotonic()
        if watch.suspect is not None:
            self._return(pipe, watch, watch.suspect)
        for message in messages:
            self._reply(pipe, message)
        self._reconsider(pipe.peer)
        self._drain()

    def aside(self, pipe: Pipe, frame: bytes) -> None:
        """A device has said something that is no reply."""

    def _without(self, pending: Pending) -> str:
        """The peer that a request must not be sent to, if there is one."""
        return ""

    def _reply(self, pipe: Pipe, message: Bytes) -> None:
        if message[: len(MARK)] == MARK:
            self.aside(pipe, bytes(message))
            return
        try:
            parts = split(message, HIGHEST_TTL)
        except WireError:
            parts = None
        if parts is None:
            pipe.peer.count(IGNORED)
            return
        key, body = parts
        attempt = self._attempts[pipe].pop(key, None)
        watch = self._watches[pipe]
        if attempt is not None:
            watch.replied(watch.heard - attempt.sent)
            self._ring.completed(now(), attempt.decision)
        pending = self._answered(pipe, key)
        pipe.peer.count(IGNORED if pending is None else REPLIED)
        if pending is not None:
            watch.copies.discard(key)
            pending.settle(body)
            self._try_with(pending, pipe)
        elif key in watch.copies:
            watch.copies.discard(key)
        else:
            self._unknown(key, body)

    def too_long(self, pipe: Pipe, error: TooLongError) -> None:
        """A reply that would be too long from whoever makes it: its request is not asked again."""
        try:
            parts = split(error.head, HIGHEST_TTL)
        except WireError:
            return
        pending = self._answered(pipe, parts[0]) if parts is not None else None
        if parts is not None and pending is not None:
            self._attempts[pipe].pop(parts[0], None)
            size = error.size - len(parts[0])
            why = f"found a reply of {size} bytes from {pipe.peer.name}, allowed: at most "
            self._fail(pending, pipe.peer, f"{why}{self._max_size} (max_size)")

    def _answered(self, pipe: Pipe, key: bytes) -> Pending | None:
        """The request that this is the reply to, which is settled with it.

        None for one that was never sent to this peer. Where whoever asked sends again, others than
        the latest may have it, too.
        """
        pending = self._pending.get(key)
        if pending is not None and self.resends and pipe not in pending.pipes:
            return None
        return self.forget(key)

    def forget(self, key: bytes) -> Pending | None:
        """Nobody waits for a reply any more. The lock is held."""
        pending = self._pending.pop(key, None)
        if pending is not None:
            self._waiting.drop(pending)
        return pending

    def _unknown(self, key: bytes, body: Bytes) -> None:
        """This is a reply for which nobody waits."""

    def _joined(self, peer: SocketPeer) -> None:
        if peer.pipe is not None:
            self._attempts[peer.pipe] = {}
            self._watches[peer.pipe] = Watch()
        super()._joined(peer)

    def _left(self, peer: SocketPeer, pipe: Pipe) -> None:
        super()._left(peer, pipe)
        for attempt in self._attempts.pop(pipe).values():
            self._lose(attempt)
        del self._watches[pipe]
        self._due.discard(pipe)
        self._drain()

    def written(self, pipe: Pipe, tokens: list[object]) -> None:
        self._reconsider(pipe.peer)
        self._drain()
        super().written(pipe, tokens)

    # -------- the rest

    def _one(self, peer: SocketPeer) -> EndpointState:
        endpoint_state = super()._one(peer)
        if peer.pipe is None:
            return endpoint_state
        held = len(self._attempts[peer.pipe])
        endpoint_state = endpoint_state._replace(held=held)
        suspect = self._watches[peer.pipe].suspect
        if suspect is not None and endpoint_state.state != DOWN:
            state = SUSPENDED if endpoint_state.state in (UP, BUSY) else endpoint_state.state
            more = f"{endpoint_state.trouble}; " if endpoint_state.trouble else ""
            return endpoint_state._replace(state=state, trouble=f"{more}it hangs: {suspect.why}")
        capacity = self._tables[peer.source.name].get(CAPACITY, 0)
        busy = capacity and held >= capacity and endpoint_state.state == UP
        return endpoint_state._replace(state=BUSY) if busy else endpoint_state

    def _abort(self, error: SocketError) -> None:
        for pending in [*self._pending.values()]:
            self.forget(pending.key)
            pending.fail(error)
