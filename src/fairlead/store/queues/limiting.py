"""Limits of a queue: how many groups are in work at one time, and how many messages in a time.

Each limit is for the whole queue, for each tenant, or for groups by their names. The groups of a
queue with limits stand in *lanes*: those of one lane have the same limits by their names, so what
is held up in one lane is passed over as a whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

from fairlead.balance.times import MICROS, seconds
from fairlead.config.wildcards import wildcard
from fairlead.store.database.port import Database

QUEUE, TENANT, GROUP = "queue", "tenant", "group"
LARGEST: Final = 100
"""So many messages of a group are counted at most when it is taken."""
AHEAD: Final = 3600 * 1_000_000
"""Microseconds by which a clock may have been wrong."""
OPEN: Final = 0
"""A time that is over: something can be taken now."""


class Limit(NamedTuple):
    """A `[[queue.limit]]`, in whole numbers."""

    of: str
    """queue | tenant | group."""
    match: str
    """The names of tenants or groups for which it is."""
    in_work: int | None
    """So many groups at most are in the hands of readers."""
    interval: int
    """Microseconds that each message takes of the rate; 0: there is no rate."""
    burst: int
    """So many messages may go at once, after a pause."""

    @property
    def key(self) -> str:
        """By which its state is kept."""
        return f"{self.of} {self.match}"

    @property
    def in_words(self) -> dict[str, object]:
        """As it was declared; the rate is that of a second."""
        table: dict[str, object] = {"of": self.of, "match": self.match, "in_work": self.in_work}
        if self.interval:
            table |= {"rate": MICROS / self.interval, "burst": self.burst}
        return {key: value for key, value in table.items() if value is not None}


class LimitState(NamedTuple):
    """How it stands with a limit of a queue."""

    of: str
    """queue | tenant | group."""
    match: str
    """The names of tenants or groups for which it is."""
    name: str
    """The tenant, where each has a limit of its own; else empty."""
    in_work: int
    """Groups in the hands of readers."""
    most_in_work: int | None
    """So many at most; None: any number."""
    opens: float | None
    """When its rate lets the next message through, in seconds since 1970; None: now."""

    @property
    def is_open(self) -> bool:
        """Whether it lets something through now."""
        return self.opens is None and (
            self.most_in_work is None or self.in_work < self.most_in_work
        )


def limits_of(kept: str | None) -> tuple[Limit, ...]:
    """As a queue's row has them."""
    return () if kept is None else tuple(Limit(*values) for values in json.loads(kept))


def kept_limits(limits: Sequence[Limit]) -> str | None:
    """The same, as a queue's row keeps them."""
    return json.dumps(limits) if limits else None


def lane_of(limits: Sequence[Limit], group: str | None) -> str | None:
    """The lane of a group: the places of the limits that are for its name. None: no limits."""
    if not limits:
        return None
    named = [k for k, limit in enumerate(limits) if limit.of == GROUP and group]
    return ",".join(str(k) for k in named if matches(limits[k].match, group or ""))


def matches(pattern: str, name: str) -> bool:
    """Whether a name is meant by a pattern: `*` stands for any characters, `?` for one."""
    return _compiled(pattern).match(name) is not None


_compiled = cache(partial(wildcard, one=True))


class Gate:
    """What the limits of a queue let through at one moment.

    Whoever takes has the queue's row locked, so nobody else takes meanwhile.
    """

    def __init__(self, database: Database, queue: int, limits: Sequence[Limit], now: int) -> None:
        """As it is now; `now`: microseconds."""
        self._database = database
        self._queue = queue
        self._limits = limits
        self._now = now
        self._held = Counter[tuple[str, str]]()
        self._charged: dict[tuple[str, str], int] = {}
        """Until when the rate of a limit is used up."""
        self._written: set[tuple[str, str]] = set()
        for lane, tenant, count in database.run("held_by_lane", queue=queue):
            for limit, name in self._of(lane or "", tenant):
                self._held[limit.key, name] += count
        most = {limit.key: (limit.burst + LARGEST) * limit.interval + AHEAD for limit in limits}
        for key, name, until in database.run("limit_states", queue=queue):
            if until <= now + most.get(key, 0):  # else a clock was wrong when it was written
                self._charged[key, name] = until

    def lanes(self) -> list[str]:
        """Those in which a group can be taken, as far as the limits go."""
        return [lane for (lane,) in self._database.run("lanes", queue=self._queue)]

    def opens(self, lane: str, tenant: str = "") -> int | None:
        """When something of a lane and a tenant can be taken: `OPEN`, or a time.

        None: when something is settled.
        """
        opening = OPEN
        for limit, name in self._of(lane, tenant):
            if limit.in_work is not None and self._held[limit.key, name] >= limit.in_work:
                return None
            until = self._charged.get((limit.key, name), OPEN)
            at = until - (limit.burst - 1) * limit.interval
            if limit.interval and at > self._now:
                opening = max(opening, at)
        return opening

    def states(self) -> list[LimitState]:
        """How it stands with each limit, and with each tenant that has something of it."""
        report = []
        for limit in self._limits:
            names = {name for key, name in {*self._held, *self._charged} if key == limit.key}
            for name in sorted(names if limit.of == TENANT else {""}):
                at = (limit.key, name)
                opens = self._charged.get(at, OPEN) - (limit.burst - 1) * limit.interval
                report.append(
                    LimitState(
                        *(limit.of, limit.match, name, self._held[at], limit.in_work),
                        opens=seconds(opens) if limit.interval and opens > self._now else None,
                    )
                )
        return report

    def is_open(self, lane: str, tenant: str = "") -> bool:
        """Whether something of a lane and a tenant can be taken now."""
        return self.opens(lane, tenant) == OPEN

    def took(self, lane: str, tenant: str, messages: int) -> None:
        """A group with so many messages was taken."""
        for limit, name in self._of(lane, tenant):
            at = limit.key, name
            self._held[at] += 1
            if limit.interval:
                since = max(self._charged.get(at, OPEN), self._now)
                self._charged[at] = since + messages * limit.interval
                self._written.add(at)

    def write(self) -> None:
        """Write what was charged, and forget what is over."""
        rows = [(key, name, self._charged[key, name]) for key, name in sorted(self._written)]
        if rows:
            self._database.run("drop_limit_states", queue=self._queue, now=self._now)
            self._database.many("set_limit_state", rows, queue=self._queue)

    def _of(self, lane: str, tenant: str) -> Iterable[tuple[Limit, str]]:
        """The limits for a group of a lane and a tenant, and for whose name each counts."""
        named = set(lane.split(",")) if lane else set()
        for k, limit in enumerate(self._limits):
            if limit.of == QUEUE or (limit.of == GROUP and str(k) in named):
                yield limit, ""
            elif limit.of == TENANT and tenant and matches(limit.match, tenant):
                yield limit, tenant
