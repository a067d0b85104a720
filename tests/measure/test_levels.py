"""Which priorities a report shows: those of clusters that have more than one."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from fairlead import Change, Cluster
from fairlead.compiled.plan import Plan
from fairlead.measure.levels import MAX_CLUSTERS, levels


def cluster(name: str, *priorities: int) -> Cluster:
    rows = [{"name": f"{name}{k}", "priority": p} for k, p in enumerate(priorities)]
    return Cluster.of("priority-failover", name=name, destination=rows)


def counted(**messages: int) -> Iterable[Any]:
    return [SimpleNamespace(cluster=name, messages=many) for name, many in messages.items()]


def test_a_cluster_of_one_priority_is_left_out() -> None:
    plan = Plan([cluster("a", 1, 2), cluster("b", 1, 1)], [])
    found = levels(plan, counted(a=1, b=5))
    assert [(each.destination, each.priority) for each in found] == [("a0", 1), ("a1", 2)]


def test_a_priority_that_changes_is_two_levels_with_their_versions() -> None:
    plan = Plan(
        [cluster("a", 1, 2)], [Change("a1", "priority", 1, 5), Change("a0", "state", "down", 7)]
    )
    found = [(each.destination, each.priority, each.since, each.until) for each in levels(plan, [])]
    assert found == [("a0", 1, 0, 2), ("a1", 2, 0, 0), ("a1", 1, 1, 2)]


def test_those_with_the_most_messages_come_first_and_there_are_not_too_many() -> None:
    names = [f"c{k:03}" for k in range(MAX_CLUSTERS + 1)]
    plan = Plan([cluster(name, 1, 2) for name in names], [])
    found = levels(plan, counted(**{name: k for k, name in enumerate(names)}))
    shown = list(dict.fromkeys(each.cluster for each in found))
    assert shown == names[:0:-1]
