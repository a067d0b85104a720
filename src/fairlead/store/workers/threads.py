"""Threads that work on a store until they are told to stop, and the signals that tell them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

from fairlead.errors import StoreError
from fairlead.store.store import Store
from fairlead.store.workers.handlers import raised_at
from fairlead.store.workers.handling import LOGGER, MAX_WAIT
from fairlead.store.workers.in_hand import IN_HAND
from fairlead.store.workers.lease_renewal import in_words
from fairlead.store.workers.manager import ServiceManager
from fairlead.store.workers.max_seconds import MaxSeconds

WAIT: Final = 1.0
"""Seconds for which a thread that has nothing to do waits for something."""
LOOK: Final = 0.05
HEARD: Final = 2.0
"""Seconds, at most, until the store has heard that its process stops; grace may be shorter."""
LOOK_AT_HANDLERS: Final = 0.5
"""Seconds between two looks whether handlers work for longer than their queues allow."""
LOOK_FOR_SCHEDULES: Final = 30.0
"""Seconds after which a schedule that was declared meanwhile is known."""
TOLD: Final = 0
"""What is put among the signals where somebody else says stop."""

Asked = SimpleQueue[int]
"""The signals that have come. A handler of signals may put into it at any moment."""


def listen(*numbers: int) -> Asked:
    """The signals with these numbers, from now on."""
    signals: Asked = SimpleQueue()
    for number in numbers:
        signal.signal(number, lambda found, _: signals.put(found))
    return signals


def next_of(asked: Asked, seconds: float) -> int | None:
    """The next signal, or None: none has come in that time."""
    try:
        return asked.get(timeout=seconds)
    except Empty:
        return None


class Threads:
    """Threads that do steps until they are told to stop. Whoever inherits says which steps."""

    def __init__(self, store: Store) -> None:
        """`store`: is told, too, when they are to stop."""
        self._store = store
        self._stop = threading.Event()
        self._died = threading.Event()
        self._hanging: list[threading.Thread] = []
        """Threads whose handlers do not return; what they had is settled."""
        self._lock = threading.Lock()
        self._lost: float | None = None
        """Since when the database is gone."""
        self._own = threading.local()
        """Whether a thread has found it gone itself; who asks little may find nothing amiss."""
        self._threads: list[threading.Thread] = []
        self._telling: threading.Thread | None = None
        """Tells the store that this process was told to stop."""

    def begin(self, step: Callable[[], bool], then: Callable[[], None] | None = None) -> None:
        """A thread that does a step again and again, until one says that it was the last.

        `then`: what it does in the end, however that comes.
        """
        self._add(threading.Thread(target=self._watched, args=(step, then), daemon=True))

    def tick(self) -> bool:
        """A step: send what schedules are to send by now, and wait until the next tick."""
        due = self._store.tick()
        self._stop.wait(LOOK_FOR_SCHEDULES if due is None else min(due, LOOK_FOR_SCHEDULES))
        return True

    def stop(self) -> None:
        """Take no more work; what is in hand is no failure, however it ends."""
        self._end()
        self._telling = threading.Thread(target=self._tell, daemon=True)
        self._add(self._telling)

    def _end(self) -> None:
        self._stop.set()
        self._store.waker.stop()

    @property
    def busy(self) -> bool:
        """Whether something is in hand."""
        return any(thread.is_alive() and thread not in self._hanging for thread in self._threads)

    @property
    def hangs(self) -> bool:
        """Whether a handler worked for longer than its queue allows: the process is to end."""
        return bool(self._hanging)

    def run(self, asked: Asked, grace: float, manager: ServiceManager | None = None) -> int:
        """Work until a signal comes, and end what is in hand, for so many seconds at most.

        Returns the exit status; a second signal ends it at once. Where a thread has died, the
        status is 1: what it held is taken back from this process, and that is a failure. So it is
        where a handler worked for longer than its queue allows; the others end what is in hand.
        `manager`: is told.
        """
        manager = manager or ServiceManager()
        threading.Thread(target=self._watch, daemon=True).start()
        first = None
        while self.busy and first is None and not (self._died.is_set() or self.hangs):
            first = next_of(asked, LOOK)
            manager.alive()
        manager.stopping()
        if first is not None:
            LOGGER.info("event=stopping signal=%d", first)
        signals = int(bool(first))
        if self._died.is_set():
            self._end()
        else:
            self.stop()
        until = time.monotonic() + grace
        while self.busy and time.monotonic() < until:
            number = next_of(asked, LOOK)
            manager.alive()
            signals += bool(number)
            if number and signals > 1:
                return 128 + number
        self._say_what_is_left(grace)
        return int(self._died.is_set() or self.hangs)

    def _say_what_is_left(self, grace: float) -> None:
        """Once the store has heard that this process stops, so that nothing of it has failed."""
        heard = self._telling is None
        if self._telling is not None:
            self._telling.join(HEARD)
            heard = not self._telling.is_alive()
        if self.busy and (left := list(IN_HAND)):
            fate = "it is taken back without blame"
            if not heard:
                fate = "the store did not hear of it, and it may count as failed"
            LOGGER.warning("left work in hand after %g s; %s", grace, fate)
            for work in left:
                LOGGER.warning("event=left %s", in_words(work))
        elif self.busy:
            LOGGER.warning(
                "ended after %g s, with nothing in hand: the store did not answer", grace
            )

    def _watch(self) -> None:
        """Look whether handlers work for longer than their queues allow, until the process ends."""
        allowed = MaxSeconds(self._store)
        while True:
            time.sleep(LOOK_AT_HANDLERS)
            for entry in list(IN_HAND.values()):
                if entry.seconds < 1:
                    continue
                most = allowed.of(entry.work.queue)
                if most is not None and entry.seconds >= most and entry.give_up(most):
                    IN_HAND.pop(entry.work, None)
                    self._hanging.append(entry.thread)

    def _is_lost(self, error: StoreError) -> None:
        """One line for a database that is gone, whichever thread has noticed it first."""
        self._own.lost = True
        with self._lock:
            first, self._lost = self._lost is None, self._lost or time.monotonic()
        if first:
            LOGGER.warning("event=database-lost %s; trying again until it is back", error)

    def _is_back(self) -> None:
        if self._lost is None or not getattr(self._own, "lost", False):
            return
        self._own.lost = False
        with self._lock:
            since, self._lost = self._lost, None
        if since is not None:
            LOGGER.info("event=database-back seconds=%.3f", time.monotonic() - since)

    def _add(self, thread: threading.Thread) -> None:
        with self._lock:
            thread.start()
            self._threads = [member for member in self._threads if member.is_alive()] + [thread]

    def _tell(self) -> None:
        """Tell the store; on SQLite that waits for a handler that is in a transaction."""
        try:
            self._store.stopping()
        except StoreError as error:
            LOGGER.warning("%s; work in hand may count as failed", error)

    def _watched(self, step: Callable[[], bool], then: Callable[[], None] | None) -> None:
        try:
            self._go_on(step)
        except BaseException as error:  # noqa: BLE001 - the process ends with what ended its thread
            LOGGER.critical("a thread died of %s at %s", type(error).__name__, raised_at(error))
            self._died.set()
        finally:
            if then is not None:
                then()

    def _go_on(self, step: Callable[[], bool]) -> None:
        """A database that is gone is waited for."""
        pause = 0.1
        while not self._stop.is_set():
            try:
                last = not step()
                if not self._stop.is_set():  # else it may have done nothing
                    self._is_back()
                if last:
                    return
                pause = 0.1
            except StoreError as error:
                self._is_lost(error)
                self._stop.wait(pause)
                pause = min(2 * pause, MAX_WAIT)
            except Exception:  # noqa: BLE001 - others wait for what this thread does next
                LOGGER.exception("a fault of ours; going on")
                self._stop.wait(WAIT)
