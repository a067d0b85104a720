"""What everything that is done in a store has from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BaseContext:
    """Of one store."""

    clock: Callable[[], int | None]
    """Microseconds, of a clock of the user's own; None: the database's."""
    actor: str
    """Who does it, for the journal."""
    check_disk: Callable[[], object]
    """Raises DiskFullError where only those who take may write."""
