"""Whoever logs in waits behind one of each other network, and no more."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

Line = dict[str, deque[asyncio.Future[None]]]
"""Those who wait, by network; the first network is the next one."""


class LoginQueue:
    """One at a time; of those who wait, the networks take turns.

    So whoever tries passwords by the thousand keeps nobody waiting who is elsewhere. Every second
    turn is for names that there are: who comes from many networks has to know them, too.
    """

    def __init__(self) -> None:
        """Nobody waits for a check of a password yet."""
        self._is_taken = False
        self._strangers: Final[Line] = {}
        self._users: Final[Line] = {}
        self._is_users = True
        """Whether the next turn is for a name that there is, if one waits."""

    @asynccontextmanager
    async def turn(self, network: str, *, is_user: bool) -> AsyncIterator[None]:
        """Wait for one's turn; it ends with the block. `is_user`: whether there is such a name."""
        if self._is_taken:
            mine = asyncio.get_running_loop().create_future()
            line = self._users if is_user else self._strangers
            line.setdefault(network, deque()).append(mine)
            await mine
        self._is_taken = True
        try:
            yield
        finally:
            self._is_taken = self._next()

    def _next(self) -> bool:
        """Let the next one go on; whether there is one."""
        while self._users or self._strangers:
            lines = (self._users, self._strangers)
            line = next(filter(None, lines if self._is_users else reversed(lines)))
            self._is_users = line is self._strangers
            network = next(iter(line))
            queue = line.pop(network)
            first = queue.popleft()
            if queue:
                line[network] = queue  # behind the other networks
            if not first.done():
                first.set_result(None)
                return True
        return False
