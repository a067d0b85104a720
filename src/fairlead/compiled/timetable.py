"""A timetable: who gets the messages of streams, by their places, known before they come.

Where the choices for a stream have a closed form, what its messages get repeats after a while, as
long as nothing changes: the k-th message of a version takes the k-th place of a cycle. Who lags
after a change gets all messages until it has caught up: a cycle before the cycle. So whoever can
count can route.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from fairlead.compiled.plan import NO_STREAM, ClassifiedPlan
from fairlead.compiled.router import Router
from fairlead.compiled.run import ClusterRun

LONGEST: Final = 10_000
"""Messages after which a cycle must repeat."""
FEW: Final = 1_000
"""Messages that are all written down where somebody lags, and what they get does not repeat."""
MOST_OF_VERSION: Final = 8
"""Segments of a stream in one version; each row is compared with all of them."""
NEVER: Final = 1 << 62
MOST_SEGMENTS: Final = 200_000
MOST_CELLS: Final = 500_000
"""Of all cycles together; they travel in the plan of every task."""
NO_PLACE: Final = -1
"""The sequence of a message of no stream."""

Counts = Mapping[int, Mapping[int, Mapping[int, int]]]
"""block → version → class code → messages."""


@dataclass
class Timetable:
    """Cycles of codes, and which segment of a stream takes which of them.

    A version is one segment of a stream, or several where somebody has to catch up with the others.
    """

    sequences: list[list[int]]
    """By block and class: the place in its stream of the first message, NO_PLACE without one."""
    cycles: list[tuple[int, ...]] = field(default_factory=list)
    heads: list[tuple[int, ...]] = field(default_factory=list)
    """What the first messages get that are not in their cycle yet; the first head is empty."""
    first: list[list[int]] = field(default_factory=list)
    """By version and class: the number of its first segment; the next has the next number."""
    later: list[list[list[int]]] = field(default_factory=list)
    """By version and class: the place in the stream at which a further segment begins, or NEVER."""
    since: list[int] = field(default_factory=list)
    """By segment: the place in the stream of the first message."""
    which: list[int] = field(default_factory=list)
    """... and its cycle."""
    turns: list[int] = field(default_factory=list)
    """... and the place in the cycle at which it begins."""
    head_of: list[int] = field(default_factory=list)
    """... and which head it has."""


def timetable(
    plan: ClassifiedPlan, counts: Counts, blocks: int, start: Mapping[str, Any]
) -> Timetable | None:
    """The timetable of a table's messages; None where there is none for each of their streams.

    `counts`: how many there are in each of the `blocks`, by version and class; `start`: the
    router's state before them.
    """
    classes, versions = range(len(plan.classes)), len(plan.times) + 1
    router = Router(plan)
    router.load(start)
    if max(blocks, versions) * len(classes) > MOST_SEGMENTS or not _alone(router):
        return None
    table = Timetable(_sequences(router, counts, blocks))
    upcoming = list(table.sequences[0])
    cycles: dict[tuple[int, ...], int] = {}
    heads: dict[tuple[int, ...], int] = {(): 0}
    begins: dict[tuple[int, int], list[int]] = {}
    for version in range(versions):
        time = plan.times[version - 1] if version else None
        every = [counts.get(block, {}).get(version, {}) for block in range(blocks)]
        table.first.append([])
        for code in classes:
            n = sum(block_counts.get(code, 0) for block_counts in every)
            segments = _what_they_get(router, code, time, n)
            if segments is None:
                return None
            table.first[version].append(len(table.since))
            at = begins[version, code] = []
            for gets in segments:
                at.append(upcoming[code])
                table.since.append(upcoming[code])
                table.head_of.append(heads.setdefault(gets.head, len(heads)))
                which, turn = _placed(gets.cycle, cycles)
                table.which.append(which)
                table.turns.append(turn)
                upcoming[code] += gets.messages if upcoming[code] != NO_PLACE else 0
        if sum(map(len, (*cycles, *heads))) > MOST_CELLS:
            return None
    table.cycles, table.heads = [*cycles], [*heads]
    most = max(map(len, begins.values()), default=1)
    table.later = [
        [
            [at[k] if k < len(at) else NEVER for at in (begins[version, code] for code in classes)]
            for version in range(versions)
        ]
        for k in range(1, most)
    ]
    return table


def _alone(router: Router) -> bool:
    """Whether no class has messages of the same stream, or chosen for together, beside it."""
    plan = router.plan
    of_run = Counter(map(id, filter(None, map(router.run_of, range(len(plan.classes))))))
    of_stream = Counter(stream for stream in plan.stream_of if stream != NO_STREAM)
    return max((*of_run.values(), *of_stream.values()), default=1) == 1


def _sequences(router: Router, counts: Counts, blocks: int) -> list[list[int]]:
    streams = router.plan.stream_of
    upcoming = [
        NO_PLACE if stream == NO_STREAM else int(router.upcoming[stream]) for stream in streams
    ]
    sequences = []
    for block in range(blocks):
        sequences.append(list(upcoming))
        for classes in counts.get(block, {}).values():
            for code, n in classes.items():
                upcoming[code] += n if upcoming[code] != NO_PLACE else 0
    return sequences


class Gets(NamedTuple):
    """What so many messages get: a head, and then a cycle over and over, as if there were none."""

    messages: int
    head: tuple[int, ...]
    cycle: tuple[int, ...]


def _what_they_get(router: Router, code: int, time: int | None, n: int) -> list[Gets] | None:
    """What the next n messages of a class get; goes past them. None where only order can tell."""
    run = router.run_of(code)
    if not n:
        return [Gets(0, (), (0,))]
    if run is None:  # an order, or a message for a cluster that is not there
        return [Gets(n, (), tuple(router.feed(np.array([code], np.int32)).tolist()))]
    if run.cluster.rule.keyed:
        return None
    if time is not None:
        run.catch_up(time)
    segments: list[Gets] = []
    while n:
        stretch = _stretch(run, n, last=len(segments) == MOST_OF_VERSION - 1)
        gets = None if stretch is None else _of_stretch(run, *stretch)
        if gets is None:
            return None
        segments.append(gets)
        n -= gets.messages
    return segments


def _stretch(run: ClusterRun, n: int, *, last: bool) -> tuple[int, int] | None:
    """A period and for how many of the next n messages it holds; `last`: for all of them."""
    stretch = run.stretch(n, LONGEST)
    if stretch is None or stretch[1] == n:
        return stretch
    if n <= (LONGEST if last else FEW):
        return n, n
    return None if last else stretch


def _of_stretch(run: ClusterRun, period: int, n: int) -> Gets | None:
    """What the next n messages get, which repeats after a period; goes past them."""
    codes = _next(run, min(n, 2 * period))
    if not run.advance(None, {0: n}):
        return None
    if n <= 2 * period:
        return Gets(n, (), codes)
    # The first period may not be like all others yet.
    first, again = codes[:period], codes[period:]
    return Gets(n, () if first == again else first, again)


def _next(run: ClusterRun, n: int) -> tuple[int, ...]:
    """What the next n messages of its only class get, as long as nothing changes."""
    before = run.dump()
    codes = run.feed(np.zeros(n, np.int32), None).tolist()
    run.load(before)
    return tuple(codes)


def _placed(cycle: tuple[int, ...], places: dict[tuple[int, ...], int]) -> tuple[int, int]:
    """The number of a cycle, and where in it this one begins: a later version is further in it."""
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
        border = failure[at - least - 1]
        while border != -1 and doubled[at] != doubled[least + border + 1]:
            if doubled[at] < doubled[least + border + 1]:
                least = at - border - 1
            border = failure[border]
        if border == -1 and doubled[at] != doubled[least]:
            if doubled[at] < doubled[least]:
                least = at
            failure[at - least] = -1
        else:
            failure[at - least] = border + 1
    return least % len(cycle)
