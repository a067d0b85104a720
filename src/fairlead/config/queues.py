"""A queue as a store's file declares it: `[[queue]]`."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from fairlead.balance.objects import (
    DEFAULT_PRIORITY,
    MAX_NAME,
    FileTable,
    Name,
    Order,
    Priority,
    listed,
)
from fairlead.balance.times import MICROS

Cause = Literal["error", "lease", "process"]
CAUSES: Final[tuple[Cause, ...]] = ("error", "lease", "process")
MAX_DAYS: Final = 100_000
MOST_SECONDS: Final = 10**7


def check_name(key: str, found: str) -> None:
    """Raises ValueError for a name that a store does not keep."""
    if len(found) > MAX_NAME:
        raise ValueError(f"{key}: found {len(found)} characters, allowed: at most {MAX_NAME}")
    if not found.isprintable():
        raise ValueError(f"{key}: found {found!r}, allowed: a text of printable characters")


class Retry(FileTable, frozen=True, kw_only=True):
    """A `[queue.retry]`: after how long a group that failed is tried again."""

    base: Decimal = Decimal(1)
    """Seconds, after the first failure in a row."""
    factor: Decimal = Decimal(2)
    """By which each further one multiplies it."""
    limit: Decimal = Decimal(300)
    """Seconds, at most."""
    jitter: Decimal = Decimal(0)
    """The part of a delay that may be taken off, so that not all come back at one moment."""

    def __post_init__(self) -> None:
        for key, least, most, places in (
            ("base", "0.001", 10**9, 6),
            ("factor", "1", 100, 2),
            ("limit", "0.001", 10**9, 6),
            ("jitter", "0", 1, 2),
        ):
            value = getattr(self, key)
            inside = value.is_finite() and Decimal(least) <= value <= most
            if not (inside and value == round(value, places)):
                raise ValueError(
                    f"{key}: found {value}, allowed: from {least} to {most}, with at most {places} "
                    "digits after the point"
                )
        if self.base > self.limit:
            raise ValueError(f"base: found {self.base}, allowed: at most the limit, {self.limit}")

    @property
    def whole(self) -> dict[str, int]:
        """In microseconds and hundredths."""
        return {
            "base": int(self.base * MICROS),
            "factor": int(self.factor * 100),
            "limit": int(self.limit * MICROS),
            "jitter": int(self.jitter * 100),
        }


class LimitTable(FileTable, frozen=True, kw_only=True):
    """A `[[queue.limit]]`: how much of a queue goes at one time, or in a time."""

    of: Literal["queue", "tenant", "group"] = "queue"
    """The whole queue; each tenant; or all groups with such names together."""
    match: Name | None = None
    """The names of tenants or groups: `*` stands for any characters, `?` for one."""
    in_work: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Groups that are in the hands of readers at one time."""
    rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Messages that are taken, in so many seconds as `per` says."""
    per: Decimal | None = None
    """Seconds; 1 without it."""
    burst: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Messages that may go at once after a pause; 1 without it, so that they go evenly."""

    def __post_init__(self) -> None:
        if self.match is not None:
            check_name("match", self.match)
        if self.of == "queue" and self.match is not None:
            raise ValueError(
                f"match: found {self.match!r} for the whole queue, allowed: with tenant or group"
            )
        if self.of == "group" and self.match is None:
            raise ValueError("match: found nothing, allowed: the names of groups, such as 'api-*'")
        if self.in_work is None and self.rate is None:
            raise ValueError("rate: found neither rate nor in_work, allowed: one of them, or both")
        if self.rate is None and (self.per, self.burst) != (None, None):
            raise ValueError("rate: found nothing with per or burst, allowed: messages")
        per = self.seconds
        if not (per.is_finite() and 0 < per <= MOST_SECONDS and per == round(per, 6)):
            raise ValueError(f"per: found {per}, allowed: seconds, more than 0, to {MOST_SECONDS}")

    @property
    def seconds(self) -> Decimal:
        """In which the rate is meant."""
        return Decimal(1) if self.per is None else self.per

    @property
    def interval(self) -> int:
        """Microseconds that each message takes of the rate, never less than it says; 0: no rate."""
        return 0 if self.rate is None else -(-int(self.seconds * MICROS) // self.rate)


class QueueTable(FileTable, frozen=True, kw_only=True):
    """A `[[queue]]`."""

    name: Name
    discipline: Literal["fifo", "priority"] = "priority"
    default_priority: Priority = DEFAULT_PRIORITY
    ageing: Decimal = Decimal(0)
    weights: dict[Name, Annotated[int, Meta(ge=1, le=1_000_000)]] = {}
    max_waiting: Annotated[int, Meta(ge=1)] | None = None
    """Messages; without it: any number."""
    max_failures: Annotated[int, Meta(ge=0)] = 5
    """Failures of a group in a row, after which `poison` says what happens; 0: never."""
    max_seconds: Annotated[int, Meta(ge=1, le=MOST_SECONDS)] | None = None
    """Whole seconds for which a handler may work on one message; more is a failure of it."""
    poison: Literal["dead-letters", "off"] = "dead-letters"
    """What was given becomes dead letters, or the group keeps it and the queue is switched off."""
    retry: Retry | None = None
    """Without it, readers say after how long."""
    count_as_failure: Annotated[list[Cause], Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: list(CAUSES)
    )
    """error: its reader said so; lease: its lease was over; process: its reader's process died."""
    keep_dead: Decimal | None = None
    """Days for which dead letters are kept; without it: for ever."""
    limits: list[LimitTable] = msgspec.field(name="limit", default_factory=list)
    """How much of it goes at one time, or in a time."""

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if len(set(self.count_as_failure)) < len(self.count_as_failure):
            raise ValueError(
                f"count_as_failure: found {listed(self.count_as_failure)}, allowed: each once"
            )
        met = set[tuple[str, str | None]]()
        for limit in self.limits:
            if (limit.of, limit.match) in met:
                raise ValueError(
                    f"limit: found two of {limit.of} {limit.match or ''}".rstrip()
                    + ", allowed: one, with in_work and rate"
                )
            met.add((limit.of, limit.match))
        days = self.keep_dead
        if days is not None and not (days.is_finite() and 0 < days <= MAX_DAYS):
            raise ValueError(f"keep_dead: found {days}, allowed: days, more than 0, to {MAX_DAYS}")
        self.order  # noqa: B018 - raises what is not allowed

    @property
    def order(self) -> Order:
        """How its work is ordered."""
        return Order(
            discipline=self.discipline,
            default_priority=self.default_priority,
            ageing=self.ageing,
            weights=self.weights,
        )
