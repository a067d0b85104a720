"""What explanations say of a choice rule's comparison: its values, what decided, what if not.

A rule orders its candidates and names what decided; all sentences about that are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar

from fairlead.balance.policies.priority_failover import ByShare
from fairlead.balance.rules import fewest_pending, least_served, ready_ring, rendezvous
from fairlead.balance.rules import subscriber_lists as lists
from fairlead.balance.rules.fewest_pending import FewestPending
from fairlead.balance.rules.first_by_name import Everyone, FirstByName
from fairlead.balance.rules.keyed import PLACES
from fairlead.balance.rules.least_served import LeastServed
from fairlead.balance.rules.own_rule import OwnRule
from fairlead.balance.rules.paced import WHOLE, Paced
from fairlead.balance.rules.ready_ring import ReadyRing
from fairlead.balance.rules.rendezvous import Rendezvous
from fairlead.balance.rules.rule import Rule
from fairlead.balance.rules.subscriber_lists import SubscriberLists
from fairlead.balance.what_if import WhatIf

EVERYONE: Final = "everyone gets it"
TO_EVERYONE: Final = "everyone who is left gets it"
MOST: Final = (99, 2**63 - 1)
"""The largest weights that files can give; a policy refuses those that are too large for it."""
WHOLE_COUNT: Final = 1000
"""Of a rule that counts in thousandths: one message."""

R = TypeVar("R", bound=Rule)


class Wording(ABC, Generic[R]):
    """A rule's comparison in words; each rule has a subclass in `WORDINGS`."""

    def __init__(self, rule: R, members: Sequence[int], names: Sequence[str]) -> None:
        """`names`: of all members."""
        self.rule = rule
        self.names = names
        self.found = rule.compare(members)
        self.first, self.second = (*(names[i] for i in self.found.order[:2]), "", "")[:2]

    @abstractmethod
    def value(self, member: int) -> str:
        """What the rule compares of a member."""

    def passed_over(self, member: int) -> str:
        """Why the rule leaves a candidate out."""
        return "the rule leaves it out"

    @abstractmethod
    def decided(self) -> str:
        """Why the first came before the second."""

    def alone(self) -> str:
        """What decided where one candidate was left."""
        return "the only one left"

    def otherwise(self, what_if: WhatIf) -> str:
        """What would have led to another choice; "" where that cannot be said exactly."""
        member = what_if.without(self.found.order[0])
        if member < 0:
            return ""
        return f"{self.names[member]} would have been chosen if {self._without(member)}"

    def _without(self, member: int) -> str:
        """`member`: whom that leads to."""
        del member
        return f"{self.first} had been gone"

    def _with_weight(self, what_if: WhatIf) -> str:
        enough, second = self.found.otherwise.enough, self.found.order[1]
        if enough is None:
            if any(what_if.weighing(second, most) == second for most in MOST):
                return ""
            return f"no weight would have brought {self.second} before {self.first}"
        leads = what_if.weighing(second, enough) == second
        if not leads or what_if.weighing(second, enough - 1) == second:
            return ""
        return f"{self.second} would have been chosen with a weight of {enough} or more"

    def _enough(self, chosen: Callable[[int], int]) -> int | None:
        """The least number with which the second is chosen; `chosen`: who is, with a number."""
        second, enough = self.found.order[1], self.found.otherwise.enough
        if enough is None or chosen(enough) != second:
            return None
        while enough > 0 and chosen(enough - 1) == second:
            enough -= 1
        return enough


