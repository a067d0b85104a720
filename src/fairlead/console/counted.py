"""What is counted in the background, for all pages together, and costs the database little.

How much waits is counted row by row, which takes long where much waits. So it is counted while
somebody looks, one count at a time, and each again only after a hundred times as long as the last
ones took: open pages cost the database at most one hundredth of its time. What an operator has
changed is counted again at once: he looks at what became of it. Pages say of when their numbers
are.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, cast

from fairlead.console.health import DatabaseHealth
from fairlead.errors import UserError

LOGGER: Final = logging.getLogger("fairlead.console")
T = TypeVar("T")
SHARE: Final = 100
PAUSE: Final = 2.0
"""Seconds between two counts of one thing, at least."""
WANTED: Final = 20.0
"""Seconds for which a thing is counted again after somebody has looked."""
KEPT: Final = 600.0
"""Seconds for which it is remembered."""
MOST: Final = 200
"""Things that are remembered."""


@dataclass(frozen=True)
class Counted(Generic[T]):
    """What was counted."""

    value: T
    at: float
    """Seconds since 1970."""
    took: float
    """Seconds."""
    is_old: bool = False
    """Whether an operator has changed it since."""


@dataclass
class _Entry:
    count: Callable[[], Any]
    wanted: float
    """When somebody has looked last, as `time.monotonic`."""
    due: float = 0.0
    """When it is counted again."""
    changed: float | None = None
    """When an operator has changed it, if it was not counted since."""
    last: Counted[Any] | None = None
    error: UserError | None = None

    @property
    def is_known(self) -> bool:
        """Whether a look at it need not wait."""
        return self.changed is None and (self.last is not None or self.error is not None)


class Counts:
    """Counts by key. Thread-safe; one thread counts, while somebody looks."""

    def __init__(self, health: DatabaseHealth) -> None:
        """`health`: is told whether the database answers."""
        self._health = health
        self._changed = threading.Condition()
        self._entries: dict[object, _Entry] = {}
        self._thread: threading.Thread | None = None
        self._closed = False
        self._rest = 0.0
        """Until when nothing is counted again."""

    def get(self, key: object, count: Callable[[], T], patience: float) -> Counted[T] | None:
        """The last count; None: there is none yet, though it was waited for so many seconds.

        So long it also waits for a count of what an operator has changed. Raises what the count
        has raised, where there is none.
        """
        until = time.monotonic() + patience
        with self._changed:
            entry = self._entries.get(key)
            if entry is None:
                self._make_room()
                entry = self._entries[key] = _Entry(count, 0.0)
            entry.wanted = time.monotonic()
            self._begin()
            self._changed.notify_all()
            while not entry.is_known and not self._closed:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            if entry.last is None and entry.error is not None:
                raise entry.error
            last = cast("Counted[T] | None", entry.last)
            return last and replace(last, is_old=entry.changed is not None)

    def again(self, key: object) -> None:
        """Count a thing at once, as an operator has changed it."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is not None:
                entry.changed = time.monotonic()
                self._changed.notify_all()

    def close(self) -> None:
        """Count nothing any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _make_room(self) -> None:
        now = time.monotonic()
        for key in [key for key, entry in self._entries.items() if entry.wanted < now - KEPT]:
            del self._entries[key]
        if len(self._entries) >= MOST:
            del self._entries[min(self._entries, key=lambda key: self._entries[key].wanted)]

    def _begin(self) -> None:
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(
                target=self._go_on, name="fairlead-console-counts", daemon=True
            )
            self._thread.start()

    def _go_on(self) -> None:
        while True:
            with self._changed:
                entry = self._next()
                if entry is None:
                    self._thread = None
                    return
            self._count(entry)

    def _next(self) -> _Entry | None:
        """What is counted next, once it is due; None: nobody looks any more."""
        while not self._closed:
            now = time.monotonic()
            wanted = [e for e in self._entries.values() if e.wanted > now - WANTED]
            if not wanted:
                return None
            first = min(wanted, key=lambda e: (e.last is not None, self._due(e)))
            wait = self._due(first) - now
            if wait <= 0:
                return first
            self._changed.wait(min(wait, PAUSE))
        return None

    def _due(self, entry: _Entry) -> float:
        if entry.changed is not None:
            return entry.changed
        return entry.due if entry.last is None else max(entry.due, self._rest)

    def _count(self, entry: _Entry) -> None:
        began, value, error = time.monotonic(), None, None
        try:
            value = entry.count()
        except UserError as raised:
            error = raised
            self._health.failed(raised)
        except Exception:
            LOGGER.exception("event=failed what=count")
            error = UserError("it failed, and the log of the console says how")
        else:
            self._health.answered()
        took = time.monotonic() - began
        with self._changed:
            entry.error = error
            if entry.changed is not None and entry.changed <= began:
                entry.changed = None
            if error is None:
                entry.last = Counted(value, time.time(), took)
            entry.due = began + took + PAUSE
            self._rest = max(self._rest, began) + (SHARE + 1) * took
            self._changed.notify_all()
