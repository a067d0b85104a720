"""Count attempts in one pass, while they pass: what Numba compiles.

Sums stand in tables with open addresses, by numbers that say of what they are. A table grows with
what is different, not with what is counted. One has bars, which are waits by kind and name; one has
ends, which are attempts by outcome, cluster and destination.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairlead.compiled.kernels import Int64s, compiled
from fairlead.compiled.numba_views import cells_of
from fairlead.measure.cells import (
    A_ROW,
    AGAIN,
    BAR,
    BAR_BITS,
    BARS_COUNT,
    BARS_ROOM,
    BUSY,
    CLUSTERS,
    DESTINATION,
    EMPTY,
    END,
    ENDS_COUNT,
    ENDS_ROOM,
    HIGH,
    KIND_BITS,
    LAST,
    LATE,
    LONGEST,
    LONGEST_LABEL,
    LONGEST_MESSAGE,
    LOW,
    LOW_HALF,
    MOST,
    PHASE,
    PRIORITY,
    QUEUE,
    ROWS,
    SLICE,
    SPREAD,
    STARTED,
    SUM,
    TENANT,
    UNSERVED,
    WAITING,
    WINDOW,
    WORK,
    WORKED,
    XOR,
    CellTables,
    Marks,
    N,
    Sent,
    Texts,
)
from fairlead.measure.row_hash import hash_of
from fairlead.measure.waits import EXACT, HALF, LESS
from fairlead.replay.batch import Attempts
from fairlead.replay.layout import NEVER, NONE
from fairlead.replay.words import (
    AGAIN_CODES,
    CONTROL_CODE,
    NOBODY_CODE,
    ROUTED_CODE,
)

SHIFT: Final = np.uint64(33)
"""Of what of a hash is summed up."""


def _place(keys: Int64s, rows: int, key: int) -> int:
    """Where a key stands in a table of so many rows, or could."""
    mask = rows - 1
    at = ((key * SPREAD) >> 32) & mask
    while keys[at] != key and keys[at] != EMPTY:
        at = (at + 1) & mask
    return at


def _moved(keys: Int64s, cells: Int64s, to_keys: Int64s, to_cells: Int64s, width: int) -> None:
    """Put all rows of a table into a larger one, which is empty."""
    for k in range(len(keys)):
        if keys[k] != EMPTY:
            at = place(to_keys, len(to_keys), keys[k])
            to_keys[at] = keys[k]
            for cell in range(width):
                to_cells[at * width + cell] = cells[k * width + cell]


def _row(t: CellTables, kind: int, name: int, bar: int) -> int:
    """The row of a bar."""
    key = (kind << KIND_BITS) + (name << BAR_BITS) + bar
    at = place(t.bar_keys, t.state[BARS_ROOM], key)
    if t.bar_keys[at] == EMPTY:
        t.bar_keys[at] = key
        t.state[BARS_COUNT] += 1
    bar_row: int = at * BAR
    return bar_row


def _add(t: CellTables, kind: int, name: int, bar: int, wait: int) -> None:
    """Add a wait to the bar of one name in one kind of table."""
    at = row(t, kind, name, bar)
    t.bars[at + N] += 1
    t.bars[at + HIGH] += wait >> HALF
    t.bars[at + LOW] += wait & LOW_HALF
    t.bars[at + MOST] = max(t.bars[at + MOST], wait)


def _move(t: CellTables, marks: Marks, kind: int, time: int, sign: int) -> None:
    """Somebody begins (1) or ends (-1) to be there."""
    stretch = time // marks.unit
    after = time - stretch * marks.unit
    at = row(t, kind, stretch - marks.first, 0)
    t.bars[at + N] += sign
    t.bars[at + HIGH] += sign * (after >> HALF)
    t.bars[at + LOW] += sign * (after & LOW_HALF)


def _end(
    a: Attempts,
    k: int,
    outcome: int,
    cluster: int,
    hashed: Any,  # noqa: ANN401
    t: CellTables,
    n: int,
) -> None:
    """Count how an attempt ended. `n`: how many labels there are."""
    key = (outcome * CLUSTERS + cluster) * n + a.label[k] + 1
    at = place(t.end_keys, t.state[ENDS_ROOM], key)
    e = at * END
    if t.end_keys[at] == EMPTY:
        t.end_keys[at] = key
        t.state[ENDS_COUNT] += 1
        t.ends[e + LAST] = NEVER
    t.ends[e + ROWS] += 1
    t.ends[e + AGAIN] += a.attempt[k] > 1
    if a.start[k] != NEVER:
        t.ends[e + STARTED] += 1
        if a.finish[k] != NEVER:
            t.ends[e + WORKED] += 1
            t.ends[e + BUSY] += a.finish[k] - a.start[k]
    elif outcome == ROUTED_CODE:
        t.ends[e + WAITING] += 1
    t.ends[e + LAST] = max(t.ends[e + LAST], a.finish[k])
    t.ends[e + XOR] ^= np.int64(hashed)
    t.ends[e + SUM] += np.int64(hashed >> SHIFT)


def _time_there(a: Attempts, k: int, outcome: int, sent: int, t: CellTables, marks: Marks) -> None:
    """Count when it was waiting, and when it was worked on."""
    until = a.finish[k]
    if a.start[k] != NEVER:
        until = a.start[k]
        move(t, marks, WORK, a.start[k], 1)
        if a.finish[k] != NEVER:
            move(t, marks, WORK, a.finish[k], -1)
    if until != NEVER:
        if until != a.since[k]:
            move(t, marks, QUEUE, a.since[k], 1)
            move(t, marks, QUEUE, until, -1)
    elif outcome == ROUTED_CODE:
        move(t, marks, QUEUE, sent, 1)  # to the end


def _bar_of(wait: int) -> int:
    """The number of a wait's bar."""
    shift = 0
    while (wait >> shift) >= 1 << EXACT:
        shift += 1
    return (shift << EXACT) + (wait >> shift)


