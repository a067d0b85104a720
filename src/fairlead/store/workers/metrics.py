"""The page that Prometheus reads: what a store holds, and what a worker has done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

from fairlead.errors import StoreError
from fairlead.prometheus import Exposition
from fairlead.store.admin import metrics
from fairlead.store.store import Store
from fairlead.store.workers.counting import WorkCounts

SECONDS: Final = 5.0
"""For so long a page waits for the store: Prometheus itself gives up after ten."""
Write = Callable[[Exposition], None]


def page(store: Store) -> str:
    """What a store holds. Raises StoreError."""
    exposition = Exposition()
    _held(store)(exposition)
    _say_whether_up(exposition, up=True)
    return str(exposition)


class Page:
    """The page, asked for again and again: each time it is there within `SECONDS`. Thread-safe."""

    def __init__(self, store: Store, counts: WorkCounts | None = None) -> None:
        """`counts`: what this process has done is on it, too."""
        self._store = store
        self._counts = counts
        self._asking = threading.Lock()

    def __call__(self) -> str:
        """What a store holds; where it does not answer, that, and what is known without it."""
        exposition = Exposition()
        held = self._ask()
        if held is not None:
            held(exposition)
        _say_whether_up(exposition, up=held is not None)
        if self._counts is not None:
            self._counts.write(exposition)
        return str(exposition)

    def _ask(self) -> Write | None:
        """What writes what the store holds; None: it does not answer, or not in time."""
        until = time.monotonic() + SECONDS
        if not self._asking.acquire(timeout=SECONDS):  # one waits for it already
            return None
        answer = SimpleQueue[Write | None]()
        threading.Thread(target=self._answer, args=(answer,), daemon=True).start()
        try:
            return answer.get(timeout=max(until - time.monotonic(), 0))
        except Empty:
            return None

    def _answer(self, to: SimpleQueue[Write | None]) -> None:
        try:
            to.put(_held(self._store))
        except StoreError:
            to.put(None)
        finally:
            self._asking.release()


def _say_whether_up(exposition: Exposition, *, up: bool) -> None:
    text = "1: the database answers."
    exposition.add("fairlead_store_up", "gauge", {}, int(up), meaning=text)


def _held(store: Store) -> Write:
    pools = [store.pool(name) for name in store.clusters()]
    return partial(
        metrics.write, queues=store.queues(), pools=pools, overdue=store.overdue_schedules()
    )
