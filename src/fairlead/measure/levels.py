"""Levels: which priority a destination had when it got a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from fairlead.balance.objects import Ref
from fairlead.balance.policies.destinations import KIND
from fairlead.balance.state import AnyState
from fairlead.compiled.plan import Plan
from fairlead.measure.tally import Counted

MAX_CLUSTERS: Final = 6
"""Clusters whose levels are counted."""


class Level(NamedTuple):
    """The priority of a destination, from one version to another (inclusive)."""

    cluster: str
    destination: str
    since: int
    until: int
    owner: int
    priority: int


def levels(plan: Plan, counts: Iterable[Counted]) -> list[Level]:
    """All priorities of the clusters that have more than one, of those with the most messages."""
    of: dict[str, list[Level]] = {}
    for level in _every(plan):
        of.setdefault(level.cluster, []).append(level)
    several = [name for name, own in of.items() if len({level.priority for level in own}) > 1]
    messages = dict.fromkeys(several, 0)
    for each in counts:
        if each.cluster in messages:
            messages[each.cluster] += each.messages
    most = sorted(several, key=lambda name: -messages[name])[:MAX_CLUSTERS]
    return [level for name in most for level in of[name]]


def _every(plan: Plan) -> Iterable[Level]:
    found: dict[tuple[str, str, int], Level] = {}
    latest: dict[tuple[str, str], Level] = {}
    owners = {cluster.name: k for k, cluster in enumerate(plan.clusters)}
    for version, states in plan.versions():
        for cluster, state in states.items():
            for name, priority in _priorities(state):
                before = latest.get((cluster, name))
                kept = before is not None and before.priority == priority
                since = before.since if before and kept else version
                level = Level(cluster, name, since, version, owners[cluster], priority)
                found[cluster, name, since] = latest[cluster, name] = level
    return found.values()


def _priorities(state: AnyState) -> Iterable[tuple[str, int]]:
    kind = state.policy.kinds.get(KIND)
    if kind is None or "priority" not in kind.__struct_fields__:
        return
    for name in state.members:
        yield name, state.objects[Ref(KIND, name)].priority
