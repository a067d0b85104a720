"""Completions to come: what rules need that know who is busy.

The heap is written once, in the part of Python that Numba compiles; what uses it lists
`HEAP` among what is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.balance.rules.integers import Ints

HALF_AWAY = 2  # completion times are rounded to the nearest microsecond, halves up
MILLI = 1000


class Due(NamedTuple):
    """Completions to come: a heap on (at, order), the first `size[0]` entries of each sequence."""

    at: Ints
    """Microseconds."""
    order: Ints
    """Number of the sending; completions of one instant happen in this order."""
    who: Ints
    size: Ints
    """[entries in use, number of the latest sending]"""


def work(service: int, speed: int) -> int:
    """How long a message is worked on (microseconds), at a speed in thousandths."""
    if speed == MILLI:
        return service  # a division costs as much as all the rest of a simple replay
    return (HALF_AWAY * service * MILLI + speed) // (HALF_AWAY * speed)


def push(due: Due, at: int, who: int) -> None:
    """Add one completion."""
    due.size[1] += 1
    order = due.size[1]
    place = due.size[0]
    due.size[0] += 1
    while place > 0:
        above = (place - 1) // 2
        if due.at[above] <= at:
            break
        move(due, above, place)
        place = above
    due.at[place] = at
    due.order[place] = order
    due.who[place] = who


def pop(due: Due) -> None:
    """Take the first completion away."""
    due.size[0] -= 1
    size = due.size[0]
    at, order, who = due.at[size], due.order[size], due.who[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and earlier(due, below + 1, due.at[below], due.order[below]):
            below += 1
        if not earlier(due, below, at, order):
            break
        move(due, below, place)
        place = below
    due.at[place] = at
    due.order[place] = order
    due.who[place] = who


def earlier(due: Due, place: int, at: int, order: int) -> bool:
    """Whether the completion at this place comes before (at, order)."""
    if due.at[place] != at:
        return due.at[place] < at
    return due.order[place] < order


def move(due: Due, source: int, target: int) -> None:
    """Copy one entry to another place."""
    due.at[target] = due.at[source]
    due.order[target] = due.order[source]
    due.who[target] = due.who[source]


HEAP = (work, move, earlier, push, pop)


def nothing_due() -> Due:
    """No completion to come."""
    return Due([], [], [], [0, 0])


def without(due: Due, i: int) -> Due:
    """The completions of everybody but member i."""
    rest = [(due.at[k], due.order[k], due.who[k]) for k in range(due.size[0]) if due.who[k] != i]
    rest.sort()
    at, order, who = (list(column) for column in zip(*rest, strict=True)) if rest else ([], [], [])
    return Due(at, order, who, [len(rest), due.size[1]])
