"""Peers that hang: they are suspended, and tried again from time to time."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from typing import Final, Unpack

from fairlead.balance.cluster import Cluster
from fairlead.sockets import options
from fairlead.sockets.arguments import SenderOptions
from fairlead.sockets.base import now
from fairlead.sockets.events import HANGS, RETURNED
from fairlead.sockets.peers import SocketPeer
from fairlead.sockets.pending import Pending, SentRequest
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.sender import Sender
from fairlead.sockets.suspects import Suspect, Watch

RETRY: Final = 1.0
"""Seconds after which a peer that hangs is tried again, unless a socket says otherwise."""
ATTEMPTS: Final = 10
"""How often a request is sent to peers that go, unless a socket says otherwise."""
FAILED_OVER: Final = "failed_over"
SUSPENDED: Final = "suspended"
TRIED: Final = "tried"
ONCE: Final = 1
"""As `attempts`: no request is sent a second time because of its peer."""


class SuspectingSender(Sender):
    """A sender of requests that sees which peers hang."""

    def __init__(
        self,
        cluster: Cluster | None,
        *,
        retry: float,
        attempts: int,
        **more: Unpack[SenderOptions],
    ) -> None:
        """`retry`: seconds; `attempts`: as a `Requester`. Raises SocketError."""
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

    @abstractmethod
    def _send_again(self, attempt: SentRequest, why: str) -> None:
        """Let a request wait for another peer, if this was its latest attempt."""

    @abstractmethod
    def _set_timer(self, oldest: float) -> None:
        """See to it that somebody looks when this has had no reply for too long."""

    @abstractmethod
    def _was_sent(self, pipe: Pipe) -> None:
        """A peer was given a request."""

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
