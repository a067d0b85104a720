"""A timetable: who gets the messages of one stream, by their places, known before they come.

Where a stream's choices have a closed form, what its messages get repeats after a while, as long as
nothing changes: the k-th message of a block and a version takes the k-th place of a cycle. So
whoever can count can route.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from fairlead.compiled.plan import NO_STREAM, ClassifiedPlan
from fairlead.compiled.router import Router

LONGEST: Final = 10_000
"""Messages after which a cycle must repeat."""
MOST_SEGMENTS: Final = 20_000
MOST_CELLS: Final = 500_000
"""Of all cycles together; they travel in the plan of every task."""

Counts = Mapping[int, Mapping[int, Mapping[int, int]]]
"""block → version → class code → messages."""


@dataclass
class Timetable:
    """Cycles of codes, and where each block and version begins in which of them."""

    cycles: list[tuple[int, ...]]
    starts: list[list[int]]
    """By block and version: the place in the block of its first message."""
    which: list[list[int]]
    """... and its cycle."""
    turns: list[list[int]]
    """... and the place in the cycle at which it begins."""
    sequences: list[int]
    """By block: the place in the stream of its first message."""
    heads: list[tuple[int, ...]]
    """What the first messages get that are not in their cycle yet; the first head is empty."""
    head_of: list[list[int]]
    """By block and version: which head it has."""


def timetable(
    plan: ClassifiedPlan, counts: Counts, states: Sequence[Mapping[str, Any]]
) -> Timetable | None:
    """The timetable of messages that are all of one class; None where there is none.

    `counts`: how many there are in each block and version; `states`: the router's state at the
    start of each block.
    """
    versions = len(plan.times) + 1
    one = len(plan.classes) == 1 and plan.stream_of[0] != NO_STREAM
    if not one or plan.keyed or plan.binds or len(states) * versions > MOST_SEGMENTS:
        return None
    found = Timetable([], [], [], [], [], [], [])
    places: dict[tuple[int, ...], int] = {}
    heads: dict[tuple[int, ...], int] = {(): 0}
    for block, state in enumerate(states):
        router = Router(plan)
        router.load(state)
        found.sequences.append(int(router.upcoming[plan.stream_of[0]]))
        start, which, turns, head_of = ([0] * versions for _ in range(4))
        first = 0
        for version, classes in sorted(counts.get(block, {}).items()):
            n = classes.get(0, 0)
            gets = _what_they_get(router, plan.times[version - 1] if version else None, n)
            if gets is None:
                return None
            start[version], first = first, first + n
            head_of[version] = heads.setdefault(gets.head, len(heads))
            which[version], turns[version] = _placed(gets.cycle, places)
        found.starts.append(start)
        found.which.append(which)
        found.turns.append(turns)
        found.head_of.append(head_of)
        if sum(map(len, (*places, *heads))) > MOST_CELLS:
            return None
    found.cycles, found.heads = [*places] or [(0,)], [*heads]
    return found


class Gets(NamedTuple):
    """What messages get: a head, and then a cycle over and over, as if there had been no head."""

    head: tuple[int, ...]
    cycle: tuple[int, ...]


def _what_they_get(router: Router, time: int | None, n: int) -> Gets | None:
    """What the next n messages get; goes past them. None where only their order can tell."""
    run = router.run_of(0)
    if run is None:
        return None
    if time is not None:
        run.catch_up(time)
    period = run.repeats_after(n, LONGEST)
    if period is None:
        return None
    trial = Router(router.plan)
    trial.load(router.dump())
    codes = trial.feed(np.zeros(min(n, 2 * period), np.int32)).tolist()
    if not router.advance(None, {0: n}):
        return None
    if n <= 2 * period:
        return Gets((), tuple(codes) or (0,))
    # The first period may not be like all others yet.
    first, again = tuple(codes[:period]), tuple(codes[period:])
    return Gets(() if first == again else first, again)


def _placed(cycle: tuple[int, ...], places: dict[tuple[int, ...], int]) -> tuple[int, int]:
    """The number of a cycle, and where in it this one begins: a later block is further in it."""
    least = _first_turn(cycle)
    turned = cycle[least:] + cycle[:least]
    number = places.setdefault(turned, len(places))
    return number, (len(cycle) - least) % len(cycle)


def _first_turn(cycle: tuple[int, ...]) -> int:
    """Where the least of all rotations begins (Booth 1980)."""
    doubled = cycle + cycle
    failure = [-1] * len(doubled)
    least = 0
    for at in range(1, len(doubled)):
        found = failure[at - least - 1]
        while found != -1 and doubled[at] != doubled[least + found + 1]:
            if doubled[at] < doubled[least + found + 1]:
                least = at - found - 1
            found = failure[found]
        if found == -1 and doubled[at] != doubled[least]:
            if doubled[at] < doubled[least]:
                least = at
            failure[at - least] = -1
        else:
            failure[at - least] = found + 1
    return least % len(cycle)
