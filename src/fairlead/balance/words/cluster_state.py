"""What is said of a cluster's state in words: its policy, its candidates, its destinations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Generic, Protocol, TypeVar

from fairlead.balance.elimination import Elimination
from fairlead.balance.message import AttributeValues
from fairlead.balance.objects import Ref, special
from fairlead.balance.rules.rule import Rule


class DescribedState(Protocol):
    """What is asked of a cluster's state here."""

    policy: Any
    objects: dict[Ref, Any]
    members: tuple[str, ...]
    rule: Rule

    def eliminations(self) -> Sequence[Elimination[Any, Any]]:
        """The steps in order, as they are now."""

    def object_of(self, member: int) -> Ref:
        """The object that a member stands for."""

    def member(self, candidate: Any) -> int:  # noqa: ANN401 - the policy's own
        """The member that a candidate stands for."""


S = TypeVar("S", bound=DescribedState)


class Description(Generic[S]):
    """A cluster's state in words; a policy overrides what it says differently."""

    def __init__(self, state: S) -> None:
        """`state`: of which everything is said, as it is when asked."""
        self.state = state

    def effective(self) -> list[str]:
        """The effective policy, a line each."""
        state = self.state
        steps = [f"{e.name}: {e.about}" for e in state.eliminations()]
        return [*steps, f"choose: {state.rule.name}"]

    def condition(self, member: int, besides: Collection[str] = ()) -> str:
        """What is special about a destination now, without these attributes."""
        state = self.state
        return ", ".join(special(state.objects[state.object_of(member)], besides))

    def label(self, candidate: Any) -> str:  # noqa: ANN401 - the policy's own
        """A candidate's name in explanations."""
        return self.state.members[self.state.member(candidate)]

    def because(
        self,
        step: Elimination[Any, Any],
        key: Any,  # noqa: ANN401 - the policy's own
        candidate: Any,  # noqa: ANN401
        kept: Sequence[Any],
    ) -> str:
        """Why a candidate was dropped in a step, given those that were kept."""
        return step.because(key, candidate, kept)

    def no_candidates(self, key: Any) -> str:  # noqa: ANN401 - what the policy read
        """Why there is no candidate for such a message."""
        return "there is no candidate"

    def undeliverable_reason(self, member: int) -> str:
        """Why a message for which this member is chosen is not routed all the same; "": it is."""
        return ""

    def samples(self) -> dict[str, AttributeValues]:
        """Messages that should find somebody, by what they are called; for its warnings."""
        return {} if self.state.policy.reads else {"": ()}
