"""The port: how the readers of a store hear of what arrives."""

from __future__ import annotations

from typing import Protocol


class Sleepers(Protocol):
    """Those who wait, as whoever hears for them tells them (`waking.py`)."""

    def arrived(self, queue: int, *, meant: bool) -> None:
        """Something has arrived for a queue. `meant`: whether this process is to take it."""

    def look_at_all(self) -> None:
        """Something may have arrived for any queue."""

    def is_over(self) -> bool:
        """Whether one of them is to look by now, or nobody waits any more."""


class Hearing(Protocol):
    """How one store hears; one of its threads does so for all that wait."""

    def begin(self, queue: int, left: float) -> bool:
        """Hear of what arrives for a queue, too; whether that begins now. `left`: seconds."""

    def hears_surely(self, queue: int) -> bool:
        """Whether nothing can arrive for it, from now on, that is not heard of."""

    def hear(self, sleepers: Sleepers, left: float) -> None:
        """Wait for what arrives, and tell them; so many seconds, at most."""

    def stop(self) -> None:
        """Nobody waits any more: who hears ends soon."""