class LeastServedWording(Wording[LeastServed]):
    """Counts and weights."""

    weight_is = "weight"

    def value(self, member: int) -> str:
        s = self.rule.state
        value = (
            f"{self._served(member)} served / {self.weight_is} {self._weight(member)} = "
            f"{self._ratio(member)}"
        )
        by_weight = s.setting[least_served.TICK] == least_served.NO_TICK
        return value if by_weight else f"{value}, last number {s.tie[member]}"

    def passed_over(self, member: int) -> str:
        s = self.rule.state
        recent, number = s.setting[least_served.RECENT], s.tie[member]
        return f"not among the {recent} most recently used (number {number})"

    def decided(self) -> str:
        a, tie = self.first, self.rule.state.tie
        i, j = self.found.order[:2]
        if self.found.decided == least_served.RATIO:
            less = f"{self._ratio(i)} < {self._ratio(j)}"
            return f"{a} was served less for its {self.weight_is}: {less}"
        equal = f"equal at {self._ratio(i)}"
        if self.found.decided == least_served.RECENCY:
            return f"{equal}; {a} was used less recently: number {tie[i]} < {tie[j]}"
        if self.found.decided == least_served.WEIGHT:
            more = f"{self._weight(i)} > {self._weight(j)}"
            return f"{equal}; {a} has the larger {self.weight_is}: {more}"
        return f"{equal} in every respect; {a} comes first by name"

    def otherwise(self, what_if: WhatIf) -> str:
        if self.found.otherwise.what == least_served.SERVED:
            first = self.found.order[0]

            def chosen(times: int) -> int:
                return what_if.rule_with(lambda rule: self._serve(rule, first, times))

            enough = self._enough(chosen)
            times = "1 time" if enough == 1 else f"{enough} times"
            if enough is not None:
                return (
                    f"{self.second} would have been chosen if {self.first} had been served {times}"
                )
        return self._with_weight(what_if) or super().otherwise(what_if)

    def _serve(self, rule: Any, member: int, times: int) -> None:  # noqa: ANN401 - such a rule
        rule.state.count[member] = times * self.rule.state.setting[least_served.UNIT]

    def _served(self, member: int) -> str:
        s = self.rule.state
        return str(Fraction(s.count[member], s.setting[least_served.UNIT]))

    def _weight(self, member: int) -> str:
        return str(self.rule.state.weight[member])

    def _ratio(self, member: int) -> Fraction:
        return least_served.ratio(self.rule.state, member)


class PacedWording(LeastServedWording):
    """The same in thousandths, and weights that count in part."""

    rule: Paced

    def _serve(self, rule: Any, member: int, times: int) -> None:  # noqa: ANN401 - such a rule
        rule.state.count[member] = times * WHOLE_COUNT

    def _served(self, member: int) -> str:
        return _thousandths(self.rule.state.count[member])

    def _weight(self, member: int) -> str:
        weight, pace = self.rule.state.weight[member], self.rule.pace[member]
        if pace == WHOLE:
            return _thousandths(weight)
        return f"{_thousandths(weight)} ({pace / 10:g} % of {weight // pace}: slow start)"

    def _ratio(self, member: int) -> Fraction:
        return super()._ratio(member) * WHOLE


class ByShareWording(LeastServedWording):
    """What is weighed are shares, not the file's weights."""

    weight_is = "share"

    def otherwise(self, what_if: WhatIf) -> str:
        return Wording.otherwise(self, what_if)


class ReadyRingWording(Wording[ReadyRing]):
    """Rings, and since when a peer is ready."""

    def value(self, member: int) -> str:
        s = self.rule.state
        ring = f"ring {s.ring[member]}, " if self._several() else ""
        return f"{ring}ready since event {s.ready[member]}"

    def passed_over(self, member: int) -> str:
        s = self.rule.state
        return f"busy: holds {s.held[member]} of {s.capacity[member]}"

    def decided(self) -> str:
        s, a, b = self.rule.state, self.first, self.second
        i, j = self.found.order[:2]
        if self.found.decided == ready_ring.RING:
            return f"{a} is in a better ring: {s.ring[i]} < {s.ring[j]}"
        ring = f" in ring {s.ring[i]}" if self._several() else ""
        return f"{a} stands before {b}{ring}: ready since event {s.ready[i]} < {s.ready[j]}"

    def _several(self) -> bool:
        return len(set(self.rule.state.ring)) > 1

    def _without(self, member: int) -> str:
        first, second = self.found.order[:2]
        both = self.rule.state.capacity[first] and member == second
        return f"{self.first} had been {'busy or gone' if both else 'gone'}"


class FewestPendingWording(Wording[FewestPending]):
    """What is pending, and the cursor."""

    def value(self, member: int) -> str:
        s = self.rule.state
        words = f"{s.pending[member]} pending"
        weighed = f" / weight {s.weight[member]} = {self._load(member)}" if self._uneven else ""
        return f"{words}{weighed}"

    def decided(self) -> str:
        s, a = self.rule.state, self.first
        i, j = self.found.order[:2]
        if self.found.decided == fewest_pending.PENDING:
            weighed = " for its weight" if self._uneven else ""
            return f"{a} has fewer pending{weighed}: {self._load(i)} < {self._load(j)}"
        equal = f"equal at {self._load(i)}"
        if self.found.decided == fewest_pending.WEIGHT:
            return f"{equal}; {a} has the larger weight: {s.weight[i]} > {s.weight[j]}"
        return f"{equal}; from {self.names[s.cursor[0]]} on, {a} comes first"

    @property
    def _uneven(self) -> bool:
        return bool(self.rule.state.uneven[0])

    def _load(self, member: int) -> str:
        s = self.rule.state
        return str(fewest_pending.load(s, member) if self._uneven else s.pending[member])

    def otherwise(self, what_if: WhatIf) -> str:
        first = self.found.order[0]

        def hold(rule: Any, more: int) -> None:  # noqa: ANN401 - such a rule
            rule.state.pending[first] += more

        enough = self._enough(lambda more: what_if.rule_with(lambda rule: hold(rule, more)))
        if enough is None:
            return super().otherwise(what_if)
        return f"{self.second} would have been chosen if {self.first} had held {enough} more"


