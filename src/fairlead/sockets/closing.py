"""What is closed where its block ends, with `with` or `async with`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """To be closed, or used in a block."""

    @abstractmethod
    def close(self) -> None:
        """Nobody uses it any more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await asyncio.to_thread(self.close)
