"""For how long the queues of a store let a handler work on one message."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from fairlead.errors import FairleadError
from fairlead.store.store import Store

KNOWN: Final = 10.0
"""Seconds for which what a queue allows is known without asking the store."""


class MaxSeconds:
    """What each queue allows, as was last seen; None: any time, as far as is known."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[float, int | None]] = {}
        """Queue → until when that is known, and what it is."""

    def of(self, queue: str) -> int | None:
        """What a queue allows; the store is asked now and then."""
        until, most = self._known.get(queue, (0.0, None))
        if time.monotonic() >= until:
            with suppress(FairleadError):  # a database that is gone is asked again
                most = self._store.max_seconds(queue)
            self._known[queue] = time.monotonic() + KNOWN, most
        return most

    def last(self, queue: str) -> int | None:
        """The same, for who must not wait for the store: what `of` has found."""
        return self._known.get(queue, (0.0, None))[1]
