"""What a choice rule offers to the engines: its compiled part, its state and its arithmetic.

Engines never ask which rule this is. They ask what it can: `keyed`, `foreign`, `scheduled`
and `weighs_held`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, ClassVar, Final, NamedTuple, Self

from fairlead.balance.rules.due import Due
from fairlead.balance.rules.integers import Indexes, independent

Plain = dict[str, list[int]]
"""A rule's state as plain data, for snapshots."""


GONE: Final = "gone"


class Otherwise(NamedTuple):
    """What would have made the second win."""

    what: str = GONE
    """The attribute whose other value would have made the second win, such as a weight.

    GONE: the first would have had to be gone.
    """
    enough: int | None = None
    """The least of it that is enough; None where none is."""


class Weighing(NamedTuple):
    """How a rule weighs its candidates at one moment; `balance.words.rule_choices` words it."""

    order: list[int]
    """The members in the order in which they would be chosen; the first is the choice."""
    passed_over: Sequence[int] = ()
    """Candidates that the rule itself leaves out."""
    decided: str = ""
    """By what the first came before the second, such as a weight; "" where there is no second."""
    otherwise: Otherwise = Otherwise()


class Rule(ABC):
    """A choice rule with its state; members are indexes 0, 1, … of the policy's members."""

    name: ClassVar[str]
    module: ClassVar[ModuleType]
    """Holds `choose` and its helpers, in the part of Python that Numba compiles."""
    keyed: ClassVar[bool] = False
    """Whether it chooses by a key of the message, and remembers nothing of what it chose."""
    foreign: ClassVar[bool] = False
    """Whether it is a user's code: it can raise, choose nobody, or be more than Numba compiles."""
    weighs_held: bool = False
    """Whether what a member holds counts against it even while it is not busy."""
    whole: ClassVar[Collection[str]] = ()
    """Fields of the state that are the whole rule's; the others have one entry a member."""
    state: Any
    """A NamedTuple of integer sequences."""
    due: Due
    """Completions to come; only where completions decide who is busy."""

    @abstractmethod
    def choose(self, members: Sequence[int]) -> int:
        """Choose among the members and count it; -1 where nobody can take a message."""

    def choose_for(self, members: Sequence[int], key: int) -> int:
        """Choose among the members by a key's number; without effect on a rule without keys."""
        return self.for_key(key).choose(members)

    def for_key(self, key: int) -> Self:
        """The same rule, asked for this key."""
        return self

    def scheduled(self, members: Sequence[int]) -> ScheduledRule | None:
        """This rule, if its choices among these members have a closed form; else None."""
        return None

    def guard(self) -> AbstractContextManager[object]:
        """What the rule's own functions are called in, so that an error of theirs names it."""
        return nullcontext()

    @abstractmethod
    def served(self, member: int) -> None:
        """Count a choice that was made elsewhere."""

    def completed(self, member: int) -> None:  # noqa: B027 - most rules do not look at it
        """A member has finished one message."""

    def finish_until(self, time: int) -> None:  # noqa: B027 - most rules know no completions
        """Let all completions that are due up to and at this time happen."""

    def forgotten(self, member: int) -> None:  # noqa: B027 - most rules know no completions
        """A member has lost what it held: its completions will not happen."""

    @abstractmethod
    def fits_int64(self, choices: int) -> bool:
        """Whether the compiled rule stays exact for so many choices more."""

    @abstractmethod
    def compare(self, members: Sequence[int]) -> Weighing:
        """Order the members as the rule sees them now; changes nothing."""

    def copy(self) -> Self:
        """The same rule in the same state, independent of this one."""
        other = copy.copy(self)
        other.state = independent(self.state)
        return other

    def dump(self) -> Plain:
        """The state as plain data."""
        return {
            name: [int(value) for value in field]
            for name, field in zip(self.state._fields, self.state, strict=True)
        }

    def load(self, plain: Plain) -> None:
        """Take over a state that `dump` gave."""
        self.state = type(self.state)(*(list(plain[name]) for name in self.state._fields))

    def carried(self, before: Plain, places: Mapping[int, int]) -> Plain:
        """This rule's state with what `before`, of the same rule, has of the same members.

        `places`: member here → member there.
        """
        plain = self.dump()
        for name, values in plain.items():
            if name in self.whole:
                plain[name] = before[name]
            else:
                for here, there in places.items():
                    values[here] = before[name][there]
        return plain

    def adopt(self, fields: Iterable[Indexes]) -> None:
        """Take over the state in which the compiled rule left its arrays."""
        self.state = type(self.state)(*([int(value) for value in field] for field in fields))


class ScheduledRule(Rule):
    """A rule that can skip steps: its choices among the same members have a closed form.

    Its module also has `run_one`.
    """

    def scheduled(self, members: Sequence[int]) -> Self | None:
        return self if self.skips(members) else None

    @abstractmethod
    def skips(self, members: Sequence[int]) -> bool:
        """Whether `advance` can skip steps among these members."""

    @abstractmethod
    def advance(self, members: Sequence[int], n: int) -> None:
        """Choose n times among the same members, without the n steps."""

    @abstractmethod
    def period(self, members: Sequence[int]) -> int:
        """After how many choices the sequence repeats, once nobody lags."""

    @abstractmethod
    def settled(self, members: Sequence[int]) -> bool:
        """Whether none of these members lags behind the others."""

    def stretch(self, members: Sequence[int], n: int) -> tuple[Sequence[int], int]:
        """Among whom the next choices are, of whom nobody lags, and how many of the next n.

        No choices, where that is not known.
        """
        return (members, n) if self.settled(members) else ((), 0)

    @abstractmethod
    def heap(self, members: Sequence[int]) -> list[int]:
        """The members that `run_one` may choose among for as long as nothing else happens."""

    def upcoming(self, members: Sequence[int], n: int) -> list[int]:
        """Make the next n choices among the same members, and return them."""
        out = [0] * n
        self.module.run_one(self.state, self.heap(members), out)
        return out
