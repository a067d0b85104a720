"""A thread that says when something is due of itself; there is one only while something is."""

from __future__ import annotations

import threading
from collections.abc import Callable


class PoolTimer:
    """Calls a function once, after the time that was set last."""

    def __init__(self, ring: Callable[[], object]) -> None:
        """No time is set yet. `ring`: the function to call."""
        self._ring = ring
        self._thread: threading.Timer | None = None

    def set(self, seconds: float) -> None:
        """Call in so many seconds, instead of whatever was set before."""
        if self._thread is not None:
            self._thread.cancel()
        self._thread = threading.Timer(seconds, self._ring)
        self._thread.daemon = True
        self._thread.start()
