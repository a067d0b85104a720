"""g: what a message costs under every policy, against msmq's: live, and on Spark."""

from collections import deque
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks import data
from benchmarks.jobs import Jobs
from benchmarks.live import nanoseconds
from benchmarks.timing import Line, medians
from fairlead import Balancer, Cluster
from fairlead.balance.policies import POLICIES

BASE = "msmq"
QUEUE, SUBJECT, MODE = "ORDERS", "/orders", "round-robin"
WEIGHING = ("msmq", "weighted", "rendezvous", "priority-failover")
GROUPS = [{"group": str(k)} for k in range(1_000)]
MESSAGES: Mapping[str, list[dict[str, str]]] = {
    "ibm-mq": [{"queue": QUEUE}],
    "smartsockets": [{"subject": SUBJECT, "mode": MODE}],
    "rendezvous": GROUPS,
}
"""What a live message says where the policy needs it to say anything."""
PENDING = 8
"""Live, so many messages of fewest-pending are under way."""
ROUNDS = 5
"""Live, all policies in turn so often: a choice is short, and the machine never quite idle."""
PART_OF_ROWS = 5
NARROW = {
    "queue": f"'{QUEUE}'",
    "subject": f"'{SUBJECT}'",
    "mode": f"'{MODE}'",
    "service_time": "size / 1000000",
}
"""The same table for every policy; a message each millisecond keeps five of eight at work."""


def cluster(policy: str) -> Cluster:
    """Eight destinations under this policy."""
    if policy == "ibm-mq":
        return Cluster.of(policy, **_queue_managers())
    names = [{"name": f"D{k}"} for k in range(len(data.WEIGHTS))]
    if policy == "smartsockets":
        return Cluster.of(policy, subscriber=[{**name, "subject": SUBJECT} for name in names])
    if policy not in WEIGHING:
        return Cluster.of(policy, destination=names)
    weighted = [
        {**name, "weight": weight} for name, weight in zip(names, data.WEIGHTS, strict=True)
    ]
    return Cluster.of(policy, destination=weighted)


def _queue_managers() -> dict[str, Any]:
    names = [f"QM{k}" for k in range(len(data.WEIGHTS))]
    return {
        "queue_manager": {"name": "HUB", "clusters": ["C"]},
        "remote": [{"name": name} for name in names],
        "channel": [
            {"name": f"TO.{name}", "queue_manager": name, "weight": weight}
            for name, weight in zip(names, data.WEIGHTS, strict=True)
        ],
        "queue": [{"name": QUEUE, "queue_manager": name, "bind": "not-fixed"} for name in names],
    }


def part_g(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """A message under each policy, in messages under msmq."""
    return live() + on_spark(Jobs(spark, folder), folder, rows // PART_OF_ROWS, runs)


def live() -> list[Line]:
    """Nanoseconds of `choose`, and of `completed` where the policy lives by it."""
    choosers = {policy: _chooser(policy) for policy in POLICIES}
    found: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for _ in range(ROUNDS):
        for policy, choose in choosers.items():
            found[policy].append(nanoseconds(choose, 20_000))
    cost = {policy: min(each) for policy, each in found.items()}
    for policy, each in cost.items():
        print(f"    choose, {policy}: {each:.0f} ns", flush=True)
    return [
        Line("g", f"choose, {policy}", BASE, cost[policy] / cost[BASE], "")
        for policy in POLICIES
        if policy != BASE
    ]


def _chooser(policy: str) -> Callable[[], object]:
    balancer = Balancer(cluster(policy))
    given = MESSAGES.get(policy, [])
    assert balancer.choose(*given[:1]).outcome == "routed"
    if policy == "fewest-pending":
        pending = deque(balancer.choose() for _ in range(PENDING))

        def choose_and_complete() -> None:
            pending.append(balancer.choose())
            balancer.completed(pending.popleft())

        return choose_and_complete
    if not given:
        return balancer.choose
    messages = cycle(given)
    return lambda: balancer.choose(next(messages))


def on_spark(jobs: Jobs, folder: Path, rows: int, runs: int) -> list[Line]:
    """`dispatch` of the same narrow table."""
    source = data.messages(folder, rows)

    def ours(policy: str) -> Callable[[], None]:
        chosen = cluster(policy)
        copies = len(data.WEIGHTS) if policy == "broadcast" else 1

        def work() -> None:
            drop = ("payload", "size")
            found = jobs.dispatch(source, chosen, None, NARROW, trust_ids=True, drop=drop)
            assert (found.read, found.outcomes) == (rows, {"routed": rows * copies})

        return work

    found = medians({policy: ours(policy) for policy in POLICIES}, runs)
    notes = {"broadcast": f"{len(data.WEIGHTS)} rows out for one in"}
    return [
        Line(
            "g",
            f"dispatch, {policy}",
            BASE,
            found[policy] / found[BASE],
            "",
            notes.get(policy, ""),
        )
        for policy in POLICIES
        if policy != BASE
    ]
