"""Histograms of waits as columns, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairlead.balance.times import MICROS
from fairlead.compiled.kernels import Int64s
from fairlead.measure.waits import HALF, MAX_NAMES, QUANTILES
from fairlead.results.comparison import Waits


class Bars(NamedTuple):
    """A row for each bar, ascending by name and then by wait. Waits in microseconds."""

    name: Int64s
    """The number of the name."""
    bar: Int64s
    n: Int64s
    high: Int64s
    low: Int64s
    """Both halves of the sum of waits: it may need more than 64 bits."""
    most: Int64s

    @property
    def firsts(self) -> Int64s:
        """Where each name begins."""
        return np.flatnonzero(np.append(True, np.diff(self.name) != 0)[: len(self.name)])


def merged(bars: Bars, names: Int64s) -> Bars:
    """The same under other names, several of which may be one."""
    order = np.lexsort((bars.bar, names))
    name, bar = names[order], bars.bar[order]
    new = np.append(True, (np.diff(name) != 0) | (np.diff(bar) != 0))[: len(name)]
    at = np.flatnonzero(new)
    if not len(at):
        return bars
    n, high, low = (np.add.reduceat(column[order], at) for column in (bars.n, bars.high, bars.low))
    return Bars(name[at], bar[at], n, high, low, np.maximum.reduceat(bars.most[order], at))


def quantile(bars: Bars, part: float) -> Int64s:
    """By name: the longest wait of the bar in which the wait of this rank is."""
    firsts, upto = bars.firsts, np.cumsum(bars.n)
    before = np.append(0, upto)[firsts]
    every = np.add.reduceat(bars.n, firsts) if len(firsts) else firsts
    rank = np.ceil(every * part).astype(np.int64)
    return bars.most[np.searchsorted(upto, before + rank, "left")]


def waits(bars: Bars, called: Callable[[int], str]) -> list[Waits]:
    """The waits of each name, those with the most messages first."""
    firsts = bars.firsts
    if not len(firsts):
        return []
    n, high, low = (np.add.reduceat(column, firsts) for column in (bars.n, bars.high, bars.low))
    # In floating point, as they are told.
    columns: list[NDArray[np.float64]] = [quantile(bars, q) / MICROS for q in QUANTILES]
    columns.append(np.maximum.reduceat(bars.most, firsts) / MICROS)
    sums = zip(n.tolist(), high.tolist(), low.tolist(), strict=True)
    means = [float((a << HALF) + b) / many / MICROS for many, a, b in sums]
    figures = (column.tolist() for column in columns)
    by_name = [
        Waits(called(name), *row)
        for name, *row in zip(bars.name[firsts].tolist(), n.tolist(), means, *figures, strict=True)
    ]
    by_name.sort(key=lambda each: (-each.messages, each.name))
    return by_name[:MAX_NAMES]


def whole(bars: Bars) -> Waits | None:
    """The waits of all names together; None: there are none."""
    totals = waits(merged(bars, np.zeros(len(bars.name), np.int64)), lambda _: "")
    return totals[0] if totals else None
