"""A worker: threads of one process that take groups of some queues and handle them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fairlead.store.queues.waking import IDLE
from fairlead.store.store import Store
from fairlead.store.workers.handlers import Handler
from fairlead.store.workers.handling import Handling, handle
from fairlead.store.workers.health import LOOK, HealthWatch
from fairlead.store.workers.threads import Threads


class Worker(Threads):
    """Threads that handle groups until they are told to stop."""

    def __init__(self, store: Store, handlers: Mapping[str, Handler], handling: Handling) -> None:
        """`handlers`: queue → what handles its messages."""
        super().__init__(store)
        self._handlers = dict(handlers)
        self._health = HealthWatch(store)
        self._handling = handling._replace(health=self._health)

    def start(self, threads: int, *, until_empty: bool = False) -> None:
        """Begin to take work; `until_empty`: only until there is none that can be taken.

        What schedules are to send by now is work, too.
        """
        if until_empty:
            self._store.tick()
        else:
            self.begin(self.tick)
            self.begin(self._look_at_health)
        for _ in range(threads):
            self.begin(partial(self._round, until_empty))

    def _round(self, until_empty: bool) -> bool:
        """Take a group of each queue; where there is none in any, wait until one may have come."""
        results = [self._one(queue) for queue in self._handlers]
        if not any(results) and not until_empty:
            self._store.waker.wait([*self._handlers], IDLE)
        return any(results) or not until_empty

    def _look_at_health(self) -> bool:
        self._health.look(self._handlers)
        self._stop.wait(LOOK)
        return True

    def _one(self, queue: str) -> bool:
        if self._stop.is_set():
            return False
        work = self._store.take(queue, lease=self._handling.lease)
        if work is None:
            return False
        self._store.waker.took(queue)
        handle(self._store, work, self._handlers[queue], self._handling)
        return True
