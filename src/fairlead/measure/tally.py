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
class Counted:
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


def rows(counts: Iterable[Counted]) -> dict[int, int]:
    """Rows of decisions by version."""
    found: dict[int, int] = {}
    for each in counts:
        found[each.version] = found.get(each.version, 0) + each.messages
    return found


def digest(counts: Iterable[Counted]) -> str:
    """One word for the decisions, the same however they were partitioned."""
    xor = total = 0
    for each in counts:
        xor ^= each.xor
        total += each.sum
    return f"{xor & MASK:016x}{total & MASK:016x}"


def outcomes(counts: Iterable[Counted]) -> dict[str, int]:
    """Rows by outcome."""
    found: dict[str, int] = {}
    for each in sorted(counts, key=lambda each: each.outcome):
        found[each.outcome] = found.get(each.outcome, 0) + each.messages
    return found


def phases(plan: Plan, counts: Sequence[Counted], messages: Mapping[int, int]) -> list[Phase]:
    """Shares between each two changes; `messages`: how many, by version."""
    got: dict[tuple[int, str], dict[Place, int]] = {}
    for each in counts:
        here = got.setdefault((each.version, each.cluster), {})
        place = (each.subject, each.destination)
        here[place] = here.get(place, 0) + each.messages
    found = []
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
        found.append(Phase(since, follows, messages.get(at, 0), written.get(at, 0), shares))
    return found


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


def unknown_clusters(counts: Iterable[Counted], plan: Plan) -> dict[str, int]:
    """Messages by the name of a cluster that is in no file, where they are most; "" is no name."""
    known = {cluster.name for cluster in plan.clusters}
    found = Counter[str]()
    for each in counts:
        if each.cluster not in known and each.outcome == NO_DESTINATION:
            found[each.cluster] += each.messages
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0]))[:MAX_UNKNOWN])
