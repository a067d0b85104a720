"""Measure: count what was written, by reading it again, and hold it against what came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from fairlead.balance.message import ROUTED
from fairlead.balance.policy import Policy
from fairlead.compiled.router import Plan
from fairlead.errors import FairleadError


def digest_of() -> list[Column]:
    """Aggregates that tell two tables of decisions apart, whatever the order of their rows."""
    words = [F.coalesce(F.col(name).cast("string"), F.lit("\0")) for name in DIGESTED]
    one = F.xxhash64(*words)
    other = F.xxhash64(F.lit("fairlead"), *words)
    return [
        F.count(F.lit(1)).alias("rows"),
        F.coalesce(F.bit_xor(one), F.lit(0)).alias("one"),
        F.coalesce(F.bit_xor(other), F.lit(0)).alias("other"),
    ]


DIGESTED = ("id", "destination", "address", "outcome", "sequence")


def digest(found: Mapping[str, int]) -> str:
    """The aggregates of `digest_of` as one word."""
    mask = (1 << 64) - 1
    return f"{found['one'] & mask:016x}{found['other'] & mask:016x}"


@dataclass
class Share:
    """What one destination got while the cluster did not change."""

    cluster: str
    destination: str
    weight: int | None
    expected: float | None
    """Its part of the weights of those that could be chosen; None where weights do not decide."""
    messages: int = 0
    share: float = 0.0


@dataclass
class Phase:
    """A time between two changes."""

    since: int | None
    """Microseconds; None: from the beginning."""
    messages: int = 0
    shares: list[Share] = field(default_factory=list)


def phases(plan: Plan, counts: Sequence[tuple[int, str, str | None, int]]) -> list[Phase]:
    """Shares by phase, from counts of (version, cluster, destination or None, messages)."""
    policies = {cluster.name: cluster.start() for cluster in plan.clusters}
    found = []
    for at in range(len(plan.times) + 1):
        if at:
            for name, steps in plan.steps.items():
                for time, effects in steps:
                    if time == plan.times[at - 1]:
                        policies[name].apply(effects)
        phase = Phase(plan.times[at - 1] if at else None)
        for name, policy in policies.items():
            here = {
                destination: n
                for version, cluster, destination, n in counts
                if version == at and cluster == name
            }
            phase.messages += sum(here.values())
            phase.shares += _shares(name, policy, here)
        found.append(phase)
    return found


def _shares(
    cluster: str, policy: Policy[Any, Any, Any], counts: Mapping[str | None, int]
) -> list[Share]:
    weights = policy.weights()
    total = sum(weights.values())
    routed = sum(n for destination, n in counts.items() if destination is not None)
    shares = []
    for name in policy.members:
        got = counts.get(name, 0)
        weight = weights.get(name)
        if got or weight:
            expected = weight / total if weight is not None and total else None
            part = got / routed if routed else 0.0
            shares.append(Share(cluster, name, weight, expected, got, part))
    return shares


def check_nothing_lost(read: int, outcomes: Mapping[str, int], rejected: int) -> None:
    """Every row that came in went out once. Raises FairleadError, which is a fault of ours."""
    decided = sum(outcomes.values())
    if read != decided + rejected:
        raise FairleadError(
            f"rows in: {read}, but decided: {decided}, rejected: {rejected}; nothing was delivered"
        )


def routed(outcomes: Mapping[str, int]) -> int:
    """How many messages found a destination."""
    return outcomes.get(ROUTED, 0)
