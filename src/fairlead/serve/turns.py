"""Turns: whoever asks for what takes long waits behind one of each other host, and no more."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final


class Turns:
    """One at a time; of those who wait, the hosts take turns.

    So whoever tries passwords by the thousand keeps nobody waiting who is elsewhere.
    """

    def __init__(self) -> None:
        """Nobody waits."""
        self._is_taken = False
        self._waiting: Final[dict[str, deque[asyncio.Future[None]]]] = {}
        """By host; the first host is the next one."""

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Wait for one's turn; it ends with the block."""
        if self._is_taken:
            mine = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(host, deque()).append(mine)
            await mine
        self._is_taken = True
        try:
            yield
        finally:
            self._is_taken = self._next()

    def _next(self) -> bool:
        """Let the next one go on; whether there is one."""
        while self._waiting:
            host = next(iter(self._waiting))
            queue = self._waiting.pop(host)
            first = queue.popleft()
            if queue:
                self._waiting[host] = queue  # behind the other hosts
            if not first.done():
                first.set_result(None)
                return True
        return False
