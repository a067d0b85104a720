"""Over time: how many waited, how long, and how much readers worked, in bins of a round width."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.measure.bins import Bins
from fairlead.measure.histograms import Bars, merged, quantile
from fairlead.measure.measured import WHOLE, Moves, Slices
from fairlead.results.comparison import QueueLength, Use, WaitsOverTime


def there(bins: Bins, unit: int, moves: Moves) -> list[float]:
    """How many were there, the mean of each bin. `unit`: how long the stretches of moves are."""
    more, after = [0] * (bins.number + 1), [0] * (bins.number + 1)
    for stretch, came, late in zip(moves.stretch, moves.more, moves.after, strict=True):
        place, begins = divmod(stretch * unit - bins.start, bins.width)
        more[place] += came
        after[place] += came * begins + late
    means = [
        # Whoever comes inside a bin is there for the part of it that is left.
        (n * bins.width - late) / bins.width
        for n, late in zip(accumulate(more), after, strict=True)
    ]
    return means[:-1]


def queue(bins: Bins, unit: int, moves: Moves) -> QueueLength:
    """How many waited."""
    return QueueLength(bins.start, bins.width, there(bins, unit, moves))


def use(bins: Bins, unit: int, moves: Moves, plan: Plan, first: int, last: int) -> Use:
    """Which part of their time all readers worked, from the first time to the last."""
    worked = there(bins, unit, moves)
    available = _available(plan, first, last)
    edges = [min(max(bins.start + k * bins.width, first), last) for k in range(bins.number + 1)]
    parts = []
    for busy, (start, stop) in zip(worked, pairwise(edges), strict=True):
        time = _between(available, start, stop)
        parts.append(busy * bins.width / time if time else None)
    return Use(bins.start, bins.width, parts)


def _available(plan: Plan, first: int, last: int) -> list[tuple[int, int, int]]:
    """From when on how many readers there are, and the sum of their time before that."""
    steps: list[tuple[int, int, int]] = []
    for version, policies in plan.versions():
        since = first if version == 0 else min(max(plan.times[version - 1], first), last)
        readers = 0
        for policy in policies.values():
            every = {policy.queue_owner(member) for member in range(len(policy.members))}
            readers += sum(policy.objects[worker].readers for worker in every)
        before = steps[-1] if steps else (first, 0, 0)
        steps.append((since, readers, before[2] + before[1] * (since - before[0])))
    return steps


def _between(available: Sequence[tuple[int, int, int]], start: int, stop: int) -> int:
    times = [time for time, _, _ in available]

    def upto(time: int) -> int:
        since, readers, before = available[max(0, bisect_right(times, time) - 1)]
        return before + readers * (time - since)

    return upto(stop) - upto(start)


def waits_over_time(bins: Bins, unit: int, slices: Slices) -> WaitsOverTime:
    """How long the messages of each bin waited, by when they were sent."""
    stretch, bar, n, most = (
        np.frombuffer(column, WHOLE).astype(np.int64)
        for column in (slices.stretch, slices.bar, slices.n, slices.most)
    )
    nothing = np.zeros(len(n), np.int64)
    place = (stretch * unit - bins.start) // bins.width
    bars = merged(Bars(stretch, bar, n, nothing, nothing, most), place)
    messages = [0] * bins.number
    p50: list[float | None] = [None] * bins.number
    p99: list[float | None] = [None] * bins.number
    at = bars.name[bars.firsts].tolist()
    counts = np.add.reduceat(bars.n, bars.firsts).tolist() if at else []
    quantiles = (quantile(bars, part).tolist() for part in (0.5, 0.99))
    for where, many, half, late in zip(at, counts, *quantiles, strict=True):
        messages[where] = many
        p50[where], p99[where] = half / MICROS, late / MICROS
    return WaitsOverTime(bins.start, bins.width, messages, p50, p99)
