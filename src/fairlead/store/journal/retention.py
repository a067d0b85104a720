"""Forget what is old, bit by bit: events, ids of messages, dead letters, what clusters were.

And what runs of many messages have left whose process is gone. A store that takes or chooses looks
once a minute, and forgets at most 1,000 of each. Where it finds so many, it looks again after a
tenth of a second.
"""

from __future__ import annotations

import time
from typing import Final

from fairlead.balance.objects import repr_of
from fairlead.balance.times import MICROS
from fairlead.errors import MessageError
from fairlead.store.arguments import REMEMBERED, duration
from fairlead.store.database.clock import time_of
from fairlead.store.database.connections import Connections
from fairlead.store.database.context import BaseContext
from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.text import duration as in_words

LOOK: Final = 60.0
"""Seconds between two looks."""
BUSY: Final = 0.1
"""The same, while there is more to forget."""
MOST: Final = 1000
"""So many of each kind are forgotten in one look."""
DAY: Final = 86_400
MAX_DAYS: Final = 100_000


class Retention:
    """When a store looks for what is old. Thread-safe."""

    def __init__(self, connections: Connections, context: BaseContext) -> None:
        """Of one store."""
        self._connections = connections
        self._context = context
        self._due: dict[bool, float] = {}

    def look(self, *, dead: bool = True) -> None:
        """Forget a little of what is old, if it is time to look.

        `dead`: dead letters and what runs of many messages have left, too, for which a sender has
        no right.
        """
        now = time.monotonic()
        if now < self._due.get(dead, 0.0):
            return
        self._due[dead] = now + LOOK
        with self._connections.writing() as database:
            today = time_of(database, self._context.clock())
            more = forget(database, today, self._context.actor, dead=dead)
        if more:
            self._due[dead] = now + BUSY


def forget(database: Database, now: int, actor: str, *, dead: bool = True) -> bool:
    """Forget what is old, as the store is set; whether there may be more of it."""
    counts = [_forget_dead(database, now, actor) if dead else 0]
    counts += [
        len(database.run(name, now=now, most=MOST, remembered=REMEMBERED))
        for name in ("forget_events", "forget_ids", "forget_ended", "forget_choice_runs")
    ]
    if counts[-1]:
        database.run("forget_versions")
    counts.append(_forget_guaranteed(database, now))
    if dead:
        database.run("sweep_runs")
    return max(counts) >= MOST


def _forget_guaranteed(database: Database, now: int) -> int:
    """Forget guaranteed messages of which no copy waits; how many."""
    values = {"now": now, "most": MOST, "remembered": REMEMBERED}
    database.run("keep_guaranteed", **values)
    rows = database.run("forget_guaranteed", **values)
    if rows:
        database.run("forget_acknowledgements", ids=[id_ for (id_,) in rows])
    return len(rows)


def _forget_dead(database: Database, now: int, actor: str) -> int:
    """Delete dead letters that are older than their queues keep them; how many."""
    rows = database.run("forget_dead", now=now, most=MOST)
    for queue in sorted({row[0] for row in rows}):
        log = Log(database, queue, now, actor)
        for _, key, group, tenant, cost, type_, attempt, keep in (r for r in rows if r[0] == queue):
            log.add(
                "discarded",
                group=group or "",
                key=key,
                tenant=tenant,
                cost=cost,
                type=type_,
                attempt=attempt,
                detail=f"was a dead letter for {in_words(keep)}",
            )
        log.flush()
    return len(rows)


def journal_keep(database: Database) -> float | None:
    """For how many days events are kept; None: for ever."""
    ((keep,),) = database.run("retention")
    return None if keep is None else keep / (DAY * MICROS)


def set_journal_keep(database: Database, days: float | None) -> None:
    """Set for how many days events are kept; 0 or None: for ever. Raises MessageError."""
    keep = duration("journal_keep", days or 0) * DAY
    if keep > MAX_DAYS * DAY * MICROS:
        raise MessageError(
            f"journal_keep: found {repr_of(days)}, allowed: days from 0 to {MAX_DAYS}, or None"
        )
    database.run("set_retention", keep=keep or None)
