"""Tally: what the finest counts of decisions come to, held against what came in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fairlead.balance.message import NO_DESTINATION
from fairlead.balance.state import AnyState
from fairlead.compiled.plan import Plan
from fairlead.errors import FairleadError
from fairlead.results.summary import Phase, Share

MASK: Final = (1 << 64) - 1
MAX_UNKNOWN: Final = 20
"""Names of clusters that are listed, of those that no file has."""

Place = tuple[str | None, str | None]
"""Subject and name of a destination inside its cluster."""


@dataclass(frozen=True)
class DecisionCount:
    """Decisions of one outcome on one destination, between two changes."""

    version: int
    cluster: str
    subject: str | None
    """What the destination belongs to, where destinations belong to subjects."""
    destination: str | None
    outcome: str
    messages: int
    xor: int
    sum: int
    """`xor` and `sum` of the rows' hashes, whatever their order."""


def rows(counts: Iterable[DecisionCount]) -> dict[int, int]:
    """Rows of decisions by version."""
    by_version: dict[int, int] = {}
    for count in counts:
        by_version[count.version] = by_version.get(count.version, 0) + count.messages
    return by_version


def digest(counts: Iterable[DecisionCount]) -> str:
    """One word for the decisions, the same however they were partitioned."""
    xor = total = 0
    for count in counts:
        xor ^= count.xor
        total += count.sum
    return f"{xor & MASK:016x}{total & MASK:016x}"


def outcomes(counts: Iterable[DecisionCount]) -> dict[str, int]:
    """Rows by outcome."""
    by_outcome: dict[str, int] = {}
    for count in sorted(counts, key=lambda each: each.outcome):
        by_outcome[count.outcome] = by_outcome.get(count.outcome, 0) + count.messages
    return by_outcome


def phases(plan: Plan, counts: Sequence[DecisionCount], messages: Mapping[int, int]) -> list[Phase]:
    """Shares between each two changes; `messages`: how many, by version."""
    got: dict[tuple[int, str], dict[Place, int]] = {}
    for count in counts:
        here = got.setdefault((count.version, count.cluster), {})
        place = (count.subject, count.destination)
        here[place] = here.get(place, 0) + count.messages
    all_phases = []
    times, written = plan.times, rows(counts)
    changed = {change.micros for change in plan.changes}
    for at, policies in plan.versions():
        shares = [
            share
            for name, policy in policies.items()
            for share in _shares(name, policy, got.get((at, name), {}))
        ]
        since = times[at - 1] if at else None
        follows = since is not None and since not in changed
        all_phases.append(Phase(since, follows, messages.get(at, 0), written.get(at, 0), shares))
    return all_phases


def _shares(cluster: str, policy: AnyState, counts: Mapping[Place, int]) -> list[Share]:
    weights, expected = policy.weights(), policy.expected()
    routed = sum(n for (_, destination), n in counts.items() if destination is not None)
    shares = []
    for member in policy.destinations():
        subject, name = policy.subject(member), policy.members[member]
        got = counts.get((subject, name), 0)
        weight = weights.get(name)
        if got or weight:
            part = got / routed if routed else 0.0
            shares.append(Share(cluster, subject, name, weight, expected.get(name), got, part))
    return shares


def check_nothing_lost(read: int, decided: int, rejected: int) -> None:
    """Every row that came in went out once. Raises FairleadError, which is a fault of ours."""
    if read != decided + rejected:
        raise FairleadError(
            f"rows in: {read}, but decided: {decided}, rejected: {rejected}; nothing was delivered"
        )


def unknown_clusters(counts: Iterable[DecisionCount], plan: Plan) -> dict[str, int]:
    """Messages by the name of a cluster that is in no file, where they are most; "" is no name."""
    known = {cluster.name for cluster in plan.clusters}
    messages = Counter[str]()
    for count in counts:
        if count.cluster not in known and count.outcome == NO_DESTINATION:
            messages[count.cluster] += count.messages
    return dict(sorted(messages.items(), key=lambda each: (-each[1], each[0]))[:MAX_UNKNOWN])
