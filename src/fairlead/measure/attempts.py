"""Attempts: how it ended with the rows of a replay."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from fairlead.measure.tally import MASK


class End(NamedTuple):
    """Rows of one scenario, outcome and destination. Times in microseconds."""

    outcome: str
    cluster: str
    destination: str | None
    rows: int
    waiting: int
    redeliveries: int
    started: int
    busy: int | None
    last: int | None
    """When the last one was finished."""
    xor: int
    sum: int
    """`xor` and `sum` of the rows' hashes, whatever their order."""


def digest_of(ends: Iterable[End]) -> str:
    """One word for the rows, the same however they were partitioned."""
    xor = reduce(operator.xor, (end.xor for end in ends), 0)
    return f"{xor & MASK:016x}{sum(end.sum for end in ends) & MASK:016x}"
