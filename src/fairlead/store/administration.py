"""What an operator does: set queues, count what they hold, dead letters, pruning, recovery."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from fairlead.balance.objects import Order, spelled
from fairlead.balance.refusal import read
from fairlead.errors import MessageError
from fairlead.order.key import NO_ENTRY, NOTHING, Entry
from fairlead.store.bodies import decoded
from fairlead.store.database import Database, Row
from fairlead.store.letters import Letter
from fairlead.store.log import Log
from fairlead.store.sending import arrive
from fairlead.store.settings import (
    BECOMES_FAIR,
    NOT_FAIR,
    REMEMBERED,
    Queue,
    known_queue,
    made_queue,
    time_of,
)
from fairlead.store.settling import take_back
from fairlead.store.taking import Held

STEP: Final = 5000
"""So many rows are changed in one transaction."""


class Limits(NamedTuple):
    """What a queue may hold, and how often work of it may fail."""

    max_waiting: int | None = None
    """Messages; None: any number."""
    max_failures: int | None = 5
    """Failures of a group in a row, after which what was given is a dead letter; None: never."""


class Metrics(NamedTuple):
    """What a queue holds."""

    queue: str
    messages: int
    """That wait or are worked on."""
    ready: int
    """Groups that can be taken."""
    working: int
    """Groups in the hands of readers."""
    parked: int
    """Groups that were released with a delay."""
    delayed: int
    """Messages that arrive later."""
    dead: int
    """Dead letters."""
    oldest: float
    """For how long the oldest group that can be taken has waited, in seconds; 0: there is none."""
    failures: int
    """Of the groups that are there, in a row."""


class Dead(NamedTuple):
    """A dead letter."""

    number: int
    id: str
    group: str
    tenant: str
    priority: int | None
    reason: str
    attempt: int
    died: float
    """Seconds since 1970."""
    cost: int
    type: str | None
    body: Any


def checked_order(
    discipline: str, default_priority: int, ageing: Decimal | float, weights: Mapping[str, int]
) -> Order:
    """An order of work. Raises ConfigError."""
    plain = {
        "discipline": discipline,
        "default_priority": default_priority,
        "ageing": ageing,
        "weights": dict(weights),
    }
    return read(plain, Order)


def set_queue(
    database: Database, name: str, now: int | None, order: Order | None, limits: Limits | None
) -> None:
    """Set how a queue is ordered, or what it may hold; it is created if need be."""
    queue = made_queue(database, name, now)
    columns = queue.columns
    new = {
        "discipline": columns.discipline,
        "default_priority": columns.default_priority,
        "step": columns.step,
        "weights": columns.weights,
        "fair": columns.fair,
        "max_waiting": columns.max_waiting,
        "max_failures": columns.max_failures,
        "remembered": columns.remembered,
    }
    if order is not None:
        weights = json.dumps(dict(order.weights), sort_keys=True)
        if weights != columns.weights:
            database.run("drop_tenants", queue=queue.id)
            database.run("clear_line", queue=queue.id)
            new["fair"] = BECOMES_FAIR if columns.fair or order.weights else NOT_FAIR
        new |= {
            "discipline": order.discipline,
            "default_priority": order.default_priority,
            "step": order.step,
            "weights": weights,
        }
    if limits is not None:
        new |= limits._asdict()
    database.run("set_queue", queue=queue.id, **new)


def place_anew(database: Database, name: str, after: int, now: int | None) -> int | None:
    """Give the next groups their places anew; the last one's id, or None: these were all."""
    queue = known_queue(database, name, now)
    rows = database.run("groups_after", queue=queue.id, after=after, most=STEP)
    if not rows:
        return None
    changed = []
    for id_, priority, entered, number, head, arrived in rows:
        entry = Entry(priority, entered, number) if queue.ordered else NO_ENTRY
        place = queue.place(entry, head, arrived)
        if place is not None:
            changed.append((*entry, *place, head, arrived, id_))
    if changed:
        database.many("place", changed)
    return int(rows[-1][0])


