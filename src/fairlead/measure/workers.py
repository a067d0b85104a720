"""Workers: how much the readers of each destination worked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.balance.times import MICROS
from fairlead.compiled.plan import Plan
from fairlead.measure.attempts import End
from fairlead.results.comparison import Worker


def workers_of(plan: Plan, ends: Iterable[End], first: int, last: int) -> list[Worker]:
    """How much each destination of one scenario worked."""
    worked: dict[tuple[str, str | None], list[End]] = {}
    for each in ends:
        worked.setdefault((each.cluster, each.destination), []).append(each)
    only = len(plan.clusters) == 1
    found = []
    for (cluster, destination), seconds in available(plan, first, last).items():
        # Where there is one cluster, a message need not name it.
        names = ("", cluster) if only else (cluster,)
        own = [each for name in names for each in worked.get((name, destination), [])]
        busy = sum(each.busy or 0 for each in own) / MICROS
        used = busy / seconds if seconds else None
        found.append(Worker(cluster, destination, sum(each.started for each in own), busy, used))
    return found


def available(plan: Plan, first: int, last: int) -> dict[tuple[str, str], float | None]:
    """By cluster and destination: seconds of its readers; None where several share readers."""
    found: dict[tuple[str, str], float | None] = {}
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
                        found[key] = None
                        continue
                    seconds = policy.objects[worker].readers * (end - start) / MICROS
                    found[key] = (found.get(key) or 0.0) + seconds
    return found
