"""Choose the first by name of those who are left: one works, the others stand by.

The rule of SmartSockets' sorted load balancing. It remembers nothing that matters; how often it
has chosen is kept because every rule has a state.

`choose` and `run_one` are written once, in the part of Python that Numba compiles. A member
is an index in name order, and lists of members are in that order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.balance.rules.rule import ScheduledRule, Weighing

NAME = "name"  # what decides


class State(NamedTuple):
    """What the rule remembers."""

    choices: Ints
    """[how many were made]"""


def choose(s: State, members: Indexes, start: int, _: int) -> int:
    """The first of members[start:stop]; there is at least one."""
    s.choices[0] += 1
    return members[start]


def run_one(s: State, heap: Indexes, out: Ints) -> None:
    """Choose len(out) times among the members in `heap`."""
    for k in range(len(out)):
        out[k] = choose(s, heap, 0, len(heap))


COMPILED = (choose, run_one)


class FirstByName(ScheduledRule):
    """The first by name."""

    name = "first-by-name"
    module = sys.modules[__name__]
    whole = ("choices",)

    def __init__(self) -> None:
        """Nothing chosen yet."""
        self.state = State([0])

    def choose(self, members: Sequence[int]) -> int:
        return choose(self.state, members, 0, len(members))

    def served(self, member: int) -> None:
        self.state.choices[0] += 1

    def skips(self, members: Sequence[int]) -> bool:
        return True

    def advance(self, members: Sequence[int], n: int) -> None:
        self.state.choices[0] += n

    def period(self, members: Sequence[int]) -> int:
        return 1

    def settled(self, members: Sequence[int]) -> bool:
        return True

    def heap(self, members: Sequence[int]) -> list[int]:
        return list(members)

    def fits_int64(self, choices: int) -> bool:
        return True

    def compare(self, members: Sequence[int]) -> Weighing:
        order = sorted(members)
        return Weighing(order, decided=NAME if len(order) > 1 else "")


class Everyone(FirstByName):
    """All of them: the first by name stands for the rest."""

    name = "everyone"

    def compare(self, members: Sequence[int]) -> Weighing:
        return Weighing([members[0]])
