"""Policies to whose destinations it matters that they have come back, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any, Self, TypeVar

import msgspec

from fairlead.balance.change import STATE, UP, ResolvedChange
from fairlead.balance.elimination import Elimination
from fairlead.balance.follow_ups import LaterChange
from fairlead.balance.objects import Ref
from fairlead.balance.policies.destinations import (
    DOWN,
    KIND,
    DestinationDescription,
    DestinationState,
    ListTables,
)
from fairlead.balance.policies.slow_start import PACE, failback_delay, slow_start
from fairlead.balance.policy import Policy
from fairlead.balance.rules.paced import WHOLE
from fairlead.balance.times import MICROS

T = TypeVar("T", bound=ListTables)


class ReturningState(DestinationState[T]):
    """A policy with the options `failback_delay` and `slow_start`, or one of them.

    It says what follows later from a change, and holds back an `up` that does not hold yet.
    """

    def __init__(self, policy: Policy, tables: T) -> None:
        """Nobody has come yet: who is there at the beginning is there in full."""
        super().__init__(policy, tables)
        options = getattr(tables, "options", None)
        self.slow_start = slow_start(options)
        self.failback_delay = failback_delay(options)
        self.paces: dict[Ref, int] = {}
        """Per mille of its weight by which each counts that starts slowly."""
        self._came: set[Ref] = set()
        """Who has come in the step that is being made."""

    def peers(self, i: int) -> list[int]:
        """Who else gets through the steps, and would be chosen among together with member i."""
        return [
            j for j, destination in enumerate(self.listed) if j != i and self.passes(destination)
        ]

    def paced(self, ref: Ref, pace: int) -> None:
        """From now on a destination counts by so many per mille of its weight."""

    @property
    def follows_up(self) -> bool:
        return bool(self.slow_start or self.failback_delay)

    def held_back(self, change: ResolvedChange) -> bool:
        """Whether a destination is up again, but for less than its fail-back delay."""
        ref, attribute, value = change
        if not self.failback_delay or attribute != STATE or ref is None:
            return False
        if value not in UP:
            self.follow_ups.drop(ref)
            return False
        if self.objects[ref].state in UP:
            return False
        if ref not in self.follow_ups:
            self.follow_ups.put(ref, [LaterChange(self.now + self.failback_delay, STATE, value)])
        return True

    def moved(self, ref: Ref, *, passed: bool, passes: bool) -> None:
        """After a change: whether a destination got through the steps, and does now."""
        if self.slow_start is None or passed == passes:
            return
        if passes:
            self._came.add(ref)
        else:
            self._came.discard(ref)
            self.follow_ups.drop(ref)
            self._set_pace(ref, WHOLE)

    def stepped(self, before: Mapping[Ref, Any]) -> None:
        """Who came starts slowly, if others were there already to take the rest."""
        if self.failback_delay:
            self._let_in()
        if self.slow_start is None or not self._came:
            return
        new = {self.index[ref] for ref in self._came}
        for ref in [ref for ref in self.objects if ref in self._came]:
            if not new.issuperset(self.peers(self.index[ref])):
                self._set_pace(ref, self.slow_start.paces[0])
                self.follow_ups.put(ref, self.slow_start.later(self.now))
        self._came.clear()

    def _let_in(self) -> None:
        """Where nobody gets through the steps, there is nobody to stay with: an `up` counts."""
        if any(map(self.passes, self.listed)):
            return
        for ref in [ref for ref in self.objects if ref in self.follow_ups]:
            if self.passes(msgspec.structs.replace(self.objects[ref], state="up")):
                self.follow_ups.drop(ref)
                self._make(ResolvedChange(ref, STATE, "up"), {})

    def follow_up(self, change: ResolvedChange, before: dict[Ref, Any]) -> None:
        ref, attribute, value = change
        if attribute == PACE and ref is not None and isinstance(value, int):
            self._set_pace(ref, value)
        else:
            super().follow_up(change, before)

    def _set_pace(self, ref: Ref, pace: int) -> None:
        if self.paces.get(ref, WHOLE) == pace:
            return
        if pace == WHOLE:
            del self.paces[ref]
        else:
            self.paces[ref] = pace
        self.paced(ref, pace)

    def in_part(self, weights: Mapping[str, int]) -> dict[str, int]:
        """The weights as they count now, in lowest terms."""
        products = {
            name: weight * self.paces.get(Ref(KIND, name), WHOLE)
            for name, weight in weights.items()
        }
        common = gcd(*products.values()) or 1
        return {name: weight // common for name, weight in products.items()}

    def frozen(self) -> Self:
        other = super().frozen()
        other.paces = dict(self.paces)
        return other

    def dump(self) -> dict[str, Any]:
        return {**super().dump(), "paces": [[list(ref), n] for ref, n in self.paces.items()]}

    def load(self, plain: Mapping[str, Any]) -> None:
        super().load(plain)
        self.paces = {Ref(*ref): pace for ref, pace in plain["paces"]}


D = TypeVar("D", bound=ReturningState[Any])


class ReturningDescription(DestinationDescription[D]):
    """What those get that come back, in words."""

    def because(
        self,
        step: Elimination[Any, Any],
        key: Any,  # noqa: ANN401 - the policy's own
        candidate: Any,  # noqa: ANN401
        kept: Sequence[Any],
    ) -> str:
        if step.name == DOWN.name and Ref(KIND, candidate.name) in self.state.follow_ups:
            delay = self.state.failback_delay / MICROS
            return f"it is up again, but for less than its fail-back delay of {delay:g} s"
        return super().because(step, key, candidate, kept)

    def returning(self) -> list[str]:
        """What becomes of those who come back, in words."""
        lines = [str(self.state.slow_start)] if self.state.slow_start else []
        if self.state.failback_delay:
            delay = f"{self.state.failback_delay / MICROS:g} s"
            lines.append(
                f"fail-back delay: one that was down gets messages again {delay} after it is up, "
                "unless it goes down before that"
            )
        return lines
