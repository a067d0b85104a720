"""Bins: equal stretches of time of a round width, so few that a chart can show them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import gcd
from typing import Final

MAX_BINS: Final = 150
SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * HOUR
LONG: Final = 28 * DAY
"""Longer widths are this one, doubled again and again."""
CLOSER: Final = 4
"""A part of the time is looked at closer if it is so many times shorter than the whole."""


def widths() -> Iterator[int]:
    """Round widths in microseconds, ascending, without end."""
    for power in range(6):
        yield from (factor * 10**power for factor in (1, 2, 5))
    for unit in (SECOND, 60 * SECOND):
        yield from (factor * unit for factor in (1, 2, 5, 10, 15, 30))
    yield from (factor * HOUR for factor in (1, 2, 3, 6, 12))
    yield from (factor * DAY for factor in (1, 2, 3, 7, 14))
    width = LONG
    while True:
        yield width
        width *= 2


@dataclass(frozen=True)
class Bins:
    """`number` stretches of `width` microseconds from `start` on, which is a multiple of it."""

    start: int
    width: int
    number: int

    @property
    def end(self) -> int:
        """Where the last one ends."""
        return self.start + self.width * self.number


def over(first: int, last: int) -> Bins:
    """The narrowest bins from the first time to the last.

    >>> over(0, 86_399_000_000)
    Bins(start=0, width=600000000, number=144)
    """
    for width in widths():
        number = last // width - first // width + 1
        if number <= MAX_BINS:
            return Bins(first // width * width, width, number)
    raise AssertionError("widths have no end")


def common(first: int, last: int) -> int:
    """A width of which every width is a multiple that bins over this time, or a longer one, have.

    So what is counted in stretches of it can be put together, whenever the time ends at last.

    >>> common(0, 86_399_000_000) // SECOND
    300
    """
    least = over(first, last).width
    some = takewhile(lambda width: width < LONG, widths())
    return gcd(max(least, LONG), *(width for width in some if width >= least))


def around(changes: Sequence[int], whole: Bins) -> Bins | None:
    """Narrower bins for the time around the changes; None where that is most of the whole."""
    inside = [time for time in changes if whole.start <= time < whole.end]
    if not inside:
        return None
    margin = max((max(inside) - min(inside)) // 2, whole.width)
    first = max(whole.start, min(inside) - margin)
    last = min(whole.end - 1, max(inside) + margin)
    if (last - first) * CLOSER > whole.end - whole.start:
        return None
    return over(first, last)
