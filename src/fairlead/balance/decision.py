"""A decision: where one message goes, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from fairlead.balance.explanation import Explanation, explain, not_asked
from fairlead.balance.history import (
    Binding,
    ClusterVersion,
    DecisionPoint,
    LoggedRun,
    PrecomputedRun,
)
from fairlead.balance.message import AttributeValues
from fairlead.balance.objects import listed, repr_of
from fairlead.balance.rules.keyed import number_of
from fairlead.balance.state import AnyState
from fairlead.errors import MessageError


class Copy(NamedTuple):
    """One of the destinations of a message."""

    destination: str
    address: str | None


def who_completes(outcome: str, names: Sequence[str], by: object) -> str:
    """Who is done with a message that went to these; `by`: as whoever says so names it.

    Raises MessageError.
    """
    if not names:
        raise MessageError(f"completed: the decision's outcome is {outcome}")
    if by is None and len(names) > 1:
        raise MessageError(
            f"completed: the message went to {len(names)} destinations, "
            f"allowed: by = one of {listed(names)}"
        )
    if by is None:
        return names[0]
    if not isinstance(by, str) or by not in names:
        raise MessageError(f"completed: by: found {repr_of(by)}, allowed: {listed(names)}")
    return by


class DecisionContext(msgspec.Struct, frozen=True, gc=False):
    """What the decisions of a run have in common, so that each is quickly made."""

    outcome: str
    cluster: str
    values: AttributeValues = ()
    frame: ClusterVersion | None = None
    start: PrecomputedRun | LoggedRun | None = None
    offset: int = 0
    """A decision's place less its sequence."""
    binding: Binding | None = None
    key: str = ""
    also: tuple[int, ...] = ()
    run: str = ""


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Where one message goes.

    Where a message goes to several destinations, `copies` has them all, and `destination` is the
    one that was chosen (of a message for everyone: the first by name).
    """

    destination: str | None
    """None unless `outcome` is `routed`."""
    address: str | None
    """The destination's, if the cluster's file gives one."""
    sequence: int | None
    """The message's place in its stream, from 0; None for a control message, which has none."""
    context: DecisionContext
    """What it shares with others; all of it can be read here, too."""

    @property
    def outcome(self) -> str:
        """`routed`, `no-destination` or `control`, or a word of the policy's own.

        Those are `unknown-queue` and `put-inhibited` under ibm-mq, `refused` and `lost` under
        smartsockets.
        """
        return self.context.outcome

    @property
    def cluster(self) -> str:
        """The cluster's name; "" where the message names none and there are several."""
        return self.context.cluster

    @property
    def values(self) -> AttributeValues:
        """The routing attributes that the policy read, "" where one was not given.

        Where no cluster was asked: those that tell its streams apart.
        """
        return self.context.values

    @property
    def frame(self) -> ClusterVersion | None:
        """The cluster as it was, for `explain`; None where no cluster was asked."""
        return self.context.frame

    @property
    def start(self) -> PrecomputedRun | LoggedRun | None:
        """Its run of choices, for `explain`; None where the rule was not asked."""
        return self.context.start

    @property
    def place(self) -> int:
        """How many events of the run came before."""
        return (self.sequence or 0) + self.context.offset

    @property
    def binding(self) -> Binding | None:
        """What its group, or who opened, has to do with its destination; None: nothing."""
        return self.context.binding

    @property
    def key(self) -> str:
        """By which the destination was chosen, under a policy that asks for one."""
        return self.context.key

    @property
    def also(self) -> tuple[int, ...]:
        """The members of the cluster who get it as well."""
        return self.context.also

    @property
    def run(self) -> str:
        """The run of many messages with which a store published it; "": it came by itself."""
        return self.context.run

    @property
    def copies(self) -> tuple[Copy, ...]:
        """All destinations of the message, by name; none where it is not routed."""
        if self.destination is None:
            return ()
        copy = Copy(self.destination, self.address)
        if not self.also or self.frame is None:
            return (copy,)
        return copies(self.frame.cluster, self.also, copy)

    @property
    def moment(self) -> DecisionPoint | None:
        """The state of the cluster just before this choice; None where no cluster was asked."""
        if self.frame is None:
            return None
        key = number_of(self.key, self.sequence or 0)
        return DecisionPoint(self.frame, self.start, self.place, self.binding, key, self.key)

    @property
    def stream(self) -> str:
        """The stream's name: the cluster, and the queue or subject where the policy has one."""
        parts = (
            self.cluster,
            *(self.frame.cluster.stream(self.values) if self.frame else self.values),
        )
        return "/".join(part for part in parts if part)

    def explain(self) -> Explanation:
        """Each step with whom it dropped and why, the comparison that decided, the runner-up."""
        moment = self.moment
        if moment is None:
            explanation = not_asked(self.cluster, self.outcome)
        else:
            explanation = explain(moment, self.values, self.destination)
        if not self.run:
            return explanation
        came = (
            f"it came in bulk, with run {self.run!r}: what was changed while that was on its way "
            "left it alone"
        )
        return explanation._replace(notes=(*explanation.notes, came))


def copies(cluster: AnyState, also: Iterable[int], own: Copy | None = None) -> tuple[Copy, ...]:
    """These members and `own` as destinations, by name."""
    all_copies = {Copy(cluster.members[i], cluster.address(i)) for i in also}
    if own is not None:
        all_copies.add(own)
    return tuple(sorted(all_copies, key=lambda each: each.destination.encode()))
