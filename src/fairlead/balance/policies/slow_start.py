"""Options for those who come back.

From when on that counts (fail-back delay), and how fast they get their share (slow start).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fairlead.balance.follow_ups import LaterChange
from fairlead.balance.objects import FileTable
from fairlead.balance.rules.paced import WHOLE
from fairlead.balance.times import MICROS

STEPS: Final = 10
"""In how many steps of equal length a slow start goes."""
MINIMUM: Final = 10
"""Per cent."""
PACE: Final = "pace"
"""By how many per mille of its weight a destination counts."""
FAILBACK_DELAY: Final = "failback_delay"
EXACT: Final = Context(prec=50, rounding=ROUND_HALF_UP)
"""Powers are correct to so many digits on every machine."""
RANGES: Final = {
    "slow_start": (Decimal("0.001"), 1_000_000, "seconds", "there is none"),
    "slow_start_aggression": (Decimal("0.1"), 10, "a number", "it is 1"),
    FAILBACK_DELAY: (Decimal("0.001"), 1_000_000, "seconds", "there is none"),
}
"""The lowest and the highest that an option can be, what it is, and what holds without it."""


class Returning(FileTable, frozen=True, kw_only=True):
    """Options for those who come back, as far as a policy declares any."""

    def __post_init__(self) -> None:
        """Each within its range, and none that would be ignored. Raises ValueError."""
        settings = {name: getattr(self, name) for name in self.__struct_fields__}
        settings = {name: value for name, value in settings.items() if value is not UNSET}
        for name, (low, high, what, without) in RANGES.items():
            value = settings.get(name, low)
            if not (value.is_finite() and low <= value <= high and value == round(value, 3)):
                raise ValueError(
                    f"{name}: found {value}, allowed: {what} from {low} to {high} with at most 3 "
                    f"decimals; without it {without}"
                )
        for name in ("slow_start_aggression", "slow_start_min"):
            if name in settings and "slow_start" not in settings:
                raise ValueError(
                    f"{name}: found {settings[name]}, without slow_start it would be ignored; "
                    "allowed: with slow_start"
                )


class SlowStarting(Returning, frozen=True, kw_only=True):
    """Options of policies that weigh."""

    slow_start: Decimal | UnsetType = UNSET
    """Seconds after which one that has come has its whole weight."""
    slow_start_aggression: Decimal | UnsetType = UNSET
    """1 (the default): the weight grows evenly; more: faster at first; less: slower at first."""
    slow_start_min: Annotated[int, Meta(ge=1, le=99)] | UnsetType = UNSET
    """Per cent of the weight that it has at least."""


class SlowStart(NamedTuple):
    """How the weight of one that has come grows."""

    window: int
    """Microseconds."""
    paces: tuple[int, ...]
    """Per mille of the weight in each of the STEPS steps."""

    def steps(self) -> Iterator[tuple[int, int]]:
        """(Microseconds after its coming, per mille), wherever it changes; the first at 0."""
        before = None
        for k, pace in enumerate((*self.paces, WHOLE)):
            if pace != before:
                yield self.window * k // STEPS, pace
            before = pace

    def later(self, time: int) -> list[LaterChange]:
        """What follows for one that has come at this time."""
        return [LaterChange(time + after, PACE, pace) for after, pace in self.steps() if after]

    def __str__(self) -> str:
        parts = [f"{pace / 10:g} from {after / MICROS:g} s" for after, pace in self.steps()]
        return f"slow start beside others, in per cent of the weight: {', '.join(parts)}"


def slow_start(options: Any) -> SlowStart | None:  # noqa: ANN401 - a policy's own
    """How those start who come, if slowly."""
    window = getattr(options, "slow_start", UNSET)
    if window is UNSET:
        return None
    aggression = _or(options.slow_start_aggression, Decimal(1))
    least = _or(options.slow_start_min, MINIMUM) * WHOLE // 100
    grown = [per_mille(k, aggression) for k in range(STEPS)]
    return SlowStart(micros(window), tuple(max(least, share) for share in grown))


def per_mille(step: int, aggression: Decimal) -> int:
    """(step/STEPS)^(1/aggression) in per mille, halves up.

    >>> [per_mille(5, Decimal(a)) for a in ("1", "2", "0.5")]
    [500, 707, 250]
    """
    exponent = EXACT.divide(Decimal(1), aggression)
    part = EXACT.power(EXACT.divide(Decimal(step), Decimal(STEPS)), exponent)
    return int(EXACT.to_integral_value(EXACT.multiply(part, Decimal(WHOLE))))


FAILBACK: Final = (FAILBACK_DELAY, Decimal | UnsetType, UNSET)
"""The option `failback_delay`, in seconds, for `extended`."""


@cache
def extended(options: type[Returning], fields: tuple[tuple[str, Any, Any], ...]) -> type[Returning]:
    """The same options and these: name, type and default."""
    made: Any = msgspec.defstruct(
        options.__name__, fields, bases=(options,), frozen=True, kw_only=True
    )
    return cast(type[Returning], made)


def failback_delay(options: Any) -> int:  # noqa: ANN401 - a policy's own
    """How long one that is up again is still left out, in microseconds; 0: not at all."""
    return micros(_or(getattr(options, FAILBACK_DELAY, UNSET), Decimal(0)))


def micros(seconds: Decimal) -> int:
    """Whole microseconds."""
    return int(seconds * MICROS)


def _or(value: Any, default: Any) -> Any:  # noqa: ANN401 - of one type
    return default if value is UNSET else value