class FirstByNameWording(Wording[FirstByName]):
    """Names."""

    def value(self, member: int) -> str:
        return f"place {self.found.order.index(member) + 1} by name"

    def decided(self) -> str:
        return f"{self.first} comes first by name"


class EveryoneWording(FirstByNameWording):
    """Nothing is compared."""

    def value(self, member: int) -> str:
        return EVERYONE

    def alone(self) -> str:
        return TO_EVERYONE


class RendezvousWording(Wording[Rendezvous]):
    """Draws and scores."""

    def value(self, member: int) -> str:
        drawn = self.rule.draws([member])[member]
        weight = self.rule.state.weight[member]
        score = Fraction(drawn, weight)
        return f"draw {_draws(drawn)} / weight {weight} = {_draws(score)}"

    def decided(self) -> str:
        key = f"the key's number {self.rule.key}"
        if self.rule.key >= PLACES:
            key = f"place {self.rule.key - PLACES} in the stream, without a key"
        if self.found.decided == rendezvous.SCORE:
            return f"{self.first} has the lowest score for {key}"
        return f"equal for {key}; {self.first} comes first by name"

    def otherwise(self, what_if: WhatIf) -> str:
        weight = "" if self.found.otherwise.enough is None else self._with_weight(what_if)
        return weight or super().otherwise(what_if)


class SubscriberListsWording(Wording[SubscriberLists]):
    """Names, places behind a cursor, what is pending."""

    def value(self, member: int) -> str:
        kind, i = self.rule.way(member)
        if kind == lists.EVERYONE:
            return EVERYONE
        if kind == lists.BY_NAME:
            return f"place {self.found.order.index(member) + 1} by name"
        if kind == lists.IN_TURN:
            return f"{self.rule.after_cursor([member])[member]} after the cursor"
        return f"{self.rule.state.pending[i]} pending"

    def alone(self) -> str:
        kind, _ = self.rule.way(self.found.order[0])
        return TO_EVERYONE if kind == lists.EVERYONE else super().alone()

    def decided(self) -> str:
        return {
            lists.NAME: "{} comes first by name",
            lists.TURN: "the cursor comes to {} first",
            lists.FEWEST: "{} has the fewest pending",
            lists.CURSOR: "equally many pending; from the cursor on, {} comes first",
        }[self.found.decided].format(self.first)


class OwnRuleWording(Wording[OwnRule]):
    """The numbers that the rule keeps of a member."""

    def value(self, member: int) -> str:
        state = self.rule.state
        parts = (
            f"{name} {field[member]}"
            for name, field in zip(state._fields, state, strict=True)
            if member < len(field)
        )
        return ", ".join(parts)

    def decided(self) -> str:
        return f"{self.rule.name} prefers {self.first} to {self.second}"


WORDINGS: Final[Mapping[type[Rule], type[Wording[Any]]]] = {
    ByShare: ByShareWording,
    Everyone: EveryoneWording,
    FewestPending: FewestPendingWording,
    FirstByName: FirstByNameWording,
    LeastServed: LeastServedWording,
    OwnRule: OwnRuleWording,
    Paced: PacedWording,
    ReadyRing: ReadyRingWording,
    Rendezvous: RendezvousWording,
    SubscriberLists: SubscriberListsWording,
}


def wording(rule: Rule, members: Sequence[int], names: Sequence[str]) -> Wording[Any]:
    """What is said of the rule's choice among these members as it stands now."""
    return WORDINGS[type(rule)](rule, members, names)


def _thousandths(n: int) -> str:
    """A number of thousandths, as people write it."""
    return f"{Decimal(n).scaleb(-3).normalize():f}"


def _draws(draws: Fraction | int) -> str:
    """A draw or score, to be read: it decides nothing."""
    return f"{float(draws) / (1 << rendezvous.UNIT):.6g}"