def metrics(database: Database, now: int | None) -> list[Metrics]:
    """What each queue holds."""
    found = []
    for (name,) in database.run("queue_names"):
        queue = known_queue(database, name, now)
        ((*counts, oldest, failures),) = database.run("metrics", queue=queue.id)
        age = 0.0 if oldest is None else max(queue.now - oldest, 0) / 1_000_000
        messages, ready, working, parked, delayed, dead = counts
        found.append(Metrics(name, messages, ready, working, parked, delayed, dead, age, failures))
    return found


def held(database: Database, queue: Queue) -> list[Held]:
    """The work in the hands of readers, without its messages."""
    return [
        Held(
            *(id_, name or "", tenant, priority, releases + 1, token, taken, deadline),
            key=(NOTHING, NOTHING),
        )
        for id_, name, tenant, priority, releases, token, _, taken, deadline in database.run(
            "held", queue=queue.id
        )
    ]


def dead(database: Database, queue: Queue, most: int, after: int) -> list[Dead]:
    """Dead letters, the oldest first."""
    rows = database.run("dead", queue=queue.id, after=after, most=most)
    return [
        Dead._make((*row[:2], row[2] or "", *row[3:7], row[7] / 1_000_000, *row[8:10], body))
        for row in rows
        for body in [decoded(*row[10:])]
    ]


def requeue(database: Database, queue: Queue, ids: Iterable[str] | None, actor: str) -> int:
    """Send dead letters again, to the end of their groups, `STEP` at a time; how many."""
    if isinstance(ids, str):
        raise MessageError(f"ids: found {spelled(ids)}, allowed: several, or None for all")
    rows: Sequence[Row] = []
    if ids is None:
        rows = database.run("dead", queue=queue.id, after=0, most=STEP)
    else:
        for key in dict.fromkeys(ids):
            found = database.run("dead_by_key", queue=queue.id, key=key)
            if not found:
                raise MessageError(
                    f"id: found {spelled(key)}, allowed: that of a dead letter of queue "
                    f"{queue.name!r}"
                )
            rows = [*rows, *found]
    dropped = database.run("drop_dead", queue=queue.id, ids=[row[0] for row in rows])
    ours = {id_ for (id_,) in dropped}  # another may have sent some of them again meanwhile
    rows = [row for row in rows if row[0] in ours]
    log = Log(database, queue.name, queue.moment, actor)
    letters = []
    for number, row in zip(log.draw(len(rows)), rows, strict=True):
        _, key, group, tenant, priority, reason, _, _, cost, type_, format_, body = row
        each = Letter(group, priority, key, type_, tenant, cost, None, None, format_, bytes(body))
        letters.append((number, each))
        log.add(
            "arrived",
            id=number,
            group=group or "",
            key=key,
            tenant=tenant,
            priority=priority,
            cost=cost,
            type=type_,
            detail=f"was a dead letter: {reason}",
        )
    arrive(database, queue, letters)
    log.flush()
    if queue.columns.awaited:
        database.run("notify", queue=queue.id)
    return len(rows)


def prune(database: Database, keep: int, now: int | None) -> int:
    """Forget events that are older than `keep` microseconds, and ids whose time is over.

    Also what clusters were before that.
    """
    moment = time_of(database, now)
    found = len(database.run("prune_journal", before=moment - keep, most=STEP))
    found += len(database.run("forget_ids", now=moment, most=STEP, remembered=REMEMBERED))
    found += len(database.run("prune_stretches", before=moment - keep, most=STEP))
    return found + len(database.run("forget_versions"))


def recover(database: Database, now: int | None, actor: str) -> int:
    """Take back all work; nobody holds any."""
    count = 0
    for (name,) in database.run("queue_names"):
        queue = known_queue(database, name, now, locked=True)
        log = Log(database, name, queue.moment, actor)
        rows = [(row[0], row[5]) for row in database.run("held", queue=queue.id)]
        blameless = frozenset(id_ for id_, _ in rows)
        take_back(database, queue, rows, log, "the store was recovered", blameless=blameless)
        log.flush()
        count += len(rows)
    return count
