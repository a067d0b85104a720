"""A queue as a store's file declares it: `[[queue]]`."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta

from fairlead.balance.objects import DEFAULT_PRIORITY, MAX_NAME, FileTable, Name, Order, Priority


def check_name(key: str, found: str) -> None:
    """Raises ValueError for a name that a store does not keep."""
    if len(found) > MAX_NAME:
        raise ValueError(f"{key}: found {len(found)} characters, allowed: at most {MAX_NAME}")
    if not found.isprintable():
        raise ValueError(f"{key}: found {found!r}, allowed: a text of printable characters")


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

    def __post_init__(self) -> None:
        check_name("name", self.name)
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
