"""A cluster's effective policy in words, as `fairlead check` and a report say it."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.balance.cluster import Cluster
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.composed import Composed, nearest


@dataclass(frozen=True)
class Listed:
    """A destination as the file has it; `weight` None where weights do not decide."""

    name: str
    address: str
    weight: int | None


@dataclass(frozen=True)
class InWords:
    """A cluster before anything has changed."""

    cluster: str
    policy: str
    about: str
    steps: list[str]
    """What is done with each message, in order."""
    note: str
    """Which preset a composed policy is nearest to; "" for a named one."""
    destinations: list[Listed]


def in_words(cluster: Cluster) -> InWords:
    """Say what a cluster's file means."""
    state = cluster.start()
    weights = state.weights()
    composed = isinstance(state, Composed) and type(state) not in POLICIES.values()
    return InWords(
        cluster.name,
        state.name,
        state.about,
        state.effective(),
        nearest(type(state)) if composed and isinstance(state, Composed) else "",
        [
            Listed(name, state.address(state.members.index(name)) or "", weights.get(name))
            for name in dict.fromkeys(state.members)
        ],
    )
