"""Somebody who waits for what the loop's thread will bring: a thread, or a coroutine."""

from __future__ import annotations

import asyncio
import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class Waiter(Generic[T]):
    """Waits for one result. The lock of the socket is held wherever it is settled."""

    __slots__ = ("_error", "_future", "_lock", "_result", "done")

    def __init__(self, *, coroutine: bool = False) -> None:
        """`coroutine`: made in one, which waits with `arrived`; else a thread does with `wait`."""
        self.done = False
        self._result: T | None = None
        self._error: Exception | None = None
        self._future: asyncio.Future[None] | None = None
        self._lock = threading.Lock()
        if coroutine:
            self._future = asyncio.get_running_loop().create_future()
        else:
            self._lock.acquire()

    @property
    def failed(self) -> bool:
        """Whether an error came."""
        return self._error is not None

    def settle(self, result: T) -> None:
        """Bring the result."""
        self._result = result
        self._wake()

    def fail(self, error: Exception) -> None:
        """There will be none."""
        self._error = error
        self._wake()

    def wait(self, timeout: float | None) -> bool:
        """Wait for so many seconds, or as long as it takes; whether it has come."""
        return self._lock.acquire(timeout=-1 if timeout is None else max(0.0, timeout))

    async def arrived(self, seconds: float | None) -> bool:
        """The same in a coroutine."""
        assert self._future is not None  # noqa: S101 - made so
        done, _ = await asyncio.wait([self._future], timeout=seconds)
        return bool(done)

    def result(self) -> T:
        """What has come. Raises the error, if it was one."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # None only where T has it

    def _wake(self) -> None:
        self.done = True
        if self._future is None:
            self._lock.release()
            return
        loop = self._future.get_loop()
        if not loop.is_closed():  # else nobody waits any more
            loop.call_soon_threadsafe(self._arrive)

    def _arrive(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
