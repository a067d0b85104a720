"""Asks the store, off the event loop: each within a time, and by a bounded number of threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

from fairlead.console.refusals import PageRefusal
from fairlead.errors import StoreError

T = TypeVar("T")
SECONDS: Final = 10.0
"""In which a page has its answer; the call goes on, and keeps its thread until its end."""


class Calls:
    """So many calls at one time; of those that wait for a thread, too, only so many."""

    def __init__(self, threads: int, waiting: int, seconds: float = SECONDS) -> None:
        """None yet."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="fairlead-console")
        self._most = threads + waiting
        self._seconds = seconds
        self._lock = threading.Lock()
        self._count = 0

    async def __call__(self, call: Callable[[], T]) -> T:
        """What a call returns; it runs in the context of whoever asks.

        Raises what it raises, StoreError where that takes too long, PageRefusal where too many ask.
        """
        with self._lock:
            if self._count >= self._most:
                raise PageRefusal(503, "Too many pages ask the database at once")
            self._count += 1
        future = self._pool.submit(copy_context().run, call)
        future.add_done_callback(lambda _: self._left())
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise StoreError(
                f"the database has not answered within {self._seconds:.0f} seconds; what was asked "
                "may still be done"
            ) from None

    def _left(self) -> None:
        with self._lock:
            self._count -= 1

    def close(self) -> None:
        """Ask nothing any more; what is asked ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
