"""Leases that are extended from outside the process of a handler, which may keep all its threads.

A regular expression, or a function in C, can keep Python from running anything else in its process
for longer than a lease. So whoever has started the process extends its leases, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from fairlead.errors import MessageError, StoreError
from fairlead.store.queues.taken_group import TakenGroup
from fairlead.store.store import Store
from fairlead.store.work import HeldWork
from fairlead.store.workers.max_seconds import MaxSeconds

Tell = Callable[[object], None]


BEAT: Final = 1.0
"""Seconds after which a process says again that its threads run."""
LATE: Final = 5.0
"""Seconds beyond what a queue allows for which a process may keep all its threads from running."""


class Said(NamedTuple):
    """What a process tells of a group: that a handler has it, or has it no more."""

    id: int
    token: int
    queue: str
    group: str
    holds: bool


class Beat(NamedTuple):
    """What a process tells to show that its threads run."""


class Telling:
    """Tells whoever has started this process what its handlers hold. Thread-safe."""

    def __init__(self, send: Tell) -> None:
        """`send`: to that process; raises OSError where it is gone."""
        self._send = send
        self._lock = threading.Lock()
        threading.Thread(target=self._beat, daemon=True).start()

    @contextmanager
    def holding(self, work: HeldWork) -> Iterator[None]:
        """In this block a handler has a group."""
        report = Said(work.held.id, work.held.token, work.queue, work.group, holds=True)
        self._tell(report)
        try:
            yield
        finally:
            self._tell(report._replace(holds=False))

    def _tell(self, said: Said) -> None:
        with self._lock, suppress(OSError):  # it is gone, or has told this process to stop
            self._send(said)

    def _beat(self) -> None:
        with suppress(OSError):  # it is gone
            while True:
                with self._lock:
                    self._send(Beat())
                time.sleep(BEAT)


class Renewals:
    """Extends the leases of what other processes hold, in a thread, until it is closed."""

    def __init__(self, store: Store, lease: float) -> None:
        """`lease`: seconds. The store is closed with this."""
        self._store = store
        self._lease = lease
        self._held: dict[int, dict[int, Said]] = {}
        """Process → token → what it holds."""
        self._heard: dict[int, float] = {}
        """Process → when it said something, as `time.monotonic` has it."""
        self._most = MaxSeconds(store)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def heard(self, process: int, value: object) -> None:
        """A process has said what it holds, or holds no more."""
        self._heard[process] = time.monotonic()
        if not isinstance(value, Said):
            return
        held = dict(self._held.get(process, {}))
        if value.holds:
            held[value.token] = value
        else:
            held.pop(value.token, None)
        self._held[process] = held

    def gone(self, process: int) -> None:
        """A process is gone, and holds nothing."""
        self._held.pop(process, None)
        self._heard.pop(process, None)

    def hangs(self, process: int) -> Said | None:
        """What a process holds of which none of its threads has run for longer than is allowed."""
        silent = time.monotonic() - self._heard.get(process, time.monotonic())
        for report in self._held.get(process, {}).values():
            most = self._most.last(report.queue)
            if most is not None and silent > most + LATE:
                return report
        return None

    def close(self) -> None:
        """Extend nothing more."""
        self._closed.set()
        self._thread.join()
        self._store.close()

    def _run(self) -> None:
        extended = time.monotonic()
        while not self._closed.wait(min(self._lease / 4, BEAT)):
            if time.monotonic() - extended >= self._lease / 4:
                extended = time.monotonic()
                for process, every in list(self._held.items()):
                    for report in every.values():
                        self._extend(process, report)
            every_queue = {
                report.queue for every in list(self._held.values()) for report in every.values()
            }
            for queue in every_queue:
                self._most.of(queue)

    def _extend(self, process: int, said: Said) -> None:
        if process not in self._held:
            return
        held = TakenGroup(said.id, "", "", 0, 1, said.token, 0, 0, (0, 0))
        with suppress(StoreError, MessageError):  # it is settled, or lost: its process hears of it
            self._store.extend(held, self._lease)
