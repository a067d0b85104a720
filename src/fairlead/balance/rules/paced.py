"""`least-served` for destinations that start slowly: for a time a weight counts only in part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from fairlead.balance.rules import least_served
from fairlead.balance.rules.least_served import UNIT, LeastServed
from fairlead.balance.rules.rule import Plain

WHOLE: Final = 1_000
"""A whole weight, in per mille."""


class Paced(LeastServed):
    """The lowest count/weight, each weight by so many per mille of it.

    Counts and weights are kept in thousandths: then every part of a weight is a whole number, and
    less than a thousandth of a message is rounded away when a pace changes.
    """

    def __init__(self, weights: list[int]) -> None:
        """All weights are whole."""
        super().__init__([weight * WHOLE for weight in weights])
        self.state.setting[UNIT] = WHOLE
        self.pace = [WHOLE] * len(weights)

    def reweigh(self, member: int, weight: int) -> None:
        super().reweigh(member, weight * self.pace[member])

    def set_pace(self, member: int, pace: int, peers: Sequence[int]) -> None:
        """Let the member's weight count by so many per mille; its lead in messages stays.

        It leads by what it was sent beyond the lowest ratio, its own or that of `peers`, who are
        chosen among together with it. If its ratio stayed, one message at a hundredth of the
        weight would count as a hundred when the weight is whole.
        """
        s = self.state
        before, self.pace[member] = self.pace[member], pace
        weight = s.weight[member] // before * pace
        count, of = least_served.lowest(s, (member, *peers))
        s.count[member] += count * (weight - s.weight[member]) // of
        least_served.reweigh(s, member, weight)

    def copy(self) -> Self:
        other = super().copy()
        other.pace = list(self.pace)
        return other

    def dump(self) -> Plain:
        return {**super().dump(), "pace": list(self.pace)}

    def load(self, plain: Plain) -> None:
        super().load(plain)
        self.pace = list(plain["pace"])

    def _grain(self, i: int) -> int:
        return self.pace[i]
