"""One `acquire`: a job that somebody waits for, in a `with` block, and the decision it gets."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

from fairlead.balance.message import ROUTED, AttributeValues, Message
from fairlead.balance.times import seconds
from fairlead.errors import MessageError, NoDestinationError, PoolTimeoutError
from fairlead.pool.job import FAILED, OVER, TIMEOUT, WAITING, Job
from fairlead.pool.waiter import TaskWaiter, ThreadWaiter

if TYPE_CHECKING:
    from fairlead.pool.events import PoolEvents

W = TypeVar("W", ThreadWaiter, TaskWaiter)


class RequestRunner(Protocol):
    """Who runs requests, under the pool's lock; see `fairlead.pool.scheduler`."""

    def enter(self, request: PoolRequest, kind: type[W]) -> W | None: ...

    def still(self, request: PoolRequest, kind: type[W]) -> W | None: ...

    def leave(self, request: PoolRequest, outcome: str) -> None: ...

    def abandon(self, request: PoolRequest) -> None: ...

    def expire(self, request: PoolRequest, waiter: ThreadWaiter | TaskWaiter) -> None: ...

    def retry(
        self, request: PoolRequest, attempt: int, kind: type[W], *, elsewhere: bool = False
    ) -> W | None: ...


class PoolRequest(Job):
    """What `Pool.acquire` gives: it waits at the beginning of a block, and is settled at its end.

    It can be used once.
    """

    waiter: ThreadWaiter | TaskWaiter | None = None
    """Who waits now, if somebody does."""
    granted: PoolDecision | None = None
    """What the latest attempt that was started had."""
    begun = False
    """Whether a block of it has begun."""
    _decision: PoolDecision | None = None
    """What the block has."""

    def __init__(
        self,
        running: RequestRunner,
        core: PoolEvents,
        timeout: float | None,
        message: Message,
        values: AttributeValues,
        group: str,
        priority: int | None,
        tenant: str,
        cost: int,
        avoid: frozenset[str] = frozenset(),
    ) -> None:
        """`timeout`: seconds, or None; the rest as in `Job`."""
        if avoid:
            self.avoid = avoid
        self.running = running
        self.core = core
        self.timeout = timeout
        self.message = message
        self.values = values
        self.group = group
        self.priority = priority
        self.tenant = tenant
        self.cost = cost

    async def __aenter__(self) -> PoolDecision:
        """Wait until a destination has a reader for it. Raises as `Pool.acquire` says."""
        waiter = self.running.enter(self, TaskWaiter)
        if waiter is not None:
            await self.come(waiter, self.timeout)
        return self._decided()

    def __enter__(self) -> PoolDecision:
        """The same in a thread."""
        waiter = self.running.enter(self, ThreadWaiter)
        if waiter is not None:
            self.wait(waiter, self.timeout)
        return self._decided()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The work is done; after an exception it has failed."""
        self._leave(kind is not None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The same in a thread."""
        self._leave(kind is not None)

    def _leave(self, failed: bool) -> None:
        decision = self._decision
        if decision is not None and decision.has_failed:
            failed = True
        self.running.leave(self, FAILED if failed else ROUTED)
        self._decision = self.granted = None  # which know this request: so all is freed at once

    async def come(self, waiter: TaskWaiter | None, timeout: float | None) -> None:  # noqa: ASYNC109 - it gives the place back
        """Wait in a coroutine until it is started, or over."""
        end = None if timeout is None else monotonic() + timeout
        try:
            while waiter is not None:
                if end is None:
                    await waiter.future
                elif not await waiter.come(end - monotonic()):
                    self.running.expire(self, waiter)
                # Its destination may have failed before this coroutine could run.
                waiter = self.running.still(self, TaskWaiter) if self.phase == WAITING else None
        except BaseException:
            self.running.abandon(self)
            raise

    def wait(self, waiter: ThreadWaiter | None, timeout: float | None) -> None:
        """The same in a thread."""
        end = None if timeout is None else monotonic() + timeout
        try:
            while waiter is not None:
                if not waiter.wait(None if end is None else end - monotonic()):
                    self.running.expire(self, waiter)
                waiter = self.running.still(self, ThreadWaiter) if self.phase == WAITING else None
        except BaseException:
            self.running.abandon(self)
            raise

    def refusal(self) -> Exception:
        """Why it will not be worked on."""
        if self.error is not None:
            return self.error
        if self.outcome == TIMEOUT:
            return PoolTimeoutError("acquire: no reader was free for it in time; acquire it again")
        if self.outcome in (ROUTED, FAILED) and self.phase == OVER:
            return MessageError(
                "retry: found a request whose block has ended, allowed: inside the block; "
                "acquire once more"
            )
        return NoDestinationError(
            f"acquire: found no destination ({self.outcome}), allowed: a message that a "
            "destination of the cluster can get; fairlead explain says who was dropped and why"
        )

    def _decided(self) -> PoolDecision:
        granted = self.granted
        if granted is None or self.phase == OVER:
            raise self.refusal()
        self._decision = granted
        return granted


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

    def __init__(self, request: PoolRequest) -> None:
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

    def retry(self, timeout: float | None = None, *, elsewhere: bool = False) -> None:
        """This attempt was in vain: give the reader back, and wait for another attempt.

        The message returns to its place, before what came after it, and keeps its priority. Where
        its destination has failed, the policy has chosen another. Then `destination`, `address`,
        `attempt` and `reader` are those of the new attempt. `elsewhere`: the policy chooses again,
        without the destinations in which an attempt of it was in vain. `timeout`: seconds. For
        threads.
        Raises PoolTimeoutError, and NoDestinationError where nobody is left; the message then is
        over.
        """
        request = self._request
        waiter = request.running.retry(request, self.attempt, ThreadWaiter, elsewhere=elsewhere)
        if waiter is not None:
            request.wait(waiter, timeout)
        self._resume()

    async def aretry(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - as `retry`
        *,
        elsewhere: bool = False,
    ) -> None:
        """The same in a coroutine."""
        request = self._request
        waiter = request.running.retry(request, self.attempt, TaskWaiter, elsewhere=elsewhere)
        if waiter is not None:
            await request.come(waiter, timeout)
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
