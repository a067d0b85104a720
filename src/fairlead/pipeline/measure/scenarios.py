"""Scenarios: all that a report says of what a replay wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame

from fairlead.compiled.plan import Plan
from fairlead.measure.attempts import End
from fairlead.measure.scenarios import last_finishes, scenario
from fairlead.measure.waits import ALL, KINDS, PHASE, in_order, phase_times
from fairlead.measure.workers import workers_of
from fairlead.pipeline.measure.attempts import ends_of, groups_of, started
from fairlead.pipeline.measure.queues import queues_of
from fairlead.pipeline.measure.waits import longest_of, waits_of
from fairlead.results.comparison import Scenario


def compared(
    names: Iterable[str],
    written: DataFrame,
    plans: Sequence[Plan],
    period: tuple[int, int] | None,
    *,
    dated: bool,
) -> list[Scenario]:
    """What became of the messages, scenario by scenario."""
    ends: dict[int, list[End]] = {}
    for end in ends_of(written, dated=dated):
        ends.setdefault(end.scenario, []).append(end)
    attempts = started(written, dated=dated)
    waits = waits_of(attempts, [phase_times(plan) for plan in plans])
    longest = longest_of(
        attempts, {k: own[0].max for (k, kind), own in waits.items() if kind == ALL}
    )
    groups = groups_of(written, fans_out=any(plan.fans_out for plan in plans))
    first, latest = period or (0, 0)
    lasts = last_finishes(ends, latest)
    last = max([latest, *lasts.values()])
    queues = queues_of(written, ends, first, last, dated=dated) if ends else {}
    return [
        scenario(
            name,
            ends.get(k, []),
            {
                **{kind: waits.get((k, kind), []) for kind in (ALL, *KINDS)},
                PHASE: in_order(waits.get((k, PHASE), ()), phase_times(plan)),
            },
            workers_of(plan, ends.get(k, []), first, lasts.get(k, first)),
            queues.get(k),
            groups.get(k, (0, 0)),
            longest.get(k),
        )
        for k, (name, plan) in enumerate(zip(names, plans, strict=True))
    ]
