"""nanomsg's prioritised load balancing: in turn among the ready peers of the best priority.

Source: "Prioritised Load Balancing with nanomsg", and for the order inside a ring nanomsg's own
behaviour: every sending releases the peer, which comes back at the tail.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from fairlead.balance.change import ResolvedChange
from fairlead.balance.failures import FailureModel
from fairlead.balance.message import LOST, AttributeValues
from fairlead.balance.objects import Capacity, FileTable, Ref
from fairlead.balance.policies.destinations import (
    ABSENT,
    DOWN,
    DRAINING,
    KIND,
    Affinity,
    Destination,
    DestinationDescription,
    DestinationState,
    ListTables,
)
from fairlead.balance.policy import Policy
from fairlead.balance.rules import ready_ring
from fairlead.balance.rules.ready_ring import ReadyRing


class PeerEndpoint(Destination, frozen=True, kw_only=True):
    """An endpoint that messages can be sent to."""

    priority: Annotated[int, Meta(ge=1, le=16)] = 8
    state: Literal["up", "down"] = "up"
    capacity: Capacity = 0
    draining: bool = False


class NanomsgOptions(FileTable, frozen=True, kw_only=True):
    """Nothing of nanomsg's own."""

    affinity: Affinity = "none"


class NanomsgTables(ListTables, frozen=True, kw_only=True):
    """A cluster file with `policy = "nanomsg"`."""

    options: NanomsgOptions = NanomsgOptions()
    destination: list[PeerEndpoint] = []


class NanomsgState(DestinationState[NanomsgTables]):
    """The head of the best ring that has a ready peer."""

    def __init__(self, policy: Policy, tables: NanomsgTables) -> None:
        """The peers that are up stand in their rings in the order of the file."""
        super().__init__(policy, tables)
        peers = self.listed
        self.rule = ReadyRing(
            [peer.priority for peer in peers],
            [peer.capacity for peer in peers],
            [peer.speed_in_thousandths for peer in peers],
        )
        for i, peer in enumerate(peers):
            if self.passes(peer):
                ready_ring.connect(self.rule.state, i)

    def changed(self, ref: Ref, before: Any, after: Any) -> None:  # noqa: ANN401
        i = self.index[ref]
        state = self.rule.state
        if after.capacity != before.capacity:
            ready_ring.limit(state, i, after.capacity)
        state.speed[i] = after.speed_in_thousandths
        if self.passes(after) and not self.passes(before):
            ready_ring.connect(state, i)
        elif self.passes(before) and not self.passes(after):
            ready_ring.disconnect(state, i)

    def timed(self, effects: Iterable[ResolvedChange]) -> bool:
        limits = (peer.capacity for peer in self.objects.values())
        return any(limits) or any(e.attribute == "capacity" and e.value for e in effects)

    def refusal(self, attribute: str) -> str | None:
        if attribute == "priority":
            return (
                "an endpoint keeps the priority it was added with; one with another priority needs "
                "another name"
            )
        return super().refusal(attribute)


class NanomsgFailures(FailureModel[NanomsgState]):
    """What a peer held is lost with it."""

    def after_failure(self, ref: Ref, values: AttributeValues, *, shared: bool) -> str:
        return LOST


class NanomsgDescription(DestinationDescription[NanomsgState]):
    """In nanomsg's words."""

    def effective(self) -> list[str]:
        rule = (
            "choose ready-ring: the best priority that has a ready peer; there the one that has "
            "been ready longest, which then goes to the tail"
        )
        return [
            *self.eliminations(),
            rule,
            "a peer with a capacity is busy while it holds that many messages",
            *self.affine(),
        ]


NANOMSG: Final = Policy(
    name="nanomsg",
    about="priorities 1 to 16: in turn among the ready peers of the best priority",
    choose_when="one site is preferred and another takes over only when no peer there is ready",
    choose_when_not="peers of one priority should get unequal shares",
    tables=NanomsgTables,
    kinds={KIND: PeerEndpoint},
    eliminations=(ABSENT, DOWN, DRAINING),
    counts=False,
    waits=True,
    state=NanomsgState,
    failures=NanomsgFailures,
    description=NanomsgDescription,
)
