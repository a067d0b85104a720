"""What happens in a pool: one event at a time, under one lock, and whoever waited is woken."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from threading import Lock
from time import monotonic_ns, time_ns
from typing import Final, TypeVar, cast

from fairlead.balance.change import Change
from fairlead.balance.changes import resolve
from fairlead.balance.message import Message
from fairlead.balance.times import MICROS, Time, moment
from fairlead.errors import ChangeError, MessageError, PoolError
from fairlead.pool.events import PoolEvents
from fairlead.pool.job import CANCELLED, OVER, TIMEOUT, WAITING, WORKING
from fairlead.pool.log import PoolLog
from fairlead.pool.request import PoolDecision, PoolRequest
from fairlead.pool.timer import PoolTimer
from fairlead.pool.waiter import TaskWaiter, ThreadWaiter

LOGGER: Final = logging.getLogger("fairlead.pool")
W = TypeVar("W", ThreadWaiter, TaskWaiter)


class Scheduler:
    """The clusters of a pool while it runs. Thread-safe; no event happens at the time of another.

    So a replay of its journal goes through the same events in the same order.
    """

    def __init__(
        self, cores: dict[str, PoolEvents], log: PoolLog | None, clock: Callable[[], Time] | None
    ) -> None:
        """`cores` by the names of their clusters; `clock`: None for this machine's."""
        self.lock = Lock()
        self.cores = cores
        self.ended: dict[str, int] = {}
        """How many messages are over, by outcome."""
        self._log = log
        self._clock = clock
        self._since = time_ns() - monotonic_ns()
        self._now = 0
        self._open = 0
        """Messages that are not over."""
        self._closed = False
        self._draining: list[ThreadWaiter | TaskWaiter] = []
        self._timer = PoolTimer(self._ring)

    # what users ask

    def apply(self, changes: Change | Iterable[Change]) -> None:
        """As `Pool.apply`."""
        with self.lock:
            states = {name: core.state for name, core in self.cores.items()}
            steps = resolve(states, changes)
            latest = max(self._now, self._time())
            if any(time > latest for time, _, _ in steps):
                raise ChangeError(
                    "change: found a time to come, allowed: none, or one that is over: a pool "
                    "makes a change when it is told"
                )
            for _, name, resolved in steps:
                core = self.cores[name]
                self._tick(core)
                core.change_as_told(resolved)
                self._settle(core)
            self._set_timer()

    def prioritise(
        self, core: PoolEvents, message: Message, group: str, priority: int | None
    ) -> bool:
        """As `Pool.prioritise`; `message`: the same as a message says it."""
        with self.lock:
            self._tick(core)
            raised = core.prioritise(group, priority)
            if raised and self._log is not None:
                self._log.raised(core.name, core.state.version, message, self._now)
            self._settle(core)
        return raised

    def close(self) -> None:
        """Take nothing more."""
        with self.lock:
            self._closed = True

    def drained(self, kind: type[W]) -> W | None:
        """Take nothing more; who waits until all is over, if something is not."""
        with self.lock:
            self._closed = True
            if not self._open:
                return None
            waiter = kind()
            self._draining.append(waiter)
            return waiter

    # what requests and decisions ask

    def enter(self, request: PoolRequest, kind: type[W]) -> W | None:
        """A block begins; who waits for it, if it has to wait."""
        core = request.core
        with self.lock:
            if self._closed:
                raise PoolError("acquire: the pool is closed, allowed: before close() or drain()")
            if request.begun:
                raise PoolError("acquire: it was used already, allowed: one block for each acquire")
            if request.group:
                core.check_tenant(request.group, request.tenant)
            request.begun = True
            self._tick(core)
            core.arrive(request)
            self._open += 1
            self._look(core)  # a message that comes makes no destination ready
            if request.phase == WAITING:
                waiter = request.waiter = kind()
                return waiter
        return None

    def still(self, request: PoolRequest, kind: type[W]) -> W | None:
        """Who goes on waiting for a request, if it waits again."""
        with self.lock:
            if request.phase != WAITING:
                return None
            waiter = request.waiter = kind()
            return waiter

    def leave(self, request: PoolRequest, outcome: str) -> None:
        """A block is over, with this outcome."""
        core = request.core
        with self.lock:
            if request.phase == OVER:
                return
            self._tick(core)
            if request.phase == WORKING:
                core.complete(request, outcome)
            else:  # its destination has failed, and it waits for another
                core.withdraw(request, CANCELLED)
            self._settle(core)

    def abandon(self, request: PoolRequest) -> None:
        """Who waited for a block goes away, whether or not a reader has just been found."""
        with self.lock:
            request.waiter = None
            self._give_up(request, CANCELLED)

    def expire(self, request: PoolRequest, waiter: ThreadWaiter | TaskWaiter) -> None:
        """Somebody has waited too long, unless it has come in the meantime."""
        with self.lock:
            if request.waiter is waiter:
                self._give_up(request, TIMEOUT)

    def _give_up(self, request: PoolRequest, outcome: str) -> None:
        core = request.core
        if request.phase == OVER:
            return
        self._tick(core)
        if request.phase == WORKING:
            core.complete(request, outcome)
        else:
            core.withdraw(request, outcome)
        self._settle(core)

    def retry(
        self, request: PoolRequest, attempt: int, kind: type[W], *, elsewhere: bool = False
    ) -> W | None:
        """An attempt was in vain; who waits for the next one, if it has to wait."""
        core = request.core
        with self.lock:
            if request.phase == WORKING and request.attempt == attempt:
                self._tick(core)
                (core.retry_elsewhere if elsewhere else core.retry)(request)
                self._settle(core)
            if request.phase == WAITING:
                waiter = request.waiter = kind()
                return waiter
        return None

    # time

    def _time(self) -> int:
        """The time by the clock, in microseconds."""
        if self._clock is None:
            return (self._since + monotonic_ns()) // 1000
        return moment(self._clock(), "clock", MessageError)

    def _tick(self, core: PoolEvents) -> None:
        """Every event has a time of its own; what is due before it happens before."""
        now = self._time()
        if core.follows_up:
            self._make_due(core, now)
        if now <= self._now:
            now = self._now + 1
        self._now = core.now = now

    def _make_due(self, core: PoolEvents, now: int) -> None:
        while (due := core.due) is not None and due <= now:
            self._now = core.now = max(due, self._now + 1)
            core.make_due()
            self._settle(core)

    def _ring(self) -> None:
        """Do what is due by now; the timer calls this."""
        with self.lock:
            now = self._time()
            for core in self.cores.values():
                self._make_due(core, now)
            self._set_timer()

    def _set_timer(self) -> None:
        due = [core.due for core in self.cores.values()]
        times = [time for time in due if time is not None]
        if times:
            self._timer.set(max(0, min(times) - self._time()) / MICROS)

    # what has become of jobs

    def _settle(self, core: PoolEvents) -> None:
        """What waits is assigned to who is ready now, and readers look for work."""
        if core.outside.waiting:
            core.assign()
        self._look(core)
        if core.found:
            self._tell_health(core)

    def _look(self, core: PoolEvents) -> None:
        """Readers look for work, and whoever waited for what has happened is woken."""
        if core.touched:
            core.look()
        if core.ended:
            self._tell_ended(core)
        if core.started:
            gone = self._tell_started(core)
            if gone:
                for request in gone:
                    core.complete(request, CANCELLED)
                self._settle(core)

    def _tell_started(self, core: PoolEvents) -> list[PoolRequest]:
        """Wake whoever has a reader now; returns those of whom nobody is there any more."""
        gone = []
        for request in cast("list[PoolRequest]", core.started):
            request.granted = PoolDecision(request)
            waiter = request.waiter
            if waiter is not None:
                request.waiter = None
                if not waiter.wake():
                    gone.append(request)
        core.started.clear()
        return gone

    def _tell_health(self, core: PoolEvents) -> None:
        """Say what has followed from outcomes, and ring when those that are down may be tried."""
        for change in core.found:
            LOGGER.warning(
                "event=health cluster=%s destination=%s state=%s reason=%s",
                *(core.name, change.destination, change.state or "unchanged"),
                json.dumps(change.reason),
            )
        core.found.clear()
        self._set_timer()

    def _tell_ended(self, core: PoolEvents) -> None:
        """Count what is over, and wake whoever waits for it."""
        for request in cast("list[PoolRequest]", core.ended):
            self.ended[request.outcome] = self.ended.get(request.outcome, 0) + 1
            self._open -= 1
            if request.waiter is not None:
                request.waiter.wake()
                request.waiter = None
        core.ended.clear()
        if self._draining and not self._open:
            for waiter in self._draining:
                waiter.wake()
            self._draining.clear()
