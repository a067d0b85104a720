"""Activation: as many readers of a queue as its work needs, from none to a maximum.

The first is started at once when something arrives, one more at each check while groups wait. A
reader leaves by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from fairlead.store.queues.waking import IDLE
from fairlead.store.store import Store
from fairlead.store.workers.handlers import Handler
from fairlead.store.workers.handling import Handling, handle
from fairlead.store.workers.threads import LOOK, WAIT, Threads

CHECK_INTERVAL: Final = 5.0
"""Seconds."""

Say = Callable[[bool], None]
"""By which a reader says whether it waits to receive."""


def wanted(ready: bool, waiting: int, running: int, maximum: int) -> bool:
    """Whether one more reader is started.

    `ready`: whether a group can be taken. `running`: so many readers, of whom `waiting` receive
    nothing now.
    """
    return ready and not waiting and running < maximum


class Activated(NamedTuple):
    """A queue whose readers come and go."""

    name: str
    """Of the service."""
    queue: str
    handler: Handler
    maximum: int
    """Of readers at one time."""
    idle_timeout: float
    """Seconds: a reader leaves after so long without work."""


class Reading:
    """A reader that runs; it counts as waiting until it has its first group."""

    waits = True

    def say(self, waits: bool) -> None:
        """Whether it waits to receive."""
        self.waits = waits


class Activation:
    """A queue and its readers at this moment."""

    def __init__(self, activated: Activated) -> None:
        """No reader runs."""
        self.each = activated
        self.readers: set[Reading] = set()
        self.check = 0.0
        """When the next look is, where a reader runs."""
        self.pause = 0.0
        """Until when none is started."""

    def is_wanted(self, ready: bool) -> bool:
        """Whether one more reader is started."""
        running = list(self.readers)
        waiting = sum(reader.waits for reader in running)
        return wanted(ready, waiting, len(running), self.each.maximum)


class Readers(Threads):
    """The readers of some queues: threads of this process, as many as there is work for."""

    def __init__(
        self, store: Store, handling: Handling, check_interval: float = CHECK_INTERVAL
    ) -> None:
        """`check_interval`: seconds after which one more reader is started, if it is wanted."""
        super().__init__(store)
        self._handling = handling
        self._interval = check_interval

    def activate(self, activated: Activated, *, until_empty: bool = False) -> Activation:
        """Start readers of a queue when there is work.

        `until_empty`: only until no reader runs and nothing can be taken.
        """
        activation = Activation(activated)
        self.begin(partial(self._look, activation, until_empty))
        return activation

    def read(self, activated: Activated, say: Say) -> bool:
        """Take a group and handle it; false: none came until its timeout."""
        lease = self._handling.lease
        until = time.monotonic() + activated.idle_timeout
        work = self._store.take(activated.queue, lease=lease)
        while work is None:
            say(True)
            left = until - time.monotonic()
            if left <= 0 or self._stop.is_set():
                return False
            work = self._store.take(activated.queue, min(left, WAIT), lease=lease)
        say(False)
        handle(self._store, work, activated.handler, self._handling)
        return True

    def _look(self, activation: Activation, until_empty: bool) -> bool:
        running = bool(activation.readers)
        if time.monotonic() < max(activation.pause, activation.check * running):
            self._stop.wait(LOOK)
            return True
        wait = 0 if running else WAIT if until_empty else IDLE
        ready = self._store.ready(activation.each.queue, wait)
        activation.check = time.monotonic() + self._interval
        if activation.is_wanted(ready) and not self._stop.is_set():
            reader = Reading()
            activation.readers.add(reader)
            self.begin(self._step(activation, reader), partial(activation.readers.remove, reader))
        return running or ready or not until_empty

    def _step(self, activation: Activation, reader: Reading) -> Callable[[], bool]:
        """What a reader does again and again, until it leaves."""
        return partial(self.read, activation.each, reader.say)
