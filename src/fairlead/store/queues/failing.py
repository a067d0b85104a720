"""Failures of groups: which count, when the group is tried again, and when it was the last time."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.received import Stored
from fairlead.store.queues.settings import OFF, Queue

ERROR: Final = "error"
"""Its reader said so."""
LEASE: Final = "lease"
"""Its lease was over."""
PROCESS: Final = "process"
"""The process that held it has died."""


class Failure(NamedTuple):
    """How the release of a group counts."""

    in_a_row: int
    """Failures in a row, with this one if it is one."""
    is_last: bool
    """Whether what was given of it is to be dead letters."""
    counts: bool
    """Whether this release is a failure."""


def counted(
    database: Database, queue: Queue, cause: str, before: int, group: str, reason: str, log: Log
) -> Failure:
    """Count a release; `before`: the failures before it.

    A queue that failures switch off gives nothing any more until somebody has looked.
    """
    counts = queue.counts(cause)
    in_a_row, most = before + counts, queue.columns.max_failures
    if not counts or most is None or in_a_row < most:
        return Failure(in_a_row, False, counts)
    if queue.columns.poison != OFF:
        return Failure(in_a_row, True, counts)
    if database.run("switch", queue=queue.id, enabled=0):
        why = f"group {group!r} failed {most} times in a row: {reason}"
        log.add("switched-off", group=group, detail=why)
        queue.columns = queue.columns._replace(enabled=0)
    return Failure(0, False, counts)


def delay(database: Database, queue: Queue, failure: Failure, id_: int, done: list[int]) -> int:
    """Microseconds until a group that failed is tried again, if nobody else says so.

    `done`: what it was given and is accepted all the same.
    """
    if queue.backoff is None or not failure.counts:
        return 0
    rows = database.run("late_of", id=id_, given=done, most=1)
    return queue.backoff.delay(failure.in_a_row, str(Stored(*rows[0]).key) if rows else "")
