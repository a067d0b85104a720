"""Scale: how much of the recorded traffic a scenario gets."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple, TypeVar

from fairlead.errors import MessageError

T = TypeVar("T")
GAPS: Final = 10
"""A copy comes later than the original by up to so many mean gaps between conversations."""
PERIOD_PARTS: Final = 10
"""And by at most one of so many parts of the whole period."""
LIKE_A_COPY: Final = "~[0-9]+$"


class Scale(NamedTuple):
    """How much of the recorded traffic there is: each message so many times, on average."""

    rate: Decimal = Decimal(1)
    seed: int = 0
    """Which of the messages are there once more."""


def by_scale(
    plans: Mapping[str, T], scaled: Mapping[str, Scale]
) -> list[tuple[Scale, dict[str, T]]]:
    """The plans that get the same traffic, together; the recorded traffic first, if any gets it."""
    plans_of: dict[Scale, dict[str, T]] = {}
    for name, plan in plans.items():
        plans_of.setdefault(scaled.get(name, Scale()), {})[name] = plan
    return sorted(plans_of.items(), key=lambda each: each[0] != Scale())


def latest_shift(period: int, clusters: int, conversations: int) -> int:
    """By how many microseconds a copy comes later at most.

    `period`: from the first message to the last. `clusters`, `conversations`: how many there are.
    """
    gaps = GAPS * period * clusters // max(1, conversations)
    return min(gaps, period // PERIOD_PARTS)


def no_place() -> MessageError:
    """Why a table that `position` orders cannot have copies."""
    line = (
        "messages: found the column 'position', in whose order copies have no place, allowed "
        "with a scale_rate above 1: without it"
    )
    return MessageError(line, f"{line}; --drop position orders by time")


def like_a_copy(name: str, value: object) -> MessageError:
    """Why a table with such an id or group cannot have copies."""
    return MessageError(
        f"messages: {name}: found {value!r}, which ends as a copy's does, allowed with a "
        "scale_rate above 1: any that does not end in ~ and a number"
    )
