"""What was measured of one scenario, as plain data that travels; made of a meter's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from fairlead.compiled.kernels import Int64s
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.measure import cells
from fairlead.measure.attempts import End
from fairlead.measure.histograms import Bars, waits, whole
from fairlead.measure.waits import HALF, in_order, phase_times
from fairlead.replay.layout import NEVER
from fairlead.replay.words import CODED_WORDS
from fairlead.results.comparison import Waits

WHOLE: Final = np.dtype("<i8")
NAMES: Final = (1 << cells.NAME_BITS) - 1
BARS: Final = (1 << cells.BAR_BITS) - 1


@dataclass(frozen=True)
class Farthest:
    """The message that waited longest, the first in order of equals."""

    message: int
    """The message's number."""
    destination: str
    wait: int
    """How long it waited, in microseconds."""


@dataclass(frozen=True)
class Moves:
    """How many came and went, by the stretch of time: columns, ascending by it."""

    stretch: list[int] = field(default_factory=list)
    """How many stretches were before it, since time began to count."""
    more: list[int] = field(default_factory=list)
    """How many began to be there, less those that ended to."""
    after: list[int] = field(default_factory=list)
    """Microseconds from the stretch's beginning until they began, less those until they ended."""


@dataclass(frozen=True)
class Slices:
    """Histograms of waits by the stretch of time in which messages were sent: a row for each bar.

    Columns of WHOLE as bytes, which travel fast; ascending by stretch, and in it by wait.
    """

    stretch: bytes = b""
    bar: bytes = b""
    n: bytes = b""
    most: bytes = b""
    """The longest wait of the bar, in microseconds."""


@dataclass(frozen=True)
class Measured:
    """All that was counted of one scenario."""

    ends: list[End]
    waits: Waits | None
    """Of all; None: no message was started."""
    by_destination: list[Waits]
    by_priority: list[Waits]
    by_tenant: list[Waits]
    by_phase: list[Waits]
    by_window: list[Waits | None]
    """Window by window; None: no message of it was started."""
    slices: Slices
    queue: Moves
    work: Moves
    groups: int
    torn: int
    """In how many of them the order was not kept."""
    longest: Farthest | None
    """None: no message was started."""


NOTHING: Final = Measured(
    [], None, [], [], [], [], [], Slices(), Moves(), Moves(), groups=0, torn=0, longest=None
)
"""What is measured of a scenario without a message."""


class MeterRows(NamedTuple):
    """A meter's tables: their keys, ascending, and a row of cells for each."""

    bar_keys: Int64s
    bars: Int64s
    end_keys: Int64s
    ends: Int64s
    state: Int64s


class TableWords(NamedTuple):
    """What numbers in the tables stand for."""

    destinations: Sequence[str]
    clusters: Sequence[str]
    tenants: Sequence[str]


def measured(
    counted: MeterRows,
    plan: ClassifiedPlan,
    words: TableWords,
    *,
    first: int,
    windows: int,
    groups: int,
    torn: int,
) -> Measured:
    """What the tables say. `first`: how many stretches of time were before those in the tables."""
    bars = _bars(counted, cells.DESTINATION)
    phases = waits(_bars(counted, cells.PHASE), str)
    return Measured(
        ends=_ends(counted, plan, words.clusters),
        waits=whole(bars),
        by_destination=waits(bars, lambda k: words.destinations[k]),
        by_priority=waits(_bars(counted, cells.PRIORITY), lambda k: str(k - 1) if k else ""),
        by_tenant=waits(_bars(counted, cells.TENANT), lambda k: words.tenants[k]),
        by_phase=in_order(phases, phase_times(plan)),
        by_window=[whole(_bars(counted, cells.WINDOW + k)) for k in range(windows)],
        slices=_slices(_bars(counted, cells.SLICE), first),
        queue=_moves(_bars(counted, cells.QUEUE), first),
        work=_moves(_bars(counted, cells.WORK), first),
        groups=groups,
        torn=torn,
        longest=_longest(counted.state, plan),
    )


def _bars(counted: MeterRows, kind: int) -> Bars:
    """The bars of a kind."""
    edges = [kind << cells.KIND_BITS, (kind + 1) << cells.KIND_BITS]
    start, stop = np.searchsorted(counted.bar_keys, edges)
    keys = counted.bar_keys[start:stop]
    columns = counted.bars[start:stop].T
    return Bars((keys >> cells.BAR_BITS) & NAMES, keys & BARS, *columns)


def _slices(bars: Bars, first: int) -> Slices:
    columns = (bars.name + first, bars.bar, bars.n, bars.most)
    return Slices(*(column.astype(WHOLE).tobytes() for column in columns))


def _moves(bars: Bars, first: int) -> Moves:
    halves = zip(bars.high.tolist(), bars.low.tolist(), strict=True)
    after = [(high << HALF) + low for high, low in halves]
    return Moves((bars.name + first).tolist(), bars.n.tolist(), after)


def _ends(counted: MeterRows, plan: ClassifiedPlan, clusters: Sequence[str]) -> list[End]:
    """How it ended with the rows, by outcome, cluster and destination."""
    names = [None, *plan.codes.destination]
    ends = []
    for key, row in zip(counted.end_keys.tolist(), counted.ends.tolist(), strict=True):
        rest, label = divmod(key, len(names))
        outcome, cluster = divmod(rest, cells.CLUSTERS)
        rows, waiting, again, started, worked, busy, last, xor, total = row
        ends.append(
            End(
                outcome=CODED_WORDS[outcome],
                cluster=clusters[cluster],
                destination=names[label],
                rows=rows,
                waiting=waiting,
                redeliveries=again,
                started=started,
                busy=busy if worked else None,
                last=None if last == NEVER else last,
                xor=xor,
                sum=total,
            )
        )
    return ends


def _longest(state: Int64s, plan: ClassifiedPlan) -> Farthest | None:
    wait = int(state[cells.LONGEST])
    if wait == NEVER:
        return None
    destination = plan.codes.destination[int(state[cells.LONGEST_LABEL])]
    return Farthest(int(state[cells.LONGEST_MESSAGE]), destination or "", wait)
