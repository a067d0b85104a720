"""Waits: histograms of how long messages waited, and the percentiles that they give.

Waits that share their first EXACT bits are counted together, with their number, their sum and the
longest of them. So histograms of parts can be put together, and a percentile is a wait that a
message had, at most 0.2 % above the exact one. Over time LESS bits fewer count: 3.2 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from fairlead.compiled.plan import Plan
from fairlead.results.comparison import Waits

EXACT: Final = 10
"""Waits are told apart by so many leading bits."""
LESS: Final = 4
HALF: Final = 32
"""Of the bits of a wait."""
MAX_PHASES: Final = 50
MAX_NAMES: Final = 1_000
QUANTILES: Final = (0.5, 0.9, 0.99)


def phase_times(plan: Plan) -> list[int]:
    """When a phase begins, but for the first, in microseconds; nothing where they are too many."""
    times = sorted({change.micros for change in plan.changes})
    return times if len(times) < MAX_PHASES else []


def in_order(phases: Iterable[Waits], times: Sequence[int]) -> list[Waits]:
    """The waits of phases, which are called by their numbers, called by when they begin."""
    if not times:
        return []
    begin = ["", *map(str, times)]
    by_number = sorted(phases, key=lambda each: int(each.name))
    return [replace(phase, name=begin[int(phase.name)]) for phase in by_number]
