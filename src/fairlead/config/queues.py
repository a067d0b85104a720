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
            found = getattr(self, key)
            inside = found.is_finite() and Decimal(least) <= found <= most
            if not (inside and found == round(found, places)):
                raise ValueError(
                    f"{key}: found {found}, allowed: from {least} to {most}, with at most {places} "
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


class Queue(FileTable, frozen=True, kw_only=True):
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

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if len(set(self.count_as_failure)) < len(self.count_as_failure):
            raise ValueError(
                f"count_as_failure: found {listed(self.count_as_failure)}, allowed: each once"
            )
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
