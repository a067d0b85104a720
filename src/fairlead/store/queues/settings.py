"""How a queue is set, as its row says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from fairlead.balance.objects import common_multiple, hint, listed
from fairlead.errors import MessageError
from fairlead.order.agenda import FIFO
from fairlead.order.key import NO_ENTRY, Entry, key, standing
from fairlead.store.arguments import OWN, REMEMBERED
from fairlead.store.database.port import Database
from fairlead.store.queues.backoff import Backoff
from fairlead.store.queues.limiting import Limit, lane_of, limits_of

MAX_FAILURES: Final = 5
NO_WEIGHTS: Final = "{}"
READY, HELD, PARKED = 1, 2, 3
"""The states of a group."""
NOT_FAIR, BECOMES_FAIR, FAIR = 0, 1, 2
DEAD_LETTERS, OFF = "dead-letters", "off"
AHEAD: Final = 3600 * 1_000_000
"""Microseconds: where the latest event is further ahead of the clock, a clock was wrong then."""
BEFORE_ALL: Final = -(2**63)
"""A number before that of any message."""


class QueueRow(NamedTuple):
    """The columns of a queue's row."""

    id: int
    name: str
    discipline: str
    default_priority: int
    step: int
    weights: str
    fair: int
    virtual_time: str
    backlogged: int
    in_service: int
    max_waiting: int | None
    max_failures: int | None
    max_seconds: int | None
    """For which a handler may work on one message; None: any time."""
    completing: int
    """Whether a cluster waits for what is settled here."""
    enabled: int
    """Whether it gives anything."""
    poison: str
    """What becomes of a group that fails too often: dead-letters | off, the whole queue then."""
    by_library: int
    """Whether plain SQL cannot take from it, as from a service's."""
    retry: str | None
    """When a group that failed is tried again; None: its readers say so."""
    count_as_failure: str
    """What counts as a failure, as JSON."""
    keep_dead: int | None
    """For how long dead letters are kept, in microseconds; None: for ever."""
    limits: str | None
    """How much of it goes at one time, or in a time, as JSON; None: there are no limits."""
    off_tenants: str | None
    """The tenants that are switched off, as JSON; None: none is."""
    remembered: int
    latest: int | None
    """The time of the store's latest event."""
    server_time: int
    """The time of the database's server; 0 where it has none of its own."""
    awaited: bool
    """Whether somebody is to be notified of what arrives."""


class Queue:
    """A queue as it is set at this moment, and the two times of this moment, in microseconds.

    `now`: what the clock says; leases and delays count from it. `moment`: the same, but never
    before an earlier event; the order counts with it, so a clock that goes back changes none. Only
    where the latest event is more than an hour ahead, time does go back: a clock was wrong then.
    """

    def __init__(self, columns: QueueRow, now: int) -> None:
        """A queue as its row was read. `now`: in microseconds."""
        self.columns = columns
        self.id = columns.id
        self.name = columns.name
        self.step = columns.step
        self.fair = columns.fair
        self.now = now
        latest = columns.latest or now
        self.moment = max(now, latest) if latest <= now + AHEAD else now

    def since(self, time: int | None) -> float:
        """How long ago something was, in seconds; 0 for what never was."""
        return 0.0 if time is None else max(self.now - time, 0) / 1_000_000

    @property
    def ordered(self) -> bool:
        """Whether priorities count."""
        return self.columns.discipline != FIFO

    @cached_property
    def weights(self) -> Mapping[str, int]:
        """Tenant → weight."""
        if self.columns.weights == NO_WEIGHTS:
            return {}
        values: dict[str, int] = json.loads(self.columns.weights)
        return values

    @cached_property
    def backoff(self) -> Backoff | None:
        """When a group that failed is tried again; None: its readers say so."""
        return Backoff.of(self.columns.retry)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """How much of it goes at one time, or in a time."""
        return limits_of(self.columns.limits)

    @cached_property
    def off_tenants(self) -> frozenset[str]:
        """Of which nothing is given."""
        return off_tenants_of(self.columns.off_tenants)

    def lane(self, group: str | None) -> str | None:
        """Where a group with this name stands; None: the queue has no limits."""
        return lane_of(self.limits, group)

    def counts(self, cause: str) -> bool:
        """Whether a failure of this cause counts; "" is none."""
        return bool(cause) and cause in json.loads(self.columns.count_as_failure)

    @cached_property
    def unit(self) -> int:
        """The least common multiple of all weights."""
        return common_multiple(self.weights)

    def share(self, tenant: str) -> int:
        """By how much one unit of cost moves a tenant's tag."""
        return self.unit // self.weights.get(tenant, 1)

    def place(self, entry: Entry, head: int, arrived: int) -> tuple[int, int] | None:
        """The key of a group that nobody holds; None: nothing is left of it."""
        position = standing(entry if self.ordered else NO_ENTRY, arrived, head, False, self.step)
        return key(position, self.step) if position.number else None


def off_tenants_of(kept: str | None) -> frozenset[str]:
    """The tenants that are switched off, as a queue's row has them."""
    return frozenset() if kept is None else frozenset(json.loads(kept))


def read_queue(
    database: Database, name: str, now: int | None, *, locked: bool = False
) -> Queue | None:
    """A queue as it is set; `now`: of a clock of the user's own, else the database's."""
    rows = database.run("queue_locked" if locked else "queue", name=name)
    if not rows:
        return None
    columns = QueueRow(*rows[0])
    return Queue(columns, (columns.server_time or database.time()) if now is None else now)


def known_queue(database: Database, name: str, now: int | None, *, locked: bool = False) -> Queue:
    """The same; raises MessageError where there is none of that name."""
    queue = read_queue(database, name, now, locked=locked)
    if queue is None:
        names = [name for (name,) in database.run("queue_names")]
        raise MessageError(
            f"queue: found {name!r}, allowed: {listed(names) or 'none: nothing was sent yet'}"
            f"{hint(name, names)}"
        )
    return queue


def made_queue(database: Database, name: str, now: int | None) -> Queue:
    """The same; creates it with the defaults where there is none."""
    queue = read_queue(database, name, now)
    if queue is None:
        # a server that died has not failed at what it keeps: whoever is next has to go on with it
        most = None if name.startswith(OWN) else MAX_FAILURES
        database.run("add_queue", name=name, remembered=REMEMBERED, max_failures=most)
        queue = known_queue(database, name, now)
    return queue
