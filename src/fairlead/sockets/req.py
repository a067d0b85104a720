"""REQ: each request to one of the workers, again to another where no reply comes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from fairlead.balance.message import Message
from fairlead.errors import UserError
from fairlead.sockets.guard import Calm
from fairlead.sockets.options import check_timeout
from fairlead.sockets.pending import Pending
from fairlead.sockets.requester import Requester
from fairlead.sockets.ring import NOTHING
from fairlead.sockets.waiter import Waiter
from fairlead.sockets.wire import Bytes, request_id

NO_REPLY: Final = "request: no reply"


class _Asked(Pending):
    """A request for whose reply somebody waits."""

    __slots__ = ("waiter",)

    def __init__(self, key: bytes, body: bytes, message: Message, *, coroutine: bool) -> None:
        super().__init__(key, body, message)
        self.waiter: _Reply = _Reply(coroutine=coroutine)
        self.waiter.key = key

    def settle(self, body: Bytes) -> None:
        self.waiter.settle(bytes(body))

    def fail(self, error: UserError) -> None:
        self.waiter.fail(error)


class _Reply(Waiter[bytes]):
    """Who waits for a reply."""

    __slots__ = ("key",)
    key: bytes


class Req(Requester):
    """Sends each request to one peer and gives its reply back. Requests can run side by side.

    A request is sent again, with the same id, when its peer goes, at once; and when there was no
    reply for `resend` seconds. The first reply counts. So a worker can get a request twice.

    One whose peers go `attempts` times before they reply fails with a SocketError: it may be what
    ends them.

    A peer that hangs is suspended: nothing came from it in that time, or for longer than it usually
    takes while somebody stopped waiting. What it has is asked elsewhere. It is tried again after
    `retry` seconds, and then less and less often, with what another has replied to or with what
    waits, until it says something. A `capacity` of an endpoint is how many requests a peer may have
    without a reply; then it is busy.
    """

    def request(
        self, body: bytes, *, timeout: float | None = None, message: Message = NOTHING
    ) -> bytes:
        """Send a request; returns the reply.

        `timeout`: seconds, None is for ever; `message`: what the policy reads of it, such as
        `group`. Raises SocketTimeoutError, which names the endpoints and their states; SocketError;
        MessageError for what a message cannot say.
        """
        check_timeout(timeout)
        return self._wait(self._begin(body, message, coroutine=False), timeout, NO_REPLY)

    async def arequest(
        self,
        body: bytes,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the same words as `request`
        message: Message = NOTHING,
    ) -> bytes:
        """The same in a coroutine; where it is cancelled, nobody waits for the reply."""
        check_timeout(timeout)
        return await self._await(self._begin(body, message, coroutine=True), timeout, NO_REPLY)

    def _begin(self, body: bytes, message: Message, *, coroutine: bool) -> Waiter[bytes]:
        body = self.checked(body)
        with Calm(), self.lock:
            self._check_open()
            if message is not NOTHING:
                self._ring.check(message)
            pending = _Asked(self._key(), body, message, coroutine=coroutine)
            self.ask(pending)
            return pending.waiter

    def _key(self) -> bytes:
        """The next id that no request without a reply has."""
        while (key := request_id(next(self._numbers))) in self._pending:
            pass
        return key

    @cached_property
    def _numbers(self) -> Iterator[int]:
        """From anywhere, so that a peer does not take them for those of an earlier socket."""
        return itertools.count(random.getrandbits(31))

    def _abandon(self, waiter: Waiter[Any]) -> None:
        if isinstance(waiter, _Reply) and not waiter.done:
            pending = self.forget(waiter.key)
            if pending is not None:
                self.impatient(pending, "waits no more")
