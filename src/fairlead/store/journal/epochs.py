"""Epochs of the journal: a backup that is restored begins one.

What happened after the backup was made is gone, and numbers are used again, those of events or
those of transactions. So a place in the journal is one of an epoch, and all events of an epoch come
before those of the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log

MIN_NUMBER: Final = -(2**63)
MAX_NUMBER: Final = 2**63 - 1


class Epochs:
    """The epochs of a journal."""

    def __init__(self, database: Database) -> None:
        """As they are now."""
        self._firsts = [int(first) for (first,) in database.run("epochs")]

    @property
    def current(self) -> int:
        """The running one; the first is 0."""
        return len(self._firsts)

    def of(self, number: int) -> int:
        """The one in which an event was written."""
        return bisect_right(self._firsts, number)

    def bounds(self, epoch: int) -> dict[str, object]:
        """Its events, from a number on and before another one; whether no more are written."""
        ends = [MIN_NUMBER, *self._firsts, MAX_NUMBER]
        return {"first": ends[epoch], "until": ends[epoch + 1], "over": epoch < self.current}


def begin_epoch(database: Database, now: int, actor: str) -> None:
    """A new epoch begins, with an event that says so. `now`: microseconds."""
    database.run("skip_numbers")
    log = Log(database, "", now, actor)
    (number,) = log.draw()
    log.add("recovered", id=number)
    log.flush()
    database.run("add_epoch", first=number, began=now)


def reached(database: Database, epochs: Epochs, transaction: int, number: int) -> tuple[bool, bool]:
    """Whether the running epoch has come to a place, and whether all its events can be read.

    They cannot where they are of transactions that this server has not begun yet.
    """
    first = epochs.bounds(epochs.current)["first"]
    ((there, readable),) = database.run(
        "reached", transaction=transaction, number=number, first=first
    )
    return bool(there), bool(readable)


def is_restored(database: Database) -> bool:
    """Whether this is surely a backup that was restored, and not recovered yet."""
    return not reached(database, Epochs(database), 0, 0)[1]
