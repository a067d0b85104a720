"""A logarithmic axis of waits, with a place for none at all and ticks as people tell time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import altair as alt

SECOND, MINUTE, HOUR, DAY = 1.0, 60.0, 3_600.0, 86_400.0
COARSE: Final = (
    *(10.0**power for power in range(-6, 2)),
    *(MINUTE, 10 * MINUTE, HOUR),
    *(DAY * 10**power for power in range(5)),
)
FINE: Final = (
    *(step * 10.0**power for power in range(-6, 0) for step in (1, 2, 5)),
    *(step * unit for unit in (SECOND, MINUTE) for step in (1, 2, 5, 10, 20, 30)),
    *(step * HOUR for step in (1, 2, 6, 12)),
    *chain.from_iterable((DAY * n, 2 * DAY * n, 5 * DAY * n) for n in (1, 10, 100, 1_000)),
)
FEWEST_TICKS: Final = 4
NARROWEST: Final = 10
"""The last wait of an axis is at least so many times its first."""
MARGIN: Final = 1.2


@dataclass(frozen=True)
class WaitAxis:
    """Where waits stand; `nothing` is the place of a wait of 0 seconds."""

    nothing: float
    domain: tuple[float, float]
    ticks: Sequence[float]
    zeros: bool

    def place(self, seconds: float) -> float:
        """Where a wait stands; a logarithm has no place for 0."""
        return max(seconds, self.nothing)

    @property
    def scale(self) -> alt.Scale:
        """From the shortest wait to the longest."""
        import altair as alt

        return alt.Scale(type="log", domain=list(self.domain), nice=False)

    @property
    def axis(self) -> alt.Axis:
        """Its ticks and what is written at them."""
        import altair as alt

        return alt.Axis(
            title=None,
            values=list(self.ticks),
            labelExpr=self.words("datum.value", ","),
            labelFlush=True,
            labelOverlap="greedy",
        )

    def words(self, value: str, digits: str) -> str:
        """An expression that spells a value, which another one gives, with digits in a format."""
        units = (
            (1e-3, 1e-6, "µs"),
            (SECOND, 1e-3, "ms"),
            (MINUTE, SECOND, "s"),
            (HOUR, MINUTE, "min"),
            (DAY, HOUR, "h"),
        )

        def number(unit: float, name: str) -> str:
            expression = f"{value} / {unit!r}"
            expression = f"round({expression})" if digits == "," else expression
            return f"format({expression}, '{digits}') + ' {name}'"

        label = number(DAY, "d")
        for below, unit, name in reversed(units):
            # A tick comes back from its logarithm, not quite the same.
            label = f"{value} < {below * 0.999!r} ? {number(unit, name)} : {label}"
        if self.zeros:
            label = f"{value} < {self.nothing * 1.01!r} ? '0' : {label}"
        return label


def wait_axis(seconds: Sequence[float]) -> WaitAxis:
    """The axis on which all these waits stand."""
    some = [wait for wait in seconds if wait > 0]
    zeros = len(some) < len(seconds)
    last = max(some, default=SECOND)
    first = min(min(some, default=SECOND), last / NARROWEST)
    nothing = first / 3
    low = nothing if zeros else first
    domain = (low / MARGIN, last * MARGIN)
    ticks = _inside(COARSE, first, domain[1])
    if len(ticks) < FEWEST_TICKS:
        ticks = _inside(FINE, first, domain[1])
    return WaitAxis(nothing, domain, [*([nothing] if zeros else []), *ticks], zeros)


def _inside(ticks: Sequence[float], first: float, last: float) -> list[float]:
    return [tick for tick in ticks if first * 0.999 <= tick <= last]
