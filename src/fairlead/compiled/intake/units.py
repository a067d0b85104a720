"""Numbers that would be moments of these years in another unit than seconds: none is a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairlead.balance.times import SINCE, THEN, UNITS, counts
from fairlead.errors import MessageError

MADE_BY: Final = " by "
WAYS: Final = (
    "timestamp_millis(bigint(ts))",
    "timestamp_micros(bigint(ts))",
    "timestamp_micros(bigint(ts) div 1000)",
)
"""How Spark makes timestamps of numbers in each of UNITS."""


class OtherUnit(NamedTuple):
    """A unit, and what is said of a number in it."""

    first: int
    """From this number on it would be one of these years."""
    last: int
    hint: str
    """What follows what was found."""


def _said(maker: str, ways: Sequence[str]) -> tuple[OtherUnit, ...]:
    return tuple(
        OtherUnit(THEN[0] * many, THEN[1] * many, f", {counts(unit)}; {maker}{MADE_BY}{way}")
        for (unit, many), way in zip(UNITS.items(), ways, strict=True)
    )


OTHER_UNITS: Final = _said("Spark SQL makes one of the number ts", WAYS)
ARROW_WAYS: Final = [
    f"table['time'].cast('int64').cast(pyarrow.timestamp({unit!r}))" for unit in ("ms", "us", "ns")
]
ARROW_UNITS: Final = _said("a timestamp is made of it", ARROW_WAYS)
"""The same, as whoever has a table in memory makes timestamps."""


def refuse_other_unit(reason: str | None, where: str) -> None:
    """Refuse a table without any message, if its first row was rejected for the unit of its time.

    `reason`: why that was rejected. Raises MessageError.
    """
    if reason and SINCE in reason:
        line = f"{where}: found no message; the first row says: {reason}"
        raise MessageError(line, f"{line}: --column 'time={line.rpartition(MADE_BY)[2]}'")
