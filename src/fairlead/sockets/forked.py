"""After a fork: a socket works only in the process that made it."""

from __future__ import annotations

from typing import NoReturn

from fairlead.errors import SocketError


class Forked:
    """Instead of a lock, in a process that was forked: nobody gets it.

    The other process may have held the lock itself just then; and what were written here would
    stand in the middle of what is written there.
    """

    def __enter__(self) -> NoReturn:
        """Raises SocketError."""
        raise SocketError(
            "found a socket that was made before this process was forked, allowed: one that is "
            "made in the process that uses it"
        )

    def __exit__(self, *raised: object) -> None:
        """Never."""
