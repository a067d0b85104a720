"""Sweeps: the values that an attribute takes one after the other, counted before they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from msgspec import UNSET

from fairlead.balance.objects import shown
from fairlead.config.scenario_file import ScenarioFile, Sweep, number
from fairlead.errors import ConfigError

DECIMALS: Final = 9
UNIT: Final = 10**DECIMALS
NUMBERS: Final = f"a number below 10^18 with at most {DECIMALS} decimals"


@dataclass(frozen=True, slots=True)
class ListedValues:
    """Values that stand in the file."""

    values: Sequence[object]

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class NumberRange:
    """From one number to another, all in whole units of 10^-9, so that nothing is rounded."""

    first: int
    last: int
    step: int
    integers: bool
    """Whether the file says integers."""

    @property
    def number(self) -> int:
        """How many there are; may be more than any list can hold."""
        return (self.last - self.first) // self.step + 1

    @property
    def values(self) -> list[object]:
        """All of them; the last one only where a step ends there."""
        every = [self.first + k * self.step for k in range(self.number)]
        return [n // UNIT if self.integers else Decimal(n) / UNIT for n in every]


def swept(
    source: ScenarioFile, place: Sequence[str | int], sweep: Sweep
) -> ListedValues | NumberRange:
    """The values of one sweep. Raises ConfigError naming the key of the scenario file."""
    bounds = {"from": sweep.from_, "to": sweep.to, "step": sweep.step}
    keys = [key for key, value in bounds.items() if value is not UNSET]
    if sweep.values is UNSET:
        return _number_range(source, place, bounds)
    if keys:
        raise ConfigError(
            f"{source.where(*place)}: found values and {' and '.join(keys)}, "
            "allowed: values, or from, to and step"
        )
    if not sweep.values:
        raise ConfigError(
            f"{source.where(*place, 'values')}: found an empty list, allowed: at least one value"
        )
    return ListedValues(sweep.values)


def _number_range(
    source: ScenarioFile, place: Sequence[str | int], bounds: dict[str, object]
) -> NumberRange:
    if bounds["from"] is UNSET or bounds["to"] is UNSET:
        missing = "to" if bounds["from"] is not UNSET else "from"
        raise ConfigError(
            f"{source.where(*place)}: found no {missing}, allowed: from, to and step, or values"
        )
    if bounds["step"] is UNSET:
        bounds["step"] = 1
    units = []
    for key, value in bounds.items():
        bound = number(value, DECIMALS)
        if bound is None:
            raise ConfigError(
                f"{source.where(*place, key)}: found {shown(value)}, allowed: {NUMBERS}"
            )
        units.append(int(bound * UNIT))
    first, last, step = units
    if step == 0 or (last - first) * step < 0:
        sign = "any but 0" if first == last else "above 0" if last > first else "below 0"
        raise ConfigError(
            f"{source.where(*place, 'step')}: found {bounds['step']}, allowed from "
            f"{bounds['from']} to {bounds['to']}: {sign}"
        )
    return NumberRange(first, last, step, all(isinstance(value, int) for value in bounds.values()))


def without_repetition(
    source: ScenarioFile, place: Sequence[str | int], values: Sequence[object]
) -> None:
    """Refuse a value that stands there twice: it would be the same scenario twice."""
    for k, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:k]):
            raise ConfigError(
                f"{source.where(*place, 'values')}: found {shown(value)} twice, allowed: once"
            )
