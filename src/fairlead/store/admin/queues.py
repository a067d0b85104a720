"""What an operator does: set queues, count what they hold, dead letters, pruning, recovery."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypedDict

from fairlead.balance.objects import Order, listed, repr_of
from fairlead.balance.refusal import read
from fairlead.balance.times import MICROS, seconds
from fairlead.config.queues import MOST_SECONDS
from fairlead.errors import MessageError
from fairlead.order.key import NO_ENTRY, NOTHING, Entry
from fairlead.store.admin.locks import lock_queues
from fairlead.store.admin.switching import off, off_columns
from fairlead.store.arguments import MAX_NUMBER, REMEMBERED, whole
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.journal.epochs import begin_epoch
from fairlead.store.journal.retention import DAY
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.settings import (
    BECOMES_FAIR,
    BEFORE_ALL,
    DEAD_LETTERS,
    NOT_FAIR,
    OFF,
    Queue,
    known_queue,
    made_queue,
)
from fairlead.store.queues.taken_group import TakenGroup

STEP: Final = 5000
"""So many rows are changed in one transaction."""


class Ordering(TypedDict, total=False):
    """How a queue is ordered; `Store.set_order` says what each means."""

    default_priority: int
    ageing: Decimal | float
    weights: Mapping[str, int]


class Limiting(TypedDict, total=False):
    """What a queue may hold; `Store.set_limits` says what each means."""

    max_waiting: int | None
    max_failures: int | None
    max_seconds: int | None
    poison: str


ORDER: Final = ("discipline", *Ordering.__annotations__)
LIMITS: Final = tuple(Limiting.__annotations__)
DECLARED: Final = ("retry", "count_as_failure", "keep_dead", "limits")
"""What only a file sets, as a queue's row has it."""
POISON: Final = (DEAD_LETTERS, OFF)


class Metrics(NamedTuple):
    """What a queue holds, and how it is set."""

    queue: str
    """Its name."""
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
    longest_held: float
    """For how long the group that was taken first of those in hand is held, in seconds; 0: none."""
    failures: int
    """Of the groups that are there, in a row."""
    discipline: str
    """fifo | priority."""
    default_priority: int
    """Of a raise without a number."""
    ageing: float
    """Seconds of waiting that are worth one step of priority; 0: none are."""
    weights: Mapping[str, int]
    """Of tenants; 1 for those that are not there."""
    max_waiting: int | None
    """Messages; None: any number."""
    max_failures: int | None
    """Failures of a group in a row, after which it is poison; None: it never is."""
    max_seconds: int | None
    """For which a handler may work on one message, in seconds; None: any time."""
    poison: str
    """What then becomes of it: dead-letters; off: the queue is switched off."""
    enabled: bool
    """Whether the queue gives anything; else it is switched off."""
    off_since: float | None
    """When it was switched off, in seconds since 1970; None: it is on, or nobody knows any more."""
    off_why: str
    """Why and by whom it was switched off; "" where `off_since` is None."""
    off_tenants: Sequence[str]
    """Tenants of it that are switched off."""
    retry: Mapping[str, float] | None
    """When a group that failed is tried again, as declared; None: its readers say so."""
    count_as_failure: Sequence[str]
    """error, lease, process: what counts."""
    keep_dead: float | None
    """Days for which dead letters are kept; None: for ever."""
    limits: Sequence[Mapping[str, object]]
    """`of`, `match`, `in_work`, `rate` (messages a second) and `burst`, as declared."""


class TenantMetrics(NamedTuple):
    """What a queue holds of one tenant; the counts are those of `Metrics`."""

    queue: str
    """Its name."""
    tenant: str
    """Whose it is; "" for messages that were sent without one."""
    messages: int
    ready: int
    working: int
    parked: int
    delayed: int
    dead: int
    oldest: float
    """For how long its oldest group that can be taken has waited, in seconds; 0: there is none."""
    enabled: bool
    """Whether anything of it is given; else the tenant is switched off."""
    off_since: float | None
    """When it was switched off, in seconds since 1970; None: it is on, or nobody knows any more."""
    off_why: str
    """Why and by whom it was switched off; "" where `off_since` is None."""


def check_limits(named: Mapping[str, object]) -> None:
    """Raises MessageError for what a queue may not be limited to."""
    for what, value in named.items():
        if what == "poison":
            if value not in POISON:
                raise MessageError(f"poison: found {repr_of(value)}, allowed: {listed(POISON)}")
        elif value is not None:
            whole(what, value, 1, MOST_SECONDS if what == "max_seconds" else MAX_NUMBER)


