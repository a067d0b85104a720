"""What readers hold, who they are, and how an operator takes it back from one of them."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.balance.times import seconds
from fairlead.store.database.port import Database
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.failing import ERROR
from fairlead.store.queues.leases import Leases
from fairlead.store.queues.settings import Queue

WHY: Final = "an operator took it back"


class HeldGroup(NamedTuple):
    """A group in the hands of a reader."""

    queue: str
    """Its queue's name."""
    group: str
    """Its name; "" for a message without a group."""
    tenant: str
    """The tenant of the group; "" where it has none."""
    priority: int | None
    """With which it was taken; None: nobody had raised it."""
    attempt: int
    """1 for the first."""
    messages: int
    """How many it has."""
    token: int
    """What settles it."""
    reader: str
    """Host and process of who holds it; "" for a reader in plain SQL."""
    client: str
    """For whom a server holds it: the AMQP client, with its address; in the first seconds only by
    name, or those of whom it is one. "" for all other readers."""
    since: float
    """When it was taken: seconds since 1970."""
    until: float
    """When its lease is over: seconds since 1970."""
    gone: bool
    """Whether its reader's process is gone, as far as can be seen now: the next take gives it to
    somebody else. Of a reader in plain SQL that is not known. On PostgreSQL a process on another
    host that has lost its connection is gone until it has another, within seconds; on SQLite that
    of another host is not seen."""


def held_groups(
    database: Database, leases: Leases, queue: Queue | None, most: int
) -> list[HeldGroup]:
    """What readers hold, the longest first; of one queue or of all."""
    rows = database.run("held_groups", queue=queue and queue.id, most=most)
    holders = {row[-3:] for row in rows if row[-3] is not None}
    gone = leases.gone_among(database, sorted(holders))
    groups = []
    for *most_of, reader, client, actor, taken, deadline, holder, _, _ in rows:
        whose = client or _taken_for(reader, actor)
        times = seconds(taken), seconds(deadline)
        groups.append(HeldGroup(*(*most_of, reader, whose, *times, holder in gone)))
    return groups


def _taken_for(reader: str, actor: str) -> str:
    """For whom it was taken, as the journal says who took it; "": it took it for itself."""
    taker = f"{reader} for "
    return actor.removeprefix(taker) if reader and actor.startswith(taker) else ""


def take_back_with(
    database: Database, now: int | None, token: int, actor: str, reason: str, *, failed: bool
) -> int:
    """Release the groups that a reader holds with a token; how many there were."""
    rows = database.run("held_with", token=token)
    why = f"{WHY}: {reason}" if reason else WHY
    for id_, name in rows:
        engine = engine_of(database, now, actor)
        engine.take_back(name, [(id_, token)], why, failed=ERROR if failed else "")
    return len(rows)
