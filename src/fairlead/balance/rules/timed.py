"""Rules that know who is busy: they count what their members hold until it is completed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final, Self

from fairlead.balance.rules.due import Due, nothing_due, pop, without
from fairlead.balance.rules.integers import independent
from fairlead.balance.rules.rule import Plain, Rule

DUE: Final = ("due_at", "due_order", "due_who", "due_size")


class TimedRule(Rule):
    """A rule that knows what its members hold, and when they will have completed it.

    Its module has `completed`, and its state `speed` (thousandths of the nominal speed).
    """

    def __init__(self) -> None:
        """No completion is expected yet."""
        self.due = nothing_due()

    @abstractmethod
    def failed(self, member: int) -> None:
        """A member holds nothing any more."""

    def forgotten(self, member: int) -> None:
        """A member has lost what it held: its completions will not happen."""
        self.failed(member)
        self.due = without(self.due, member)

    def finish_until(self, time: int) -> None:
        while self.due.size[0] > 0 and self.due.at[0] <= time:
            member = self.due.who[0]
            pop(self.due)
            self.completed(member)

    def copy(self) -> Self:
        other = super().copy()
        other.due = independent(self.due)
        return other

    def dump(self) -> Plain:
        due = {name: list(field) for name, field in zip(DUE, self.due, strict=True)}
        return {**super().dump(), **due}

    def load(self, plain: Plain) -> None:
        super().load(plain)
        self.due = Due(*(list(plain[name]) for name in DUE))
