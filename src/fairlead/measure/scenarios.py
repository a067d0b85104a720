"""Scenarios: all that a report says of them, from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from fairlead.balance.message import RELEASED
from fairlead.compiled.plan import Plan
from fairlead.measure.attempts import digest_of
from fairlead.measure.bins import Bins, over
from fairlead.measure.measured import Measured
from fairlead.measure.meter import What
from fairlead.measure.timeline import queue, use, waits_over_time
from fairlead.measure.workers import workers_of
from fairlead.replay.words import AGAIN
from fairlead.results.comparison import Longest, ScenarioResult, Waits

NOTHING: Final = Waits("", 0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Replayed(NamedTuple):
    """One scenario."""

    name: str
    plan: Plan
    measured: Measured
    longest: Longest | None
    """None: no message was started."""


def compared(
    every: Sequence[Replayed], period: tuple[int, int] | None, what: What
) -> list[ScenarioResult]:
    """What became of the messages, scenario by scenario.

    `period`: when the first message was sent, and the last one (microseconds).
    """
    first, latest = period or (0, 0)
    lasts = [_last(scenario.measured, latest) for scenario in every]
    bins = over(first, max([latest, *lasts]))
    return [
        _scenario(scenario, bins, what, first, last)
        for scenario, last in zip(every, lasts, strict=True)
    ]


def _last(measured: Measured, latest: int) -> int:
    """When the last attempt was finished; `latest` where none was."""
    return max((end.last for end in measured.ends if end.last is not None), default=latest)


def _scenario(of: Replayed, bins: Bins, what: What, first: int, last: int) -> ScenarioResult:
    measured, ends, unit = of.measured, of.measured.ends, what.unit
    over_time = bool(ends) and what.in_full
    windows = [window.name for window in what.windows]
    outcomes: dict[str, int] = {}
    for end in sorted(ends, key=lambda each: each.outcome):
        outcomes[end.outcome] = outcomes.get(end.outcome, 0) + end.rows
    inside = zip(windows, measured.by_window or [None] * len(windows), strict=True)
    return ScenarioResult(
        name=of.name,
        messages=sum(n for outcome, n in outcomes.items() if outcome not in AGAIN),
        outcomes=outcomes,
        waiting=sum(end.waiting for end in ends),
        redeliveries=sum(end.redeliveries for end in ends),
        failovers=outcomes.get(RELEASED, 0),
        waits=measured.waits or NOTHING,
        by_destination=measured.by_destination,
        by_priority=measured.by_priority,
        by_tenant=measured.by_tenant,
        by_phase=measured.by_phase,
        by_window=[replace(waits or NOTHING, name=name) for name, waits in inside],
        workers=workers_of(of.plan, ends, first, last if ends else first),
        queue=queue(bins, unit, measured.queue) if over_time else None,
        waits_over_time=waits_over_time(bins, unit, measured.slices) if over_time else None,
        use=use(bins, unit, measured.work, of.plan, first, last) if over_time else None,
        groups=measured.groups,
        groups_out_of_order=measured.torn,
        digest=digest_of(ends) if what.in_full else None,
        longest=of.longest,
    )
