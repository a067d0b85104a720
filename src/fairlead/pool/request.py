"""One `acquire`: a job that somebody waits for, in a `with` or an `async with`."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from fairlead.balance.message import AttributeValues, Message
from fairlead.errors import NoDestinationError, PoolError, PoolTimeoutError
from fairlead.pool.decision import PoolDecision
from fairlead.pool.job import OVER, TIMEOUT, WAITING, Job
from fairlead.pool.waiter import TaskWaiter, ThreadWaiter

if TYPE_CHECKING:
    from fairlead.pool.core import Core
    from fairlead.pool.running import Running


Grant = tuple[str, str | None, int, int]
"""Destination, its address, attempt and reader."""


class Request(Job):
    """What `Pool.acquire` gives: it waits at the beginning of a block, and is settled at its end.

    It can be used once.
    """

    __slots__ = ("_asked", "_decision", "_running", "core", "granted", "timeout", "waiter")

    def __init__(
        self,
        running: Running,
        core: Core,
        timeout: float | None,
        message: Message,
        values: AttributeValues,
        group: str,
        priority: int | None,
        tenant: str,
        cost: int,
    ) -> None:
        """`timeout`: seconds, or None; the rest as in `Job`."""
        super().__init__(message, values, group, priority, tenant, cost)
        self._running = running
        self.core = core
        self.timeout = timeout
        self.waiter: ThreadWaiter | TaskWaiter | None = None
        """Who waits now, if somebody does."""
        self.granted: Grant | None = None
        """The latest attempt that was started, as it was then."""
        self._asked = False
        self._decision: PoolDecision | None = None

    async def __aenter__(self) -> PoolDecision:
        """Wait until a destination has a reader for it. Raises as `Pool.acquire` says."""
        self._once()
        waiter = self._running.enter(self, TaskWaiter)
        if waiter is not None:
            await self.come(waiter, self.timeout)
        return self._decided()

    def __enter__(self) -> PoolDecision:
        """The same in a thread."""
        self._once()
        waiter = self._running.enter(self, ThreadWaiter)
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
        self.__exit__(kind, error, trace)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The same in a thread."""
        decision = self._decision
        failed = kind is not None or (decision is not None and decision.has_failed)
        self._running.leave(self, failed=failed)

    async def come(self, waiter: TaskWaiter | None, seconds: float | None) -> None:
        """Wait in a coroutine until it is started, or over."""
        end = None if seconds is None else monotonic() + seconds
        try:
            while waiter is not None:
                if not await waiter.come(None if end is None else end - monotonic()):
                    self._running.expire(self, waiter)
                # Its destination may have failed before this coroutine could run.
                waiter = self._running.still(self, TaskWaiter) if self.phase == WAITING else None
        except BaseException:
            self._running.abandon(self)
            raise

    def wait(self, waiter: ThreadWaiter | None, seconds: float | None) -> None:
        """The same in a thread."""
        end = None if seconds is None else monotonic() + seconds
        try:
            while waiter is not None:
                if not waiter.wait(None if end is None else end - monotonic()):
                    self._running.expire(self, waiter)
                waiter = self._running.still(self, ThreadWaiter) if self.phase == WAITING else None
        except BaseException:
            self._running.abandon(self)
            raise

    def refusal(self) -> Exception:
        """Why it will not be worked on."""
        if self.outcome == TIMEOUT:
            return PoolTimeoutError("acquire: no reader was free for it in time; acquire it again")
        return NoDestinationError(
            f"acquire: found no destination ({self.outcome}), allowed: a message that a "
            "destination of the cluster can get; fairlead explain says who was dropped and why"
        )

    def _once(self) -> None:
        if self._asked:
            raise PoolError("acquire: it was used already, allowed: one block for each acquire")
        self._asked = True

    def _decided(self) -> PoolDecision:
        if self.granted is None or self.phase == OVER:
            raise self.refusal()
        self._decision = PoolDecision(self, self._running, self.granted)
        return self._decision
