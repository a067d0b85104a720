"""What becomes of messages in a replay when destinations fail, rest or do not acknowledge."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from fairlead.balance.elimination import Eligible
from fairlead.balance.message import LOST, RELEASED, AttributeValues
from fairlead.balance.objects import Ref


class Failing(Protocol):
    """What is asked of a cluster's state here."""

    objects: dict[Ref, Any]

    def eligible(self, values: AttributeValues) -> Eligible:
        """The outcome of the eliminations for such a message."""


S = TypeVar("S", bound=Failing)


class FailureModel(Generic[S]):
    """How a cluster behaves when somebody fails; a policy overrides what it does differently."""

    def __init__(self, state: S) -> None:
        """`state`: of which everything is said, as it is when asked."""
        self.state = state

    @property
    def ack_timeout(self) -> int:
        """Microseconds after which what is not acknowledged has failed; 0: it never has."""
        return 0

    def ack_mode(self, values: AttributeValues) -> str:
        """Whose acknowledgement is waited for: `all` copies', `some` one's, or nobody's: ""."""
        return ""

    def readers(self, ref: Ref) -> int:
        """How many readers an object has that may begin with work."""
        readers: int = self.state.objects[ref].readers
        return readers

    def retains_after_failure(self, ref: Ref) -> bool:
        """Whether one that has just failed (see `failed_now`) is remembered, and what it held."""
        return False

    def after_failure(self, ref: Ref, values: AttributeValues, *, shared: bool) -> str:
        """How the attempt of a message ends that one held who has just failed.

        `released`: it is routed anew; `rolled-back`: it stays where it is. `shared`: others got
        the message as well.
        """
        return LOST if shared else RELEASED

    def published(self, values: AttributeValues) -> AttributeValues:
        """The attributes with what a message takes from the cluster when it is sent."""
        return values

    def redelivery(self, values: AttributeValues) -> Eligible:
        """The outcome of the eliminations for a message that is routed anew."""
        return self.state.eligible(values)
