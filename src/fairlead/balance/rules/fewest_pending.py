"""Choose who holds the fewest messages, for its weight, that are not completed yet.

The rule of SmartSockets' weighted load balancing: a cursor goes round; from it on, the first with
the fewest pending messages is chosen, and the cursor moves behind it. A choice counts as pending
at once, so messages of one instant do not all go to the same member. Where members have different
weights, the lowest pending/weight counts instead, and of equals the heavier is first; ratios are
compared by cross-multiplication.

`choose` and `completed` are written once, in the part of Python that Numba
compiles. A member is an index into the state's sequences, in the order of joining.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from fairlead.balance.rules.integers import INT64_END, Indexes, Ints
from fairlead.balance.rules.rule import Otherwise, Plain, Weighing
from fairlead.balance.rules.timed import DUE, TimedRule

MEMBERS = 1 << 24
"""More than there are."""
PENDING, WEIGHT, CURSOR = "pending", "weight", "cursor"  # what decides
UNEVEN = "uneven"


class State(NamedTuple):
    """What the rule remembers, one entry a member (`cursor`, `uneven`: for the whole rule)."""

    pending: Ints
    """Messages handed over and not completed."""
    speed: Ints
    """Thousandths of the nominal speed."""
    cursor: Ints
    """[the member from which on one is looked for]"""
    weight: Ints
    uneven: Ints
    """[1 if not all weights are equal, else 0]"""


def choose(s: State, members: Indexes, start: int, stop: int) -> int:
    """Choose among members[start:stop], at least one, and hand over one message."""
    cursor = s.cursor[0]
    if s.uneven[0] == 1:
        best = lightest(s, members, start, stop, cursor)
        served(s, best)
        return best
    least = rank(s, members[start], cursor)
    for k in range(start, stop):
        score = rank(s, members[k], cursor)
        if score < least:  # noqa: PLR1730 - `min` is slow where nothing is compiled
            least = score
    best = least % MEMBERS
    served(s, best)
    return best


def rank(s: State, i: int, cursor: int) -> int:
    """Lowest first: by what is pending, then those from the cursor on, then by the order.

    One number that also holds the member, because the least of many is found several at a time.
    """
    return (2 * s.pending[i] + (i < cursor)) * MEMBERS + i


def lightest(s: State, members: Indexes, start: int, stop: int, cursor: int) -> int:
    """The fewest pending for the weight, then the heavier, then the first from the cursor on."""
    best = members[start]
    for k in range(start + 1, stop):
        if lighter(s, members[k], best, cursor):
            best = members[k]
    return best


def lighter(s: State, i: int, j: int, cursor: int) -> bool:
    """Whether member i comes before member j where weights differ."""
    own_load, other_load = s.pending[i] * s.weight[j], s.pending[j] * s.weight[i]
    if own_load != other_load:
        return own_load < other_load
    if s.weight[i] != s.weight[j]:
        return s.weight[i] > s.weight[j]
    if (i < cursor) != (j < cursor):
        return j < cursor
    return i < j


def served(s: State, i: int) -> None:
    """Hand one message over to member i."""
    s.pending[i] += 1
    s.cursor[0] = i + 1 if i + 1 < len(s.pending) else 0


def completed(s: State, i: int) -> None:
    """Member i has finished one of its messages."""
    if s.pending[i] > 0:
        s.pending[i] -= 1


def returned(s: State, i: int) -> None:
    """Member i holds one of its messages again that it had finished in vain."""
    s.pending[i] += 1


COMPILED = (rank, lighter, lightest, served, completed, returned, choose)


class FewestPending(TimedRule):
    """The fewest pending for the weight; ties to the heavier, then the first from the cursor on."""

    name = "fewest-pending"
    module = sys.modules[__name__]
    weighs_held = True
    whole = (*DUE, CURSOR, UNEVEN)

    def __init__(self, speeds: list[int], weights: Sequence[int] = ()) -> None:
        """`speeds` in thousandths of the nominal speed; `weights`: none given, all are equal."""
        super().__init__()
        weight = list(weights) or [1] * len(speeds)
        self.state = State([0] * len(speeds), list(speeds), [0], weight, [0])
        self._compare_weights()

    def reweigh(self, i: int, weight: int) -> None:
        """Give a member another weight."""
        self.state.weight[i] = weight
        self._compare_weights()

    def _compare_weights(self) -> None:
        self.state.uneven[0] = int(len(set(self.state.weight)) > 1)

    def choose(self, members: Sequence[int]) -> int:
        return choose(self.state, members, 0, len(members))

    def served(self, member: int) -> None:
        served(self.state, member)

    def completed(self, member: int) -> None:
        completed(self.state, member)

    def failed(self, member: int) -> None:
        self.state.pending[member] = 0

    def load(self, plain: Plain) -> None:
        """A state of a time when there were no weights has those of the file."""
        weights = {name: list(getattr(self.state, name)) for name in (WEIGHT, UNEVEN)}
        super().load({**weights, **plain})

    def carried(self, before: Plain, places: Mapping[int, int]) -> Plain:
        """The cursor stays where it is; if that member has left, it is at the next one."""
        later = [here for here, there in places.items() if there >= before[CURSOR][0]]
        weights = {WEIGHT: [1] * len(before[PENDING]), UNEVEN: [0]}
        plain = super().carried({**weights, **before}, places)
        uneven = int(len(set(plain[WEIGHT])) > 1)
        return {**plain, CURSOR: [min(later, default=0)], UNEVEN: [uneven]}

    def fits_int64(self, choices: int) -> bool:
        most = int(max(self.state.pending)) + choices + 1
        return 2 * most * MEMBERS < INT64_END and most * int(max(self.state.weight)) < INT64_END

    def compare(self, members: Sequence[int]) -> Weighing:
        s = self.state
        cursor = s.cursor[0]

        def among_equals(i: int) -> tuple[int, bool, int]:
            return -s.weight[i], i < cursor, i

        order = sorted(members, key=lambda i: (load(s, i), *among_equals(i)))
        if len(order) < 2:
            return Weighing(order)
        first, second = order[:2]
        equal = load(s, second) * s.weight[first]
        wins = among_equals(second) < among_equals(first)
        enough = (-(-equal // 1) if wins else equal // 1 + 1) - s.pending[first]
        decided = WEIGHT if s.weight[first] != s.weight[second] else CURSOR
        if load(s, first) != load(s, second):
            decided = PENDING
        return Weighing(order, decided=decided, otherwise=Otherwise(PENDING, int(enough)))


def load(s: State, i: int) -> Fraction:
    """What is pending at a member, for its weight."""
    return Fraction(s.pending[i], s.weight[i])
