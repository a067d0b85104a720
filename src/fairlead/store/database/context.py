"""What each call has from its store: the clock, who acts, whether there is room on the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.store.database.acting import actor_of
from fairlead.store.database.tracing import with_trace


@dataclass(frozen=True, kw_only=True)
class BaseContext:
    """Of one store."""

    clock: Callable[[], int | None]
    """Microseconds, of a clock of the user's own; None: the database's."""
    who: str
    """Who does it, unless it is done for somebody (`acting`)."""
    check_disk: Callable[[], object]
    """Raises DiskFullError where only those who take may write."""

    @property
    def actor(self) -> str:
        """Who does it, and in which trace, for the journal."""
        return with_trace(actor_of(self.who))