def set_queue(database: Database, name: str, now: int | None, named: Mapping[str, object]) -> None:
    """Change what is named of how a queue is set; it is created if need be. Raises ConfigError."""
    queue = made_queue(database, name, now)
    columns = queue.columns
    declarations = {key: getattr(columns, key) for key in DECLARED}
    new = {**_settings(queue), **declarations, **named}
    limits = {key: new.pop(key) for key in (*LIMITS, *DECLARED)}
    order = read(new, Order)
    weights = json.dumps(dict(order.weights), sort_keys=True)
    fair = columns.fair
    counts = (limits["max_waiting"] is None) != (columns.max_waiting is None)
    lanes = limits["limits"] != columns.limits
    if counts or lanes:  # groups that others are about to begin need their lanes, too
        lock_queues(database)
    if weights != columns.weights:
        database.run("drop_tenants", queue=queue.id)
        database.run("clear_line", queue=queue.id)
        fair = BECOMES_FAIR if fair or order.weights else NOT_FAIR
    database.run(
        "set_queue",
        queue=queue.id,
        discipline=order.discipline,
        default_priority=order.default_priority,
        step=order.step,
        weights=weights,
        fair=fair,
        remembered=columns.remembered,
        by_library=int(limits["poison"] == OFF),
        **limits,
    )
    if counts:
        database.run("count_length", queue=queue.id)
    if lanes:
        _set_lanes(database, known_queue(database, name, now))


def _set_lanes(database: Database, queue: Queue) -> None:
    """Give all groups the lanes that the limits of their queue lead to."""
    after = BEFORE_ALL
    while rows := database.run("group_names_after", queue=queue.id, after=after, most=STEP):
        database.many("set_lane", [(queue.lane(group), id_) for id_, group in rows])
        after = rows[-1][0]


def _settings(queue: Queue) -> dict[str, Any]:
    """How a queue is set, as a user says it."""
    values = queue.columns._asdict()
    return {
        **{key: values[key] for key in (*ORDER, *LIMITS) if key in values},
        "ageing": seconds(queue.step),
        "weights": dict(queue.weights),
    }


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
    measures = []
    for (name,) in database.run("queue_names"):
        queue = known_queue(database, name, now)
        ((*counts, oldest, taken, failures),) = database.run("metrics", queue=queue.id)
        ages = [queue.since(oldest), queue.since(taken)]
        state = {
            **off_columns(off(database, queue)),
            "off_tenants": sorted(queue.off_tenants),
            "retry": queue.backoff and queue.backoff.in_seconds,
            "count_as_failure": json.loads(queue.columns.count_as_failure),
            "keep_dead": queue.columns.keep_dead and queue.columns.keep_dead / (DAY * MICROS),
            "limits": [limit.in_words for limit in queue.limits],
        }
        measures.append(Metrics(name, *[*counts, *ages, failures], **_settings(queue) | state))
    return measures


def by_tenant(database: Database, now: int | None) -> list[TenantMetrics]:
    """What each queue holds of each tenant, the most messages first; also who is switched off."""
    measures: list[TenantMetrics] = []
    for (name,) in database.run("queue_names"):
        queue = known_queue(database, name, now)
        rows = database.run("by_tenant", queue=queue.id)
        nothing = [(tenant, *[0] * 6, None) for tenant in sorted(queue.off_tenants)]
        seen = {row[0] for row in rows}
        for tenant, *counts, oldest in [*rows, *(row for row in nothing if row[0] not in seen)]:
            state = off_columns(
                off(database, queue, tenant) if tenant in queue.off_tenants else None
            )
            measures.append(TenantMetrics(*(name, tenant, *counts, queue.since(oldest)), **state))
    return measures


def held(database: Database, queue: Queue) -> list[TakenGroup]:
    """The work in the hands of readers, without its messages."""
    return [
        TakenGroup(
            *(id_, name or "", tenant, priority, releases + 1, token, taken, deadline),
            key=(NOTHING, NOTHING),
        )
        for id_, name, tenant, priority, releases, token, _, taken, deadline in database.run(
            "held", queue=queue.id
        )
    ]


def prune(database: Database, keep: int, now: int | None) -> int:
    """Forget events that are older than `keep` microseconds, and ids whose time is over.

    Also what clusters were before that.
    """
    moment = time_of(database, now)
    count = len(database.run("prune_journal", before=moment - keep, most=STEP))
    count += len(database.run("forget_ids", now=moment, most=STEP, remembered=REMEMBERED))
    count += len(database.run("prune_choice_runs", before=moment - keep, most=STEP))
    return count + len(database.run("forget_versions"))


def recover(database: Database, now: int | None, actor: str) -> int:
    """Take back all work; nobody holds any. A new epoch of the journal begins."""
    begin_epoch(database, time_of(database, now), actor)
    count = 0
    for (name,) in database.run("queue_names"):
        queue = known_queue(database, name, now, locked=True)
        rows = [(row[0], row[5]) for row in database.run("held", queue=queue.id)]
        engine_of(database, now, actor).take_back(name, rows, "the store was recovered")
        count += len(rows)
    return count
