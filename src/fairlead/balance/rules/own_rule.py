"""A choice rule that a user brings: two functions over a state of integers, and nothing else.

They are plain Python live and compiled on tables, as with every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from fairlead.balance.rules.integers import INT64_END, Indexes, independent
from fairlead.balance.rules.rule import Plain, Rule, Weighing
from fairlead.errors import RuleError

HALF: int = INT64_END // 2
PREFERENCE = "preference"  # what decides


class OwnRule(Rule):
    """A rule made of a user's `choose` and `served`."""

    foreign = True

    def __init__(
        self,
        name: str,
        state: Any,  # noqa: ANN401 - a NamedTuple of the user's own
        choose: Callable[[Any, Indexes, int, int], int],
        served: Callable[[Any, int], None],
        completed: Callable[[Any, int], None] | None,
        module: ModuleType,
    ) -> None:
        """`module` holds what is compiled."""
        self.own_name = name
        self.state = state
        self.functions = (choose, served, completed)
        self.own_module = module

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the rule is called in a file."""
        return self.own_name

    @property
    def module(self) -> ModuleType:  # type: ignore[override]
        """What is compiled."""
        return self.own_module

    @property
    def weighs_held(self) -> bool:  # type: ignore[override]
        """It may, if it looks at completions."""
        return self.functions[2] is not None

    def guard(self) -> Careful:
        return Careful(f"choice rule {self.own_name}")

    def choose(self, members: Sequence[int]) -> int:
        member = self.look(self.state, members)
        self.served(member)
        return member

    def look(self, state: Any, members: Sequence[int]) -> int:  # noqa: ANN401
        """Choose, and count nothing. Raises RuleError."""
        with self.guard():
            member = int(self.functions[0](state, members, 0, len(members)))
        if member not in members:
            raise nonsense(self.own_name, member, members)
        return member

    def served(self, member: int) -> None:
        with self.guard():
            self.functions[1](self.state, member)

    def completed(self, member: int) -> None:
        completed = self.functions[2]
        if completed is not None:
            with self.guard():
                completed(self.state, member)

    def carried(self, before: Plain, places: Mapping[int, int]) -> Plain:
        """Raises RuleError: which entry of the state is whose only its author knows."""
        raise RuleError(
            f"choice rule {self.own_name}: found a destination that its cluster's file does not "
            "list, allowed: to list those that join later with present = false"
        )

    def fits_int64(self, choices: int) -> bool:
        # What the user's functions make of the numbers nobody knows; half of the room is theirs.
        return all(-HALF < value < HALF for field in self.state for value in field)

    def compare(self, members: Sequence[int]) -> Weighing:
        """Who would be chosen, then who if that one were gone, and so on."""
        left, order = list(members), []
        while left:
            state = independent(self.state)
            member = self.look(state, left)
            order.append(member)
            left.remove(member)
        return Weighing(order, decided=PREFERENCE if len(order) > 1 else "")


class Careful:
    """Turns whatever a user's function raises into a RuleError that names it."""

    def __init__(self, name: str) -> None:
        """`name`: what the function is called in a file."""
        self.name = name

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        """Name what went wrong."""
        if isinstance(error, Exception) and not isinstance(error, RuleError):
            raise failed(self.name, error) from error


def failed(name: str, error: Exception) -> RuleError:
    """The error for a user's function that raised one."""
    text = str(error).strip().split("\n", 1)[0]
    return RuleError(f"{name}: it failed with {type(error).__name__}: {text}")


def nonsense(name: str, found: int, members: Sequence[int]) -> RuleError:
    """The error for a choice that is no candidate."""
    return RuleError(
        f"choice rule {name}: it chose {found}, allowed: one of the members that it was given, "
        f"{', '.join(map(str, list(members)[:12]))}"
    )
