"""Tables with open addresses: keys, and a row of cells for each."""

from __future__ import annotations

from typing import Final

import numpy as np

from fairlead.compiled.kernels import Int64s
from fairlead.measure.cells import (
    BAR,
    BARS_COUNT,
    BARS_ROOM,
    EMPTY,
    END,
    ENDS_COUNT,
    ENDS_ROOM,
    LONGEST,
    STATE,
    CellTables,
)
from fairlead.measure.kernel import moved
from fairlead.replay.layout import NEVER

ROOM: Final = 1 << 9
"""Rows of a table at first: a power of two, as later ones are."""


def empty() -> CellTables:
    """Tables of nothing."""
    state = np.zeros(STATE, np.int64)
    state[LONGEST] = NEVER
    state[BARS_ROOM] = state[ENDS_ROOM] = ROOM
    return CellTables(*_table(BAR, ROOM), *_table(END, ROOM), state, np.empty(0, np.int64))


def bars_of(t: CellTables) -> tuple[Int64s, Int64s]:
    """The keys of bars, ascending, and their cells, a row each."""
    return _filled(t.bar_keys, t.bars, BAR)


def ends_of(t: CellTables) -> tuple[Int64s, Int64s]:
    """The keys of ends, ascending, and their cells, a row each."""
    return _filled(t.end_keys, t.ends, END)


def grown(t: CellTables, more: int) -> CellTables:
    """The same with room for so many bars more, and for one end; the state is kept."""
    if 2 * (t.state[BARS_COUNT] + more) > t.state[BARS_ROOM]:
        bar_keys, bars = _larger(t.bar_keys, t.bars, BAR)
        t = t._replace(bar_keys=bar_keys, bars=bars)
    if 2 * (t.state[ENDS_COUNT] + 1) > t.state[ENDS_ROOM]:
        end_keys, ends = _larger(t.end_keys, t.ends, END)
        t = t._replace(end_keys=end_keys, ends=ends)
    t.state[BARS_ROOM], t.state[ENDS_ROOM] = len(t.bar_keys), len(t.end_keys)
    return t


def _table(width: int, rows: int) -> tuple[Int64s, Int64s]:
    return np.full(rows, EMPTY), np.zeros(rows * width, np.int64)


def _larger(keys: Int64s, cells: Int64s, width: int) -> tuple[Int64s, Int64s]:
    table = _table(width, 4 * len(keys))
    moved(keys, cells, *table, width)
    return table


def _filled(keys: Int64s, cells: Int64s, width: int) -> tuple[Int64s, Int64s]:
    some = np.flatnonzero(keys != EMPTY)
    order = some[np.argsort(keys[some])]
    return keys[order], cells.reshape(-1, width)[order]
