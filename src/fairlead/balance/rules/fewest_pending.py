"""Choose who holds the fewest messages that are not completed yet.

The rule of SmartSockets' weighted load balancing: a cursor goes round; from it on, the first with
the fewest pending messages is chosen, and the cursor moves behind it. A choice counts as pending
at once, so messages of one instant do not all go to the same member.

`choose` and `completed` are written once, in the part of Python that Numba
compiles. A member is an index into the state's sequences, in the order of joining.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.balance.rules.integers import INT64_END, Indexes, Ints
from fairlead.balance.rules.rule import Comparison, Otherwise, Plain
from fairlead.balance.rules.timed import DUE, TimedRule

MEMBERS = 1 << 24
"""More than there are."""
PENDING, CURSOR = "pending", "cursor"  # what decides


class State(NamedTuple):
    """What the rule remembers, one entry a member (`cursor`: one for the whole rule)."""

    pending: Ints
    """Messages handed over and not completed."""
    speed: Ints
    """Thousandths of the nominal speed."""
    cursor: Ints
    """[the member from which on one is looked for]"""


def choose(s: State, members: Indexes, start: int, stop: int) -> int:
    """Choose among members[start:stop], at least one, and hand over one message."""
    cursor = s.cursor[0]
    least = rank(s, members[start], cursor)
    for k in range(start, stop):
        found = rank(s, members[k], cursor)
        if found < least:  # noqa: PLR1730 - `min` is slow where nothing is compiled
            least = found
    best = least % MEMBERS
    served(s, best)
    return best


def rank(s: State, i: int, cursor: int) -> int:
    """Lowest first: by what is pending, then those from the cursor on, then by the order.

    One number that also holds the member, because the least of many is found several at a time.
    """
    return (2 * s.pending[i] + (i < cursor)) * MEMBERS + i


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


COMPILED = (rank, served, completed, returned, choose)


class FewestPending(TimedRule):
    """The fewest pending; ties to the first from the cursor on."""

    name = "fewest-pending"
    module = sys.modules[__name__]
    weighs_held = True
    whole = (*DUE, CURSOR)

    def __init__(self, speeds: list[int]) -> None:
        """`speeds` in thousandths of the nominal speed."""
        super().__init__()
        self.state = State([0] * len(speeds), list(speeds), [0])

    def choose(self, members: Sequence[int]) -> int:
        return choose(self.state, members, 0, len(members))

    def served(self, member: int) -> None:
        served(self.state, member)

    def completed(self, member: int) -> None:
        completed(self.state, member)

    def failed(self, member: int) -> None:
        self.state.pending[member] = 0

    def carried(self, before: Plain, places: Mapping[int, int]) -> Plain:
        """The cursor stays where it is; if that member has left, it is at the next one."""
        later = [here for here, there in places.items() if there >= before[CURSOR][0]]
        return {**super().carried(before, places), CURSOR: [min(later, default=0)]}

    def fits_int64(self, choices: int) -> bool:
        return 2 * (int(max(self.state.pending)) + choices + 1) * MEMBERS < INT64_END

    def compare(self, members: Sequence[int]) -> Comparison:
        s = self.state
        cursor = s.cursor[0]
        order = sorted(members, key=lambda i: (s.pending[i], i < cursor, i))
        if len(order) < 2:
            return Comparison(order)
        first, second = order[:2]
        more = s.pending[second] - s.pending[first]
        # With equally many pending the cursor decides.
        enough = more if (second < cursor, second) < (first < cursor, first) else more + 1
        decided = PENDING if more else CURSOR
        return Comparison(order, decided=decided, otherwise=Otherwise(PENDING, enough))
