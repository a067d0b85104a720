"""Somebody who waits: a thread, or a coroutine. The pool's lock is held wherever one is woken."""

from __future__ import annotations

import asyncio
from threading import Lock, get_ident


class ThreadWaiter:
    """A thread that waits."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        """Nobody has woken this thread yet."""
        self._lock = Lock()
        self._lock.acquire()

    def wake(self) -> bool:
        """What was waited for has come; True: somebody is there."""
        self._lock.release()
        return True

    def wait(self, seconds: float | None) -> bool:
        """Wait for so many seconds, or as long as it takes; whether it has come."""
        return self._lock.acquire(timeout=-1 if seconds is None else max(0.0, seconds))


class TaskWaiter:
    """A coroutine that waits, in the loop in which this is made."""

    __slots__ = ("_loop", "_thread", "future")

    def __init__(self) -> None:
        """Nobody has woken this coroutine yet."""
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[bool] = self._loop.create_future()
        self._thread = get_ident()

    async def come(self, seconds: float | None) -> bool:
        """Wait for so many seconds, or as long as it takes; whether it has come."""
        if seconds is None:
            return await self.future
        timer = self._loop.call_later(max(0.0, seconds), settle, self.future, False)
        try:
            return await self.future
        finally:
            timer.cancel()

    def wake(self) -> bool:
        """What was waited for has come; False: the loop is closed, and nobody waits any more."""
        try:
            if get_ident() == self._thread:
                if not self.future.done():
                    self.future.set_result(True)
            else:
                self._loop.call_soon_threadsafe(settle, self.future, True)
        except RuntimeError:
            return False
        return True


def settle(future: asyncio.Future[bool], come: bool) -> None:
    """It has come, or the time is over; unless whoever waits was cancelled, or has been told."""
    if not future.done():
        future.set_result(come)
