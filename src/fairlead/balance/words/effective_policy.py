"""A cluster's effective policy in words, as `fairlead check` and a report say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairlead.balance.cluster import Cluster
from fairlead.balance.message import ROUTED
from fairlead.balance.objects import Order, listed
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.composed import ComposedPolicy, nearest
from fairlead.balance.state import AnyState
from fairlead.text import length


@dataclass(frozen=True)
class ListedDestination:
    """A destination as the file has it; `weight` and `share` None where weights do not decide."""

    name: str
    subject: str | None
    """None where destinations belong to none."""
    address: str
    weight: int | None
    share: float | None
    """Its part of the messages by weight."""
    condition: str
    """What it has that it need not have, in words; "" if nothing."""


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
    destinations: list[ListedDestination]


def order_in_words(order: Order) -> str:
    """How waiting work is ordered, on one line; "" where nothing was set.

    >>> order_in_words(Order(discipline="priority", weights={"kim": 3}))
    'the highest priority first (100 if none is given); tenants take turns: kim 3, any other 1'
    """
    if order == Order():
        return ""
    words = "first come, first served"
    if order.discipline == "priority":
        words = f"the highest priority first ({order.default_priority} if none is given)"
    if order.ageing:
        words += f", one more for each {length(float(order.ageing))} that it waits"
    if order.weights:
        shares = ", ".join(f"{name} {weight}" for name, weight in order.weights.items())
        words += f"; tenants take turns: {shares}, any other 1"
    return words


def in_words(cluster: Cluster) -> InWords:
    """Say what a cluster's file means."""
    state = cluster.start()
    weights, expected = state.weights(), state.expected()
    policy = state.policy
    named = POLICIES.get(policy.name) is policy
    return InWords(
        cluster.name,
        policy.name,
        policy.about,
        state.describe.effective(),
        nearest(policy) if isinstance(policy, ComposedPolicy) and not named else "",
        [_listed(state, member, weights, expected) for member in state.destinations()],
    )


def _listed(
    state: AnyState,
    member: int,
    weights: Mapping[str, int],
    expected: Mapping[str, float],
) -> ListedDestination:
    name = state.members[member]
    besides = ["weight"] if name in weights else []
    return ListedDestination(
        name,
        state.subject(member),
        state.address(member) or "",
        weights.get(name),
        expected.get(name),
        state.describe.condition(member, besides),
    )


def warnings(cluster: Cluster) -> list[str]:
    """What in a file is allowed, but hardly meant: nobody can be chosen, nothing can be started."""
    state = cluster.start()
    lines, chosen = [], set[int]()
    for called, values in state.describe.samples().items():
        eligible, steps = state.eliminate(values)
        chosen.update(eligible.members, eligible.recipients)
        if eligible.outcome != ROUTED:
            what = f"{called}: " if called else ""
            last = (
                steps[-1].name
                if len(steps) > 1
                else state.describe.no_candidates(state.key(values))
            )
            lines.append(
                f"{what}no destination can be chosen ({last}); until a change, messages are "
                f"{eligible.outcome}"
            )
    resting = [i for i in sorted(chosen) if state.objects[state.queue_owner(i)].readers == 0]
    names = dict.fromkeys(state.members[i] for i in resting)
    if names:
        where = (
            "all destinations that can be chosen" if len(resting) == len(chosen) else listed(names)
        )
        lines.append(f"readers is 0 at {where}: in a replay nothing is ever started there")
    return [*lines, *idle_readers(cluster)]


def idle_readers(cluster: Cluster) -> list[str]:
    """Readers that a file has, and that never get work: its destination is full before."""
    state, lines = cluster.start(), dict[str, None]()
    for i, name in enumerate(state.members):
        owner = state.objects[state.queue_owner(i)]
        most = getattr(owner, "capacity", 0)
        if 0 < most < owner.readers:
            lines[
                f"readers is {owner.readers} at {name}, and capacity is {most}: it never has more "
                f"than {most} at a time, so {owner.readers - most} of them never work"
            ] = None
    return [*lines]
