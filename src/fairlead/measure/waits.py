"""Waits: histograms of how long messages waited, and the percentiles that they give.

Waits that share their first EXACT bits are counted together, with their number, their sum and the
longest of them. So histograms of parts can be put together, and a percentile is a wait that a
message had, at most 0.2 % above the exact one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil
from typing import Final, NamedTuple

from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.results.comparison import Waits

EXACT: Final = 10
"""Waits are told apart by so many leading bits."""
MAX_BITS: Final = 63
HALF: Final = 32
"""Of the bits of a wait."""
ALL: Final = "all"
KINDS: Final = ("destination", "priority", "tenant")
PHASE: Final = "phase"
"""The time between two changes; a message is in the one in which it was sent."""
MAX_PHASES: Final = 50
MAX_NAMES: Final = 1_000
QUANTILES: Final = (0.5, 0.9, 0.99)
NEARLY: Final = 1 - 1e-9
"""Where one looks for the longest wait: whatever its seconds have lost of its microseconds."""


def phase_times(plan: Plan) -> list[int]:
    """When a phase begins, but for the first, in microseconds; nothing where they are too many."""
    times = sorted({change.micros for change in plan.changes})
    return times if len(times) < MAX_PHASES else []


def in_order(phases: Iterable[Waits], times: Sequence[int]) -> list[Waits]:
    """The waits of phases, which are called by their numbers, called by when they begin."""
    if not times:
        return []
    begin = ["", *map(str, times)]
    found = sorted(phases, key=lambda each: int(each.name))
    return [replace(each, name=begin[int(each.name)]) for each in found]


class Bar(NamedTuple):
    """Waits that share their leading bits, in microseconds."""

    n: int
    sum: int
    max: int


def waits(name: str, bars: Iterable[Bar]) -> Waits:
    """What a histogram, ascending and not empty, says of the waits."""
    every = list(bars)
    n = sum(bar.n for bar in every)
    mean = float(sum(bar.sum for bar in every)) / n / MICROS
    p50, p90, p99 = (_quantile(every, ceil(n * q)) / MICROS for q in QUANTILES)
    return Waits(name, n, mean, p50, p90, p99, max(bar.max for bar in every) / MICROS)


def _quantile(bars: list[Bar], rank: int) -> int:
    """The longest wait of the bar in which the wait of this rank is, from 1 on."""
    upto = 0
    for bar in bars:
        upto += bar.n
        if upto >= rank:
            return bar.max
    return bars[-1].max
