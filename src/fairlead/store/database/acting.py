"""For whom something is done, where one program acts for several people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_ACTING: Final[ContextVar[str]] = ContextVar("fairlead_acting")


@contextmanager
def acting(who: str) -> Iterator[None]:
    """What this thread, or task, does in the block is done by `who`."""
    token = _ACTING.set(who)
    try:
        yield
    finally:
        _ACTING.reset(token)


def actor_of(process: str) -> str:
    """Who does something: whom it was said to be for, else the process itself."""
    return _ACTING.get(process)
