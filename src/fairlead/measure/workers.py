"""Workers: how much the readers of each destination worked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.measure.attempts import End
from fairlead.results.comparison import WorkerResult


def workers_of(plan: Plan, ends: Iterable[End], first: int, last: int) -> list[WorkerResult]:
    """How much each destination of one scenario worked."""
    worked: dict[tuple[str, str | None], list[End]] = {}
    for end in ends:
        worked.setdefault((end.cluster, end.destination), []).append(end)
    only = len(plan.clusters) == 1
    workers = []
    for (cluster, destination), seconds in available(plan, first, last).items():
        # Where there is one cluster, a message need not name it.
        names = ("", cluster) if only else (cluster,)
        its_ends = [end for name in names for end in worked.get((name, destination), [])]
        busy = sum(end.busy or 0 for end in its_ends) / MICROS
        used = busy / seconds if seconds else None
        workers.append(
            WorkerResult(cluster, destination, sum(end.started for end in its_ends), busy, used)
        )
    return workers


def available(plan: Plan, first: int, last: int) -> dict[tuple[str, str], float | None]:
    """By cluster and destination: seconds of its readers; None where several share readers."""
    totals: dict[tuple[str, str], float | None] = {}
    times = [first, *(min(max(time, first), last) for time in plan.times), last]
    for at, policies in plan.versions():
        start, end = (first if at == 0 else times[at]), times[at + 1]
        for cluster, policy in policies.items():
            whom: dict[Any, set[str]] = {}
            for member, name in enumerate(policy.members):
                whom.setdefault(policy.queue_owner(member), set()).add(name)
            for worker, names in whom.items():
                for name in names:
                    key = (cluster, name)
                    if len(names) > 1:
                        totals[key] = None
                        continue
                    seconds = policy.objects[worker].readers * (end - start) / MICROS
                    totals[key] = (totals.get(key) or 0.0) + seconds
    return totals
