"""The choices of a cluster between two changes, and how any past moment is brought back.

Where all messages choose among the same members and the rule can skip steps, the choices are made
ahead, a run at a time, and a run that is a whole number of periods is simply used again:
a choice is then a look-up. Otherwise the rule is asked each time. Either way a past moment can be
brought back from the run's beginning, so that a decision can explain itself later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from fairlead.balance.elimination import Eligible, Step
from fairlead.balance.message import AttributeValues
from fairlead.balance.rules.keyed import PLACES
from fairlead.balance.rules.rule import Rule, ScheduledRule
from fairlead.balance.state import AnyState

LOOK_AHEAD: Final = 256
LONGEST_PERIOD: Final = 4_096
LOG: Final = 1_024
UNKNOWN: Final = -2


class ClusterVersion:
    """The cluster's objects at one version, shared by all moments of that version."""

    __slots__ = ("addresses", "cluster", "members", "names", "outcomes", "version")

    def __init__(self, cluster: AnyState) -> None:
        """Freeze the cluster as it is now."""
        self.cluster = cluster.frozen()
        self.version = cluster.version
        self.members = cluster.members
        every = range(len(cluster.members))
        # Both as lists: what makes decisions ahead looks up in a list twice as fast as in a tuple.
        self.names = list(cluster.members)
        self.addresses = [cluster.address(i) for i in every]
        self.outcomes = [cluster.outcome_of(i) for i in every] if cluster.policy.fans_out else None


class Binding(NamedTuple):
    """What a message's group, or who opened, has to do with its destination."""

    key: AttributeValues
    """How it is bound, inside which queue, and the group's or the opener's name."""
    follows: bool
    """Whether it goes where an earlier one went; else it is chosen for, and later ones follow."""
    before: int = -1
    """The member to which earlier ones went, where that one has dropped out; UNKNOWN: maybe one."""


class DecisionPoint(msgspec.Struct, frozen=True, gc=False):
    """The state of a cluster just before one choice."""

    frame: ClusterVersion
    start: PrecomputedRun | LoggedRun | None
    """The run that the choice belongs to; None where the rule was not asked."""
    place: int
    """How many events of the run came before."""
    binding: Binding | None = None
    key: int = PLACES
    """The number by which the message was chosen for, where the rule asks for one."""
    word: str = ""
    """The key that has this number; "" where the message has none."""

    @property
    def version(self) -> int:
        """The cluster's version."""
        return self.frame.version

    @property
    def members(self) -> Sequence[str]:
        """Destination names."""
        return self.frame.members

    def eliminate(self, values: AttributeValues) -> tuple[Eligible, list[Step]]:
        """The steps for a class of messages."""
        return self.frame.cluster.eliminate(values)

    def rule(self) -> Rule:
        """The rule as it stood."""
        if self.start is None:
            return self.frame.cluster.rule.for_key(self.key)
        return self.start.rule_at(self.place)


class LoggedRun:
    """A run in which the rule is asked for each choice; events are kept to go back."""

    __slots__ = ("base", "log", "rule")

    def __init__(self, rule: Rule) -> None:
        """From the rule's state now."""
        self.rule = rule
        self.base = rule.copy()
        self.log: list[int] = []

    def choose(self, members: Sequence[int]) -> int:
        """Ask the rule, and remember."""
        member = self.rule.choose(members)
        if member >= 0:
            self.log.append(member)
        return member

    def completed(self, member: int) -> None:
        """A member has finished a message."""
        self.rule.completed(member)
        self.log.append(~member)

    def rule_at(self, place: int) -> Rule:
        """The rule after so many events of this run."""
        rule = self.base.copy()
        for event in self.log[:place]:
            if event >= 0:
                rule.served(event)
            else:
                rule.completed(~event)
        return rule


class PrecomputedRun:
    """A run of choices among the same members, made ahead."""

    __slots__ = ("base", "choices", "end", "members", "place", "turns")

    def __init__(
        self, rule: ScheduledRule, members: tuple[int, ...], *, again: bool = False
    ) -> None:
        """From the rule's state now; the rule itself stays where it is.

        `again`: a run among these members came before, so it pays to look for a period.
        """
        self.members = members
        self.base = rule.copy()
        self.place = 0
        self.turns = 0
        period = rule.period(members) if again and rule.settled(members) else LONGEST_PERIOD + 1
        if period <= LONGEST_PERIOD and self._repeats(period):
            self.choices = self.base.copy().upcoming(members, period * -(-LOOK_AHEAD // period))
            self.end: ScheduledRule | None = None
        else:
            self.end = rule.copy()
            self.choices = self.end.upcoming(members, max(LOOK_AHEAD, len(members)))

    def _repeats(self, period: int) -> bool:
        """Whether one period from here is the next one too (recency may need one to settle)."""
        trial = self.base.copy()
        return trial.upcoming(self.members, period) == trial.upcoming(self.members, period)

    def after(self) -> PrecomputedRun:
        """The run that follows; this very one, another turn, if it is a circle."""
        if self.end is not None:
            return PrecomputedRun(self.end, self.members, again=True)
        self.turns += 1
        self.place = 0
        return self

    def rule_at(self, place: int) -> Rule:
        """The rule after so many choices from the beginning of this run."""
        rule = self.base.copy()
        rule.advance(self.members, place)
        return rule

    def rule_now(self) -> Rule:
        """The rule after the choices that were used."""
        return self.rule_at(self.turns * len(self.choices) + self.place)
