"""One `acquire`: a job that somebody waits for, in a `with` or an `async with`."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from fairlead.balance.message import ROUTED, AttributeValues, Message
from fairlead.errors import NoDestinationError, PoolTimeoutError
from fairlead.pool.decision import PoolDecision
from fairlead.pool.job import FAILED, OVER, TIMEOUT, WAITING, Job
from fairlead.pool.waiter import TaskWaiter, ThreadWaiter

if TYPE_CHECKING:
    from fairlead.pool.core import Core
    from fairlead.pool.running import Running


class Request(Job):
    """What `Pool.acquire` gives: it waits at the beginning of a block, and is settled at its end.

    It can be used once.
    """

    waiter: ThreadWaiter | TaskWaiter | None = None
    """Who waits now, if somebody does."""
    granted: PoolDecision | None = None
    """What the latest attempt that was started had."""
    asked = False
    """Whether a block of it has begun."""
    _decision: PoolDecision | None = None
    """What the block has."""

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

    async def come(self, waiter: TaskWaiter | None, seconds: float | None) -> None:
        """Wait in a coroutine until it is started, or over."""
        end = None if seconds is None else monotonic() + seconds
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

    def wait(self, waiter: ThreadWaiter | None, seconds: float | None) -> None:
        """The same in a thread."""
        end = None if seconds is None else monotonic() + seconds
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
        if self.outcome == TIMEOUT:
            return PoolTimeoutError("acquire: no reader was free for it in time; acquire it again")
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
