"""What the store writes to its journal, and the numbers of events."""

from __future__ import annotations

from typing import Final

from fairlead.store.database import Database

NO_EVENT: Final[dict[str, object]] = dict.fromkeys(
    ("id", "priority", "cost", "type", "attempt", "token", "lease", "detail")
) | {"group": "", "key": "", "tenant": ""}


class Log:
    """The events of one verb; `flush` writes them, in the transaction of what they record."""

    def __init__(self, database: Database, queue: str, time: int, actor: str) -> None:
        """`time`: microseconds. `actor`: who does it."""
        self._database = database
        self._common = {**NO_EVENT, "queue": queue, "time": time, "actor": actor}
        self._events: list[dict[str, object]] = []

    def draw(self, count: int = 1) -> list[int]:
        """Numbers for events; one that is kept in a row needs an event, of this or a later one."""
        return list(self._database.numbers(count)) if count else []

    def add(self, kind: str, **columns: object) -> None:
        """An event; `id`: the number drawn for it, else it gets one when it is written."""
        self._events.append({**self._common, "kind": kind, **columns})

    def flush(self) -> None:
        """Write the events."""
        if self._events:
            if not self._database.locks:  # else the insertion itself draws them
                missing = [event for event in self._events if event["id"] is None]
                for event, number in zip(missing, self.draw(len(missing)), strict=True):
                    event["id"] = number
            self._database.many("add_journal", self._events)
            self._events = []
