"""On PostgreSQL, a function of the schema takes groups, in one statement and one transaction.

Plain SQL calls it, too. On SQLite `taking.py` does the same, statement by statement.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from fairlead.store.database.clock import set_clock
from fairlead.store.database.port import Database, Row
from fairlead.store.queues.endpoints import endpoint_of
from fairlead.store.queues.received import Received, Stored, received
from fairlead.store.queues.taken_group import Claim, TakenGroup


def call_take(
    database: Database, queue: str, claim: Claim, now: int | None
) -> tuple[list[TakenGroup], bool]:
    """The best groups, each with its first messages, and whether to go on; as `take_portion`."""
    set_clock(database, now)
    rows = database.run(
        "take",
        queue=queue,
        group=claim.name,
        lease=claim.lease,
        holder=claim.holder,
        most=claim.page,
        actor=claim.actor,
        conversation=claim.conversation,
        groups=claim.most,
    )
    if not rows or rows[0][0] is None:
        return [], bool(rows)
    moment = time.monotonic()
    return [_held(list(of_one), claim, moment) for _, of_one in groupby(rows, itemgetter(0))], False


def given_in(held: TakenGroup, row: Row) -> Received:
    """A message as a function of the schema gives it, from its number on, last the end."""
    *columns, end = row
    stored = Stored._make((held.id, *columns[:6], None, *columns[6:]))
    endpoint = None if end is None else endpoint_of(end)
    held.speaks = held.speaks or endpoint is not None
    return received(stored, held.group, held.tenant, endpoint)


def _held(rows: Sequence[Row], claim: Claim, now: float) -> TakenGroup:
    id_, group, tenant, priority, releases, token, taken, deadline, k1, k2, cost = rows[0][:11]
    held = TakenGroup(
        *(id_, group, tenant, priority, releases + 1, token, taken, deadline),
        key=(k1, k2),
        only=claim.conversation,
        told=now,
        page=claim.page,
    )
    held.messages = [given_in(held, row[11:]) for row in rows]
    held.cost = cost
    return held
