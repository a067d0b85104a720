"""Levels: which priority a destination had when it got a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from fairlead.balance.objects import Ref
from fairlead.balance.policies.destinations import KIND
from fairlead.balance.state import AnyState
from fairlead.compiled.plan import Plan
from fairlead.measure.tally import DecisionCount

MAX_CLUSTERS: Final = 6
"""Clusters whose levels are counted."""


class PriorityPeriod(NamedTuple):
    """The priority of a destination, from one version to another (inclusive)."""

    cluster: str
    destination: str
    since: int
    until: int
    owner: int
    priority: int


def levels(plan: Plan, counts: Iterable[DecisionCount]) -> list[PriorityPeriod]:
    """All priorities of the clusters that have more than one, of those with the most messages."""
    of: dict[str, list[PriorityPeriod]] = {}
    for level in _every(plan):
        of.setdefault(level.cluster, []).append(level)
    several = [
        name for name, its_levels in of.items() if len({level.priority for level in its_levels}) > 1
    ]
    messages = dict.fromkeys(several, 0)
    for count in counts:
        if count.cluster in messages:
            messages[count.cluster] += count.messages
    most = sorted(several, key=lambda name: -messages[name])[:MAX_CLUSTERS]
    return [level for name in most for level in of[name]]


def _every(plan: Plan) -> Iterable[PriorityPeriod]:
    all_levels: dict[tuple[str, str, int], PriorityPeriod] = {}
    latest: dict[tuple[str, str], PriorityPeriod] = {}
    owners = {cluster.name: k for k, cluster in enumerate(plan.clusters)}
    for version, states in plan.versions():
        for cluster, state in states.items():
            for name, priority in _priorities(state):
                before = latest.get((cluster, name))
                same = before is not None and before.priority == priority
                since = before.since if before and same else version
                level = PriorityPeriod(cluster, name, since, version, owners[cluster], priority)
                all_levels[cluster, name, since] = latest[cluster, name] = level
    return all_levels.values()


def _priorities(state: AnyState) -> Iterable[tuple[str, int]]:
    kind = state.policy.kinds.get(KIND)
    if kind is None or "priority" not in kind.__struct_fields__:
        return
    for name in state.members:
        yield name, state.objects[Ref(KIND, name)].priority
