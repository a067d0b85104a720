"""What the store writes to its journal, and the numbers of events."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.store.database.port import Database, Row


class Log:
    """The events of one verb; `flush` writes them, in the transaction of what they record."""

    def __init__(self, database: Database, queue: str, time: int, actor: str) -> None:
        """`time`: microseconds. `actor`: who does it."""
        self._database = database
        self._common = {"queue": queue, "time": time, "actor": actor}
        self._events: list[Row] = []

    def draw(self, count: int = 1) -> Sequence[int]:
        """Numbers for events; one that is kept in a row needs an event, of this or a later one."""
        return self._database.numbers(count) if count else ()

    def add(  # the columns of the journal
        self,
        kind: str,
        *,
        id: int | None = None,  # noqa: A002
        group: str = "",
        key: str = "",
        tenant: str = "",
        priority: int | None = None,
        cost: int | None = None,
        type: str | None = None,  # noqa: A002
        attempt: int | None = None,
        token: int | None = None,
        lease: int | None = None,
        detail: str | None = None,
    ) -> None:
        """An event; `id`: the number drawn for it, else it gets one when it is written."""
        self._events.append(
            (id, kind, group, key, tenant, priority, cost, type, attempt, token, lease, detail)
        )

    def add_sent(self, first: int, last: int) -> None:
        """Write the events of messages that have just come, all from one number to another."""
        self._database.run("add_journal_sent", first=first, last=last, **self._common)

    def add_lone(self, kind: str, ids: list[int], *, numbered: bool = False) -> None:
        """Write the events of messages without a group that are taken, or about to be accepted.

        `numbered`: their numbers are drawn already.
        """
        self.flush()
        first = 0 if numbered else self.draw(len(ids))[0]
        self._database.run(f"add_journal_{kind}", ids=ids, first=first, **self._common)

    def flush(self) -> None:
        """Write the events."""
        if self._events:
            missing = [place for place, event in enumerate(self._events) if event[0] is None]
            numbers = self._database.event_numbers(len(missing))
            for place, number in zip(missing, numbers, strict=True):
                self._events[place] = (number, *self._events[place][1:])
            self._database.many("add_journal", self._events, **self._common)
            self._events = []
