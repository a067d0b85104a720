"""What stands where in the tables of a meter, and what its kernel is given."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairlead.compiled.kernels import Int64s
from fairlead.measure.waits import HALF

EMPTY: Final = -1
"""The key of a row that has nothing."""
BAR_BITS: Final = 16
NAME_BITS: Final = 40
KIND_BITS: Final = BAR_BITS + NAME_BITS

DESTINATION: Final = 0
PRIORITY: Final = 1
TENANT: Final = 2
PHASE: Final = 3
SLICE: Final = 4
"""The stretch of time in which a message was sent; its bars are coarser."""
QUEUE: Final = 5
WORK: Final = 6
"""Of these two: how many began to wait, or to be worked on, in a stretch, less those that ended to;
and how long after its beginning. They have one bar."""
WINDOW: Final = 7
"""Of the first window; those of others follow."""

N: Final = 0
HIGH: Final = 1
LOW: Final = 2
MOST: Final = 3
BAR: Final = 4
"""Cells of a row of bars: how many, both halves of their sum, and the longest."""

ROWS: Final = 0
WAITING: Final = 1
AGAIN: Final = 2
STARTED: Final = 3
WORKED: Final = 4
"""Those of which it is known how long they were worked on."""
BUSY: Final = 5
LAST: Final = 6
XOR: Final = 7
SUM: Final = 8
END: Final = 9
"""Cells of a row of ends."""

BARS_COUNT: Final = 0
ENDS_COUNT: Final = 1
LONGEST: Final = 2
LONGEST_MESSAGE: Final = 3
LONGEST_LABEL: Final = 4
LATE: Final = 5
"""Where only waits are counted: how many waited longer than a limit."""
UNSERVED: Final = 6
"""... and how many were never started."""
BARS_ROOM: Final = 7
"""Rows of the table: a power of two."""
ENDS_ROOM: Final = 8
STATE: Final = 9

A_ROW: Final = 9
"""So many bars an attempt adds to at most, beside those of windows."""
LOW_HALF: Final = (1 << HALF) - 1
SPREAD: Final = 0x2545F4914F6CDD1D
CLUSTERS: Final = 1 << 24
"""Names of clusters are fewer."""


class Sent(NamedTuple):
    """Of each message that is not over, by its number less that of the first one: columns."""

    times: Int64s
    hashes: Int64s
    """Of the ids."""
    clusters: Int64s
    """By the number of what it calls its cluster."""
    priorities: Int64s
    """NONE where none is said."""
    tenants: Int64s
    groups: Int64s
    """NONE for a message that is a group of its own."""


class Texts(NamedTuple):
    """What decisions are called: bytes, from each start to the next."""

    data: NDArray[np.uint8]
    starts: Int64s
    """Of the destination and the address of nobody and then of each label; then of outcomes."""
    there: NDArray[np.uint8]
    """1: there is one."""
    names: Int64s
    """By the label, after nobody's: the number of its destination's name."""
    labels: int
    """How many there are, nobody's among them."""


class Marks(NamedTuple):
    """What messages are told apart by; microseconds."""

    phases: Int64s
    """When phases begin, but for the first."""
    windows: Int64s
    """Start and end of each."""
    phase_count: int
    window_count: int
    priorities: bool
    """Whether messages have such a column."""
    tenants: bool
    first: int
    """The first stretch of time: how many were before it."""
    unit: int
    """How long a stretch is."""
    dated: bool
    """Whether times are dates, not plain seconds."""
    in_full: bool
    """Whether rows are hashed, and it is counted when messages waited and were worked on."""


class CellTables(NamedTuple):
    """Where sums stand: keys, and their cells one row after another."""

    bar_keys: Int64s
    bars: Int64s
    end_keys: Int64s
    ends: Int64s
    state: Int64s
    starts: Int64s
    """By the message, as in `Sent`: the first start that counts, or NEVER."""