def _waited(
    wait: int, m: int, label: int, s: Sent, texts: Texts, marks: Marks, t: CellTables
) -> None:
    """Count the wait of a message that was started."""
    bar = bar_of(wait)
    add(t, DESTINATION, texts.names[label + 1], bar, wait)
    if marks.priorities:
        add(t, PRIORITY, s.priorities[m] + 1, bar, wait)
    if marks.tenants:
        add(t, TENANT, s.tenants[m], bar, wait)
    sent = s.times[m]
    if marks.phase_count:
        phase = 0
        while phase < marks.phase_count and marks.phases[phase] <= sent:
            phase += 1
        add(t, PHASE, phase, bar, wait)
    for w in range(marks.window_count):
        if marks.windows[2 * w] <= sent < marks.windows[2 * w + 1]:
            add(t, WINDOW + w, 0, bar, wait)
    if not marks.in_full:
        return
    shift = bar >> EXACT
    while (wait >> shift) >= 1 << (EXACT - LESS):
        shift += 1
    bar = (shift << EXACT) + (wait >> shift)
    add(t, SLICE, sent // marks.unit - marks.first, bar, wait)


def _count(
    start: int,
    attempts: Attempts,
    base: int,
    sent: Sent,
    texts: Texts,
    marks: Marks,
    tables: CellTables,
) -> int:
    """Count attempts from one on; returns how far it came before a table was too full.

    `base`: the number of the first message in `sent`.
    """
    a, s, words, m, t = bare(attempts, sent, texts, marks, tables)
    more = A_ROW + m.window_count
    n = len(attempts.message)
    for k in range(start, n):
        if 2 * (t.state[BARS_COUNT] + more) > t.state[BARS_ROOM]:
            return k
        if 2 * (t.state[ENDS_COUNT] + 1) > t.state[ENDS_ROOM]:
            return k
        one(k, a, base, s, words, m, t)
    return n


def _bare(attempts: Attempts, sent: Sent, texts: Texts, marks: Marks, tables: CellTables) -> Any:  # noqa: ANN401
    """The same without lengths: they are handed on in one word each, and nobody counts that."""
    return (
        Attempts(
            cells_of(attempts.message),
            cells_of(attempts.sequence),
            cells_of(attempts.outcome),
            cells_of(attempts.label),
            cells_of(attempts.attempt),
            cells_of(attempts.reader),
            cells_of(attempts.since),
            cells_of(attempts.start),
            cells_of(attempts.finish),
        ),
        Sent(
            cells_of(sent.times),
            cells_of(sent.hashes),
            cells_of(sent.clusters),
            cells_of(sent.priorities),
            cells_of(sent.tenants),
            cells_of(sent.groups),
        ),
        Texts(
            cells_of(texts.data),
            cells_of(texts.starts),
            cells_of(texts.there),
            cells_of(texts.names),
            texts.labels,
        ),
        Marks(
            cells_of(marks.phases),
            cells_of(marks.windows),
            marks.phase_count,
            marks.window_count,
            marks.priorities,
            marks.tenants,
            marks.first,
            marks.unit,
            marks.dated,
            marks.in_full,
        ),
        bare_tables(tables),
    )


def _bare_tables(tables: CellTables) -> CellTables:
    """The tables' arrays as cells without a length."""
    return CellTables(
        cells_of(tables.bar_keys),
        cells_of(tables.bars),
        cells_of(tables.end_keys),
        cells_of(tables.ends),
        cells_of(tables.state),
        cells_of(tables.starts),
    )


def _one(
    k: int, a: Attempts, base: int, s: Sent, texts: Texts, marks: Marks, t: CellTables
) -> None:
    """Count an attempt."""
    m = a.message[k] - base
    outcome = a.outcome[k]
    if outcome == NONE:
        outcome = NOBODY_CODE if a.label[k] == NONE else ROUTED_CODE
    hashed = np.uint64(0)
    if marks.in_full:
        hashed = hash_of(a, k, outcome, s.hashes[m], texts, marks)
    end(a, k, outcome, s.clusters[m], hashed, t, texts.labels)
    if marks.in_full:
        time_there(a, k, outcome, s.times[m], t, marks)
    again = outcome in AGAIN_CODES
    if again or a.start[k] == NEVER:
        return
    since = s.times[m] if a.attempt[k] > 1 else a.since[k]
    wait = a.start[k] - since
    waited(wait, m, a.label[k], s, texts, marks, t)
    if t.starts[m] == NEVER or a.start[k] < t.starts[m]:
        t.starts[m] = a.start[k]
    before = t.state[LONGEST_MESSAGE], t.state[LONGEST_LABEL]
    if wait > t.state[LONGEST] or (
        wait == t.state[LONGEST] and (a.message[k], a.label[k]) < before
    ):
        t.state[LONGEST] = wait
        t.state[LONGEST_MESSAGE] = a.message[k]
        t.state[LONGEST_LABEL] = a.label[k]


def _look(
    start: int, a: Attempts, times: Int64s, limit: int, late: Int64s, tables: CellTables
) -> int:
    """Count waits only, from one attempt on; the state gets LATE and UNSERVED.

    `late`: gets the messages that waited longer than `limit`. Returns how far it came before the
    table was too full.
    """
    t = bare_tables(tables)
    for k in range(start, len(a.message)):
        if 2 * (t.state[BARS_COUNT] + 1) > t.state[BARS_ROOM]:
            return k
        if a.outcome[k] in AGAIN_CODES:
            continue
        if a.start[k] == NEVER:
            t.state[UNSERVED] += a.outcome[k] != CONTROL_CODE
            continue
        since = times[a.message[k]] if a.attempt[k] > 1 else a.since[k]
        wait = a.start[k] - since
        add(t, DESTINATION, 0, bar_of(wait), wait)
        if wait > limit:
            late[t.state[LATE]] = a.message[k]
            t.state[LATE] += 1
    return len(a.message)


def _close(stop: int, s: Sent, starts: Int64s, latest: Int64s, torn: NDArray[np.bool_]) -> None:
    """Look at the order inside groups of the first messages, which are over.

    `latest`: by the group, the latest start of its messages before; NEVER where there is none.
    """
    for m in range(stop):
        group = s.groups[m]
        if group != NONE and starts[m] != NEVER:
            if starts[m] < latest[group]:
                torn[group] = True
            latest[group] = max(latest[group], starts[m])


place: Any = compiled(_place)
moved: Any = compiled(_moved, _place)
row: Any = compiled(_row, _place)
add: Any = compiled(_add, _row, _place)
move: Any = compiled(_move, _row, _place)
end: Any = compiled(_end, _place)
time_there: Any = compiled(_time_there, _move, _row, _place)
bar_of: Any = compiled(_bar_of)
waited: Any = compiled(_waited, _bar_of, _add, _row, _place)
look: Any = compiled(_look, _bar_of, _add, _row, _place)
one: Any = compiled(_one, _end, _time_there, _waited, _add, _row, _place)
bare_tables: Any = compiled(_bare_tables)
bare: Any = compiled(_bare, _bare_tables)
count: Any = compiled(_count, _bare, _one, _end, _time_there, _waited, _add, _row, _place)
close: Any = compiled(_close)
