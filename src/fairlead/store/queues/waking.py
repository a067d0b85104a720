"""Wait for work: until something may have arrived, or is due.

Of the threads of a store that wait, one listens, for the queues of all; it wakes one of them for
each group that may have come. Of the processes that wait on a server, a sender wakes one. The
others hear of it, too, and look a moment later whether the work is still there.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from fairlead.jitter import between
from fairlead.store.database.connections import Connections
from fairlead.store.database.port import Database
from fairlead.store.queues.hearing import Hearing
from fairlead.store.queues.limiting import OPEN, Gate, limits_of
from fairlead.store.queues.settings import off_tenants_of

LOOK: Final = 1.0
"""Seconds: a reader that waits looks so often whether others who hold something are dead."""
IDLE: Final = 60.0
"""Seconds: it looks at least so often where nobody holds anything, though it hears of all."""
EVERY: Final = 0
"""Stands for all queues; none has this id."""
NAP: Final = 0.005
"""Seconds: so often a reader that waits looks whether a file has changed."""
PAUSE: Final = 0.05
"""Seconds until a reader looks again at what somebody else is about to settle, or for a queue that
is not there yet."""
MOMENT: Final = 0.03
"""Seconds after which a process looks for work that another one was woken for; up to twice as many,
so that not all look at once."""


class Seen(NamedTuple):
    """A queue, as a reader that waits sees it."""

    id: int
    enabled: bool
    ready: bool
    """Whether a group can be taken, as far as that is seen without taking it."""
    due: float | None
    """Seconds until one becomes ready by itself; None: none does."""
    watched: bool = False
    """Whether to look again soon, though nothing is heard: who holds something may die, and a clock
    of the user's own tells nobody what time it is."""


class Waker:
    """How the readers of a store wait. Thread-safe."""

    def __init__(
        self,
        connections: Connections,
        hearing: Hearing,
        clock: Callable[[], int | None],
    ) -> None:
        """`clock`: of the user's own, in microseconds; None: the database's."""
        self._connections = connections
        self._hearing = hearing
        self._clock = clock
        self._turn = threading.Condition()
        self._listening = False
        """Whether a thread listens for all."""
        self._waiting: Counter[int] = Counter()
        """Queue → threads that wait for it."""
        self._woken: Counter[int] = Counter()
        """Queue → those of them that are to look."""
        self._later: dict[int, float] = {}
        """Queue → when to look whether work is still there that another process was woken for."""
        self._watched: dict[int, float] = {}
        """Queue → when one of those who wait is to look whether who holds something is dead."""
        self._missed: Counter[int] = Counter()
        """Queue → how often something came while nobody waited; `EVERY`: for any of them."""
        self._numbers: dict[str, int] = {}
        """Name of a queue → its id."""
        self._thread = threading.local()
        self._stopped = False

    def ready(self, queue: str) -> bool:
        """Whether a group can be taken, as far as that is seen without taking it."""
        state = self.look(queue)
        return state is not None and state.enabled and state.ready

    def took(self, queue: str) -> None:
        """A reader that waited has taken a group: there may be more, for another one."""
        self._thread.ready = False
        with self._turn:
            if queue in self._numbers:
                self._wake(self._numbers[queue])

    def wait(self, queues: Sequence[str], left: float) -> bool:
        """Wait until something may have arrived for one of some queues; so many seconds, at most.

        False: nothing has. Where nothing happens, nothing is asked of the database.
        """
        until = time.monotonic() + left
        while not self._stopped and (left := until - time.monotonic()) > 0:
            with self._turn:
                missed = Counter(self._missed)
            every = [self._listened(queue, left) for queue in queues]
            again, self._thread.ready = getattr(self._thread, "ready", False), False
            rests = [rest_of(state, left, again=again) for state in every]
            if None in rests:
                self._thread.ready = True
                return True
            rest = min(rest for rest in rests if rest is not None)
            states = [state for state in every if state is not None]
            if not rest.hears:
                time.sleep(rest.seconds)
                if states:
                    return True  # somebody else has it locked
                continue
            until_then = time.monotonic() + rest.seconds
            woken = self._wait([state.id for state in states], until_then, missed)
            if woken or any(state.watched or state.due is not None for state in states):
                return True
        return False

    def stop(self) -> None:
        """Nobody waits any more, from now on."""
        self._stopped = True
        with self._turn:
            self._turn.notify_all()
        self._hearing.stop()

    def _listened(self, queue: str, left: float) -> Seen | None:
        """A queue as it is after this process has begun to hear of what arrives for it."""
        state = self.look(queue)
        if state is None:
            return state
        if self._hearing.begin(state.id, left):
            state = self.look(queue) or state
        return state if self._hearing.hears_surely(state.id) else state._replace(watched=True)

    def look(self, queue: str) -> Seen | None:
        """A queue as one who waits sees it; None: it is not there."""
        with self._connections.one() as database:
            state = look(database, queue, self._clock())
        if state is not None:
            self._numbers[queue] = state.id
        return state

    def _wait(self, queues: Sequence[int], until: float, missed: Counter[int]) -> bool:
        """Until this thread is to look, whoever listens; whether somebody has woken it.

        `missed`: as it was before this thread looked.
        """
        with self._turn:
            if any(self._missed[queue] != missed[queue] for queue in (EVERY, *queues)):
                return True  # it came after the look
            self._waiting.update(queues)
        try:
            while (woken := self._is_woken(queues, until)) is None:
                try:
                    self._listen(queues, until)
                finally:
                    with self._turn:
                        self._listening = False
                        self._turn.notify_all()
            return woken
        finally:
            with self._turn:
                self._waiting.subtract(queues)
                for queue in queues:
                    self._woken[queue] = min(self._woken[queue], self._waiting[queue])

    def _is_woken(self, queues: Sequence[int], until: float) -> bool | None:
        """Wait for that, or until then; None: this thread is the one who listens now."""
        with self._turn:
            while True:
                for queue in queues:
                    if self._woken[queue]:
                        self._woken[queue] -= 1
                        return True
                left = until - time.monotonic()
                if left <= 0 or self._stopped:
                    return False
                if not self._listening:
                    self._listening = True
                    return None
                self._turn.wait(left)

    def _wake(self, queue: int) -> None:
        """One more of those who wait for a queue is to look. Needs `_turn`."""
        if not self._waiting[queue]:
            self._missed[queue] += 1
        elif self._woken[queue] < self._waiting[queue]:
            self._woken[queue] += 1
            self._turn.notify_all()

    def _listen(self, queues: Sequence[int], until: float) -> None:
        """Hear of what arrives, for all queues, until one who waits for these is to look."""
        while not self._stopped and not any(self._woken[queue] for queue in queues):
            now = time.monotonic()
            left = min([until, *self._later.values(), *self._watched.values()])
            if left > now:
                self._hearing.hear(self, left - now)
            elif until <= now:
                return
            self._look_later(time.monotonic())

    def arrived(self, queue: int, *, meant: bool) -> None:
        """Something has arrived for a queue. `meant`: whether this process is to take it."""
        with self._turn:
            if meant or not self._waiting[queue]:
                self._wake(queue)
            else:
                self._later.setdefault(queue, time.monotonic() + between(MOMENT, 2 * MOMENT))

    def look_at_all(self) -> None:
        """Something may have arrived for any queue."""
        with self._turn:
            self._missed[EVERY] += 1
            waiting = [queue for queue, count in self._waiting.items() if count]
        for queue in waiting:
            self._wake_if_ready(queue)

    def is_over(self) -> bool:
        """Whether one who waits is to look by now, or nobody waits any more."""
        return any(self._woken.values()) or self._stopped

    def _look_later(self, now: float) -> None:
        """Look for work that another process was woken for, where it is time to."""
        for queue in [queue for queue, at in self._watched.items() if at <= now]:
            del self._watched[queue]
            with self._turn:
                self._wake(queue)
        for queue in [queue for queue, at in self._later.items() if at <= now]:
            del self._later[queue]
            if self._waiting[queue]:
                self._wake_if_ready(queue)

    def _wake_if_ready(self, queue: int) -> None:
        name = next(name for name, id_ in self._numbers.items() if id_ == queue)
        state = self.look(name)
        if state is None or not state.enabled:
            return
        if state.watched:
            self._watched.setdefault(queue, time.monotonic() + LOOK)
        if state.ready:
            with self._turn:
                self._wake(queue)
        elif state.due is not None:
            self._later[queue] = time.monotonic() + max(state.due, PAUSE)


