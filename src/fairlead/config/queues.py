"""The file that declares the queues of a store: `[[queue]]`."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from fairlead.balance.objects import DEFAULT_PRIORITY, Name, Order, Priority, Table
from fairlead.balance.refusal import read
from fairlead.config.clusters import parsed
from fairlead.errors import ConfigError


class Queue(Table, frozen=True, kw_only=True):
    """A `[[queue]]`."""

    name: Name
    discipline: Literal["fifo", "priority"] = "priority"
    default_priority: Priority = DEFAULT_PRIORITY
    ageing: Decimal = Decimal(0)
    weights: dict[Name, Annotated[int, Meta(ge=1, le=1_000_000)]] = {}
    max_waiting: Annotated[int, Meta(ge=1)] | None = None
    """Messages; without it: any number."""
    max_failures: Annotated[int, Meta(ge=0)] = 5
    """Failures of a group in a row, after which what was given is a dead letter; 0: never."""

    def __post_init__(self) -> None:
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


class File(Table, frozen=True, kw_only=True):
    """All of it."""

    queue: Annotated[list[Queue], Meta(min_length=1)]

    def __post_init__(self) -> None:
        names = [each.name for each in self.queue]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"queue: found {name!r} twice, allowed: each name once")


def load_queues(path: str | Path) -> list[Queue]:
    """The queues that a file declares. Raises ConfigError, which names the file and the place."""
    _, plain = parsed(path)
    try:
        return read(plain, File).queue
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", error.place) from None
