"""Decisions over time: how many went where, with which outcome, to which level, in each bin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from fairlead.compiled.plan import Plan
from fairlead.measure.bins import Bins
from fairlead.measure.tally import DecisionCount
from fairlead.results.summary import OverTime, Series

MAX_SERIES: Final = 12

Destination = tuple[str, str | None, str]
"""Cluster, subject and name."""


class Binned(NamedTuple):
    """Rows of decisions of one bin that are alike in all of this."""

    bin: int
    slot: int | None
    """The place of the destination among the busiest, or their number; None: no destination."""
    owner: int | None
    """The number of the cluster, where its levels are counted."""
    level: int | None
    outcome: str
    messages: int


def busiest(counts: Iterable[DecisionCount], plan: Plan) -> list[Destination]:
    """The destinations with the most messages, in the order of the files."""
    totals: dict[Destination, int] = {}
    for count in counts:
        if count.destination is not None:
            place = (count.cluster, count.subject, count.destination)
            totals[place] = totals.get(place, 0) + count.messages
    listed: dict[Destination, int] = {}
    for cluster, policy in plan.states.items():
        for member in policy.destinations():
            place = (cluster, policy.subject(member), policy.members[member])
            listed[place] = len(listed)
    most = sorted(totals, key=lambda place: (-totals[place], listed[place]))[:MAX_SERIES]
    return sorted(most, key=lambda place: listed[place])


def over_time(
    rows: Sequence[Binned], bins: Bins, top: Sequence[Destination], plan: Plan
) -> OverTime:
    """The series of each bin; the destinations outside `top` are one."""
    slots = dict(enumerate([*top, (None, None, None)]))
    return OverTime(
        bins.start,
        bins.width,
        [Series(*slots[k], counts) for (k,), counts in _counts(rows, bins, "slot")],
        [Series(None, None, name, counts) for (name,), counts in _counts(rows, bins, "outcome")],
        [
            Series(plan.clusters[k].name, None, str(priority), counts)
            for (k, priority), counts in _counts(rows, bins, "owner", "level")
        ],
    )


def _counts(rows: Iterable[Binned], bins: Bins, *columns: str) -> list[tuple[Any, list[int]]]:
    """Counts in each bin by the values of these columns, in their order; None is none."""
    counts: dict[Any, list[int]] = {}
    for row in rows:
        values = tuple(getattr(row, name) for name in columns)
        if None not in values:
            counts.setdefault(values, [0] * bins.number)[row.bin] += row.messages
    return sorted(counts.items())
