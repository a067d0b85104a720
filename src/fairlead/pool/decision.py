"""A pool's decision: where the work of a block is to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.balance.times import seconds
from fairlead.pool.job import OVER
from fairlead.pool.waiter import TaskWaiter, ThreadWaiter

if TYPE_CHECKING:
    from fairlead.pool.request import Request


class PoolDecision:
    """Where the work of one block is to be done, and by which reader of the destination.

    It holds the reader until the block is left, or until the destination has failed (`lost`).
    """

    __slots__ = (
        "_request",
        "address",
        "attempt",
        "destination",
        "has_failed",
        "reader",
    )

    destination: str
    """The destination's name."""
    address: str | None
    """Its address, if the cluster's file gives one."""
    attempt: int
    """From 1; one more for each retry, and wherever its destination failed before it was done."""
    reader: int
    """Which reader of the destination, from 1."""
    has_failed: bool
    """Whether `failed` was called in this attempt."""

    def __init__(self, request: Request) -> None:
        """Made when a reader begins with a request; under the pool's lock."""
        self._request = request
        self.destination = request.destination or ""
        self.address = request.address
        self.attempt = request.attempt
        self.reader = request.reader
        self.has_failed = False

    @property
    def sequence(self) -> int:
        """The message's place in its stream, from 0."""
        return self._request.sequence

    @property
    def waited(self) -> float:
        """How long this attempt waited, in seconds; of one that is `lost`, how long so far."""
        request = self._request
        until = request.core.now if request.start is None else request.start
        return seconds(until - request.since)

    @property
    def lost(self) -> bool:
        """Whether the destination has failed since, and the message goes elsewhere.

        `retry` waits until it does. A block that goes on is settled when it is left, as others are.
        """
        return self.attempt != self._request.attempt or self._request.phase == OVER

    def failed(self) -> None:
        """The work has failed: the block is counted as failed when it is left."""
        self.has_failed = True

    def retry(self, timeout: float | None = None) -> None:
        """This attempt was in vain: give the reader back, and wait for another attempt.

        The message returns to its place, before what came after it, and keeps its priority. Where
        its destination has failed, the policy has chosen another. Then `destination`, `address`,
        `attempt` and `reader` are those of the new attempt. `timeout`: seconds. For threads.
        Raises PoolTimeoutError, and NoDestinationError where nobody is left; the message then is
        over.
        """
        waiter = self._request.running.retry(self._request, self.attempt, ThreadWaiter)
        if waiter is not None:
            self._request.wait(waiter, timeout)
        self._resume()

    async def aretry(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as `retry`
        """The same in a coroutine."""
        waiter = self._request.running.retry(self._request, self.attempt, TaskWaiter)
        if waiter is not None:
            await self._request.come(waiter, timeout)
        self._resume()

    def _resume(self) -> None:
        request = self._request
        if request.granted is None or request.phase == OVER:
            raise request.refusal()
        granted = request.granted
        self.destination, self.address = granted.destination, granted.address
        self.attempt, self.reader = granted.attempt, granted.reader
        self.has_failed = False

    def __repr__(self) -> str:
        return f"<PoolDecision {self.destination}, reader {self.reader}, attempt {self.attempt}>"
