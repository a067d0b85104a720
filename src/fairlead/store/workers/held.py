"""Leases that are extended from outside the process of a handler, which may keep all its threads.

A regular expression, or a function in C, can keep Python from running anything else in its process
for longer than a lease. So whoever has started the process extends its leases, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from fairlead.errors import MessageError, StoreError
from fairlead.store.queues.taking import Held
from fairlead.store.store import Store
from fairlead.store.work import HeldWork

Tell = Callable[[object], None]


class Said(NamedTuple):
    """What a process tells of a group: that a handler has it, or has it no more."""

    id: int
    token: int
    holds: bool


class Telling:
    """Tells whoever has started this process what its handlers hold. Thread-safe."""

    def __init__(self, send: Tell) -> None:
        """`send`: to that process; raises OSError where it is gone."""
        self._send = send
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, work: HeldWork) -> Iterator[None]:
        """In this block a handler has a group."""
        said = Said(work.held.id, work.held.token, holds=True)
        self._tell(said)
        try:
            yield
        finally:
            self._tell(said._replace(holds=False))

    def _tell(self, said: Said) -> None:
        with self._lock, suppress(OSError):  # it is gone, or has told this process to stop
            self._send(said)


class Renewals:
    """Extends the leases of what other processes hold, in a thread, until it is closed."""

    def __init__(self, store: Store, lease: float) -> None:
        """`lease`: seconds. The store is closed with this."""
        self._store = store
        self._lease = lease
        self._held: dict[int, dict[int, Held]] = {}
        """Process → token → what it holds."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def heard(self, process: int, said: object) -> None:
        """A process has said what it holds, or holds no more."""
        if not isinstance(said, Said):
            return
        held = dict(self._held.get(process, {}))
        if said.holds:
            held[said.token] = Held(said.id, "", "", 0, 1, said.token, 0, 0, (0, 0))
        else:
            held.pop(said.token, None)
        self._held[process] = held

    def gone(self, process: int) -> None:
        """A process is gone, and holds nothing."""
        self._held.pop(process, None)

    def close(self) -> None:
        """Extend nothing more."""
        self._closed.set()
        self._thread.join()
        self._store.close()

    def _run(self) -> None:
        while not self._closed.wait(self._lease / 4):
            for process, every in list(self._held.items()):
                for held in every.values():
                    self._extend(process, held)

    def _extend(self, process: int, held: Held) -> None:
        if process not in self._held:
            return
        with suppress(StoreError, MessageError):  # it is settled, or lost: its process hears of it
            self._store.extend(held, self._lease)