class WaitPlan(NamedTuple):
    """How a reader waits until it looks again."""

    seconds: float
    hears: bool
    """Whether it looks earlier where something arrives."""


def rest_of(seen: Seen | None, left: float, *, again: bool) -> WaitPlan | None:
    """How a reader waits that has taken nothing, and then found its queue so; None: not at all.

    `left`: seconds, at most. `again`: whether it did not wait at all the last time, either.
    """
    if seen is None:
        return WaitPlan(min(left, PAUSE), hears=False)
    if not seen.enabled:
        return WaitPlan(min(left, IDLE), hears=True)
    if seen.ready and not again:
        return None  # it came after the last take, and before this look
    if seen.ready or seen.due == 0:
        return WaitPlan(min(left, PAUSE), hears=False)  # somebody else has it locked
    left = min(left, LOOK if seen.watched else IDLE)
    return WaitPlan(left if seen.due is None else min(left, seen.due), hears=True)


def look(database: Database, queue: str, clock: int | None) -> Seen | None:
    """A queue as a reader that waits sees it; None: it is not there."""
    rows = database.run("look", name=queue)
    if not rows:
        return None
    ((id_, enabled, server, ready, due, deadline, limits, off),) = rows
    now = clock if clock is not None else server or database.time()
    if ready and off is not None:
        besides = sorted(off_tenants_of(off))
        ready = bool(database.run("ready_besides", queue=id_, besides=besides))
    held = deadline is not None
    if deadline is not None and deadline <= now:
        # A reader may be in a transaction for longer than its lease: its group is locked then.
        lapsed = database.run("lapsed", queue=id_, now=now, most=1)
        ready, deadline = ready or bool(lapsed), now
    opens = None
    if ready and limits is not None:
        gate = Gate(database, id_, limits_of(limits), now)
        openings = [gate.opens(lane) for lane in gate.lanes()]
        ready = OPEN in openings
        opens = min((opening for opening in openings if opening), default=None)
    times = [moment for moment in (due, deadline, opens) if moment is not None]
    left = max(min(times) - now, 0) / 1_000_000 if times else None
    ready = ready or (due is not None and due <= now)
    by_itself = left if clock is None or left == 0 else None
    watched = held or clock is not None
    return Seen(id_, bool(enabled), bool(ready), by_itself, watched)
