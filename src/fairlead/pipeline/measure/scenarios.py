"""Scenarios: all that a report says of what a replay wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame

from fairlead.balance.message import RELEASED
from fairlead.compiled.plan import Plan
from fairlead.pipeline.measure.attempts import End, digest_of, ends_of, groups_of, started
from fairlead.pipeline.measure.queues import queues_of, workers_of
from fairlead.pipeline.measure.waits import ALL, KINDS, longest_of, waits_of
from fairlead.replay.words import AGAIN
from fairlead.results.comparison import Longest, Queue, Scenario, Waits, Worker

NOTHING: Final = Waits("", 0, 0.0, 0.0, 0.0, 0.0, 0.0)


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
    waits = waits_of(attempts)
    longest = longest_of(
        attempts, {k: own[0].max for (k, kind), own in waits.items() if kind == ALL}
    )
    groups = groups_of(written, fans_out=any(plan.fans_out for plan in plans))
    first, latest = period or (0, 0)
    lasts = {
        k: max((each.last for each in own if each.last is not None), default=latest)
        for k, own in ends.items()
    }
    last = max([latest, *lasts.values()])
    queues = queues_of(written, ends, first, last, dated=dated) if ends else {}
    return [
        _scenario(
            name,
            ends.get(k, []),
            {kind: waits.get((k, kind), []) for kind in (ALL, *KINDS)},
            workers_of(plan, ends.get(k, []), first, lasts.get(k, first)),
            queues.get(k),
            groups.get(k, (0, 0)),
            longest.get(k),
        )
        for k, (name, plan) in enumerate(zip(names, plans, strict=True))
    ]


def _scenario(
    name: str,
    ends: Sequence[End],
    waits: Mapping[str, list[Waits]],
    workers: list[Worker],
    queue: Queue | None,
    groups: tuple[int, int],
    longest: Longest | None,
) -> Scenario:
    outcomes: dict[str, int] = {}
    for each in sorted(ends, key=lambda each: each.outcome):
        outcomes[each.outcome] = outcomes.get(each.outcome, 0) + each.rows
    number, torn = groups
    return Scenario(
        name=name,
        messages=sum(n for outcome, n in outcomes.items() if outcome not in AGAIN),
        outcomes=outcomes,
        waiting=sum(each.waiting for each in ends),
        redeliveries=sum(each.redeliveries for each in ends),
        failovers=outcomes.get(RELEASED, 0),
        waits=next(iter(waits[ALL]), NOTHING),
        by_destination=waits["destination"],
        by_priority=waits["priority"],
        by_tenant=waits["tenant"],
        workers=workers,
        queue=queue,
        groups=number,
        groups_out_of_order=torn,
        digest=digest_of(ends),
        longest=longest,
    )
