"""Queues over time: how many messages waited, the mean of each bin."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from fairlead.measure.bins import Bins
from fairlead.results.comparison import Queue


class Move(NamedTuple):
    """Messages of a scenario that began to wait in a bin, less those that ended to."""

    scenario: int
    bin: int
    """One more than there are: at the very end."""
    more: int
    after: int
    """Microseconds from the bin's start until they began, less those until they ended."""


def queue(bins: Bins, moves: Iterable[Move]) -> Queue:
    """How many waited in each bin of one scenario."""
    more, after = [0] * (bins.number + 1), [0] * (bins.number + 1)
    for each in moves:
        more[each.bin], after[each.bin] = each.more, each.after
    waiting = [
        # Whoever comes inside a bin waits for the part of it that is left.
        (n * bins.width - late) / bins.width
        for n, late in zip(accumulate(more), after, strict=True)
    ]
    return Queue(bins.start, bins.width, waiting[:-1])
