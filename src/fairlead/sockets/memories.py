"""Memory of long messages, to be used again. No I/O here.

To be given fresh pages by the system takes longer than to fill them.
"""

from __future__ import annotations

from typing import Final

KEPT: Final = 8
"""Memories that are kept, at most."""
MOST: Final = 1 << 23
"""Bytes of all of them, at most."""


class Memories:
    """The latest ones. For one thread."""

    def __init__(self) -> None:
        """None yet."""
        self._kept: list[bytearray] = []

    def take(self, size: int) -> bytearray | None:
        """One of so many bytes or more at which nobody looks any more, if there is one."""
        for k, memory in enumerate(self._kept):
            if len(memory) >= size and _is_free(memory):
                return self._kept.pop(k)
        return None

    def keep(self, memory: bytearray) -> None:
        """Whoever has a view of it may go on looking at it."""
        self._kept.append(memory)
        while len(self._kept) > KEPT or sum(map(len, self._kept)) > MOST:
            del self._kept[0]


def _is_free(memory: bytearray) -> bool:
    """Whether there is no view of it: only then Python lets its size be changed."""
    try:
        memory.append(memory.pop())
    except BufferError:
        return False
    return True
