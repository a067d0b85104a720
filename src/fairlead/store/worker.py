"""A worker: threads of one process that take groups of some queues and handle them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Final

from fairlead.errors import StoreError
from fairlead.store.handlers import Handler, raised_at
from fairlead.store.handling import LOGGER, MAX_WAIT, Handling, handle
from fairlead.store.store import Store

WAIT: Final = 1.0
"""Seconds for which a thread that has nothing to do waits for one of its queues."""
LOOK: Final = 0.05
TOLD: Final = 0
"""What is put among the signals where somebody else says stop."""

Asked = SimpleQueue[int]
"""The signals that have come. A handler of signals may put into it at any moment."""


def listen(*numbers: int) -> Asked:
    """The signals with these numbers, from now on."""
    asked: Asked = SimpleQueue()
    for number in numbers:
        signal.signal(number, lambda found, _: asked.put(found))
    return asked


def next_of(asked: Asked, seconds: float) -> int | None:
    """The next signal, or None: none has come in that time."""
    try:
        return asked.get(timeout=seconds)
    except Empty:
        return None


class Worker:
    """Threads that handle groups until they are told to stop."""

    def __init__(self, store: Store, handlers: Mapping[str, Handler], handling: Handling) -> None:
        """`handlers`: queue → what handles its messages."""
        self._store = store
        self._handlers = dict(handlers)
        self._handling = handling
        self._stop = threading.Event()
        self._died = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, threads: int, *, until_empty: bool = False) -> None:
        """Begin to take work; `until_empty`: only until there is none that can be taken."""
        for _ in range(threads):
            thread = threading.Thread(target=self._watched, args=(until_empty,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Take no more work; what is in hand is no failure, however it ends."""
        self._stop.set()
        thread = threading.Thread(target=self._tell, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _tell(self) -> None:
        """Tell the store; on SQLite that waits for a handler that is in a transaction."""
        try:
            self._store.stopping()
        except StoreError as error:
            LOGGER.warning("%s; work in hand may count as failed", error)

    @property
    def busy(self) -> bool:
        """Whether something is in hand."""
        return any(each.is_alive() for each in self._threads)

    def run(self, asked: Asked, grace: float) -> int:
        """Work until a signal comes, and end what is in hand, for so many seconds at most.

        Returns the exit status; a second signal ends it at once. Where a thread has died, the
        status is 1: what it held is taken back from this process, and that is a failure.
        """
        first = None
        while self.busy and first is None and not self._died.is_set():
            first = next_of(asked, LOOK)
        signals = int(bool(first))
        if self._died.is_set():
            self._stop.set()
        else:
            self.stop()
        until = time.monotonic() + grace
        while self.busy and time.monotonic() < until:
            number = next_of(asked, LOOK)
            signals += bool(number)
            if number and signals > 1:
                return 128 + number
        if self.busy:
            LOGGER.warning("left work in hand after %g s; it is taken back without blame", grace)
        return int(self._died.is_set())

    def _watched(self, until_empty: bool) -> None:
        try:
            self._work(until_empty)
        except BaseException as error:  # noqa: BLE001 - the process ends with what ended its thread
            LOGGER.critical("a thread died of %s at %s", type(error).__name__, raised_at(error))
            self._died.set()

    def _work(self, until_empty: bool) -> None:
        pause = 0.1
        while not self._stop.is_set():
            try:
                if not self._round(WAIT * (not until_empty)) and until_empty:
                    return
                pause = 0.1
            except StoreError as error:
                if pause < 0.2:
                    LOGGER.warning("%s; trying again until it is back", error)
                self._stop.wait(pause)
                pause = min(2 * pause, MAX_WAIT)
            except Exception:  # noqa: BLE001 - others wait for what this thread does next
                LOGGER.exception("a fault of ours; going on")
                self._stop.wait(WAIT)

    def _round(self, wait: float) -> bool:
        """Take a group of each queue; where there is none in any, wait a little for each."""
        found = [self._one(queue, 0) for queue in self._handlers]
        if not any(found) and wait:
            found = [self._one(queue, wait / len(self._handlers)) for queue in self._handlers]
        return any(found)

    def _one(self, queue: str, wait: float) -> bool:
        if self._stop.is_set():
            return False
        work = self._store.take(queue, wait, lease=self._handling.lease)
        if work is None:
            return False
        handle(self._store, work, self._handlers[queue], self._handling)
        return True
