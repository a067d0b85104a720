"""The events of a replay, in order of time: completions, then arrivals, then readers look for work.

One instant goes through the phases CLOSED → COMPLETING → OPEN → CLOSED. What can need room (a new
row of a table) says so before it changes anything, so the kernel can stop at any event and go on
in larger tables.

Everything here is in the part of Python that Numba compiles. `completed` and `returned` are those
of the cluster's choice rule, whose state is `rule`.
"""

from __future__ import annotations

from typing import Any, Final

from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.compiled.numba_views import cells_of, lent
from fairlead.replay import agenda, completions, jobs, readers, timeouts, who
from fairlead.replay.agenda import best, enter, place, tick
from fairlead.replay.arrays import Columns
from fairlead.replay.completions import cancel, pop
from fairlead.replay.groups import drop_group
from fairlead.replay.jobs import again, collect, new_job, over
from fairlead.replay.layout import (
    NEVER,
    NONE,
    arrival,
    completion,
    group,
    header,
    job,
    queue,
    reader,
    watch,
)
from fairlead.replay.readers import complete, given, look, rest, undo
from fairlead.replay.timeouts import hand_back, time_out
from fairlead.replay.who import assign_waiting, copies, decide, room, touch, wait_unassigned
from fairlead.replay.words import CONTROL_CODE

FOREVER: Final = 1 << 62


def come(m: Ints, a: Indexes, rule: Any, cells: Ints, n: int, k: int) -> bool:  # noqa: ANN401
    """A message arrives; False: there must be more room.

    `cells`: one column after another, n cells each.
    """
    code = cells[job.CLASS * n + k]
    if not room(m, 1 if code == arrival.CONTROL else copies(m, code)):
        return False
    j = new_job(m)
    for column in range(job.CLASS, arrival.SIZE):
        m[j + column] = cells[column * n + k]
    m[j + job.MESSAGE] = cells[job.MESSAGE * n + k]
    m[j + job.ATTEMPT] = 1
    m[j + job.SHARED] = 0
    m[j + job.SINCE] = m[header.NOW]
    for column in (job.MEMBER, job.QUEUE, job.READER, job.LABEL, job.OUTCOME, job.WATCH):
        m[j + column] = NONE
    m[j + job.START] = m[j + job.FINISH] = NEVER
    if code == arrival.CONTROL:
        raise_group(m, m[j + job.GROUP], m[j + job.PRIORITY])
        over(m, j, CONTROL_CODE)
    elif m[m[header.UNASSIGNED] + queue.WAITING] > 0 or not decide(m, a, rule, j):
        wait_unassigned(m, j)
    return True


def raise_group(m: Ints, name: int, priority: int) -> None:
    """A group is raised wherever it has been; unassigned, where something of it waits."""
    if name == NONE or m[header.FIFO] == 1:
        return
    if priority == NONE:
        priority = m[header.DEFAULT_PRIORITY]
    g = m[m[header.GROUP_OF] + name]
    while g != NONE:
        q = m[g + group.QUEUE]
        if q != m[header.UNASSIGNED] or m[g + group.HEAD] != NONE:
            enter(m, g, priority)
            touch(m, q)
        g = m[g + group.NEXT]


# Time


def complete_all(m: Ints, rule: Any) -> bool:  # noqa: ANN401
    """All completions of this instant, then all timeouts; False: there must be more room."""
    while m[header.COMPLETION_COUNT] > 0:
        d = m[header.COMPLETIONS]
        if m[d + completion.AT] > m[header.NOW]:
            break
        r = m[d + completion.WHO]
        j = m[r + reader.JOB]
        if m[j + job.ROLLBACKS] > 0 and m[header.JOBS_LEFT] < given(m, m[r + reader.GROUP]):
            return False
        pop(m)
        complete(m, rule, r)
    if m[header.OLDEST_WATCH] != NONE:
        time_out(m, rule)
    return True


def coming(m: Ints, time: int) -> int:
    """When something happens of itself, at this time at the latest."""
    if m[header.COMPLETION_COUNT] > 0:
        time = min(time, m[m[header.COMPLETIONS] + completion.AT])
    if m[header.OLDEST_WATCH] != NONE:
        time = min(time, m[m[header.OLDEST_WATCH] + watch.DEADLINE])
    return time


def reach(m: Ints, a: Indexes, rule: Any, time: int) -> bool:  # noqa: ANN401
    """Let everything happen that is before this time, and its completions.

    FOREVER: everything. False: there must be more room.
    """
    while True:
        if m[header.PHASE] == header.COMPLETING:
            if not complete_all(m, rule):
                return False
            if m[header.NOW] == time:
                return True
            if m[m[header.UNASSIGNED] + queue.WAITING] > 0 and not assign_waiting(m, a, rule):
                return False
            m[header.PHASE] = header.OPEN
        elif m[header.PHASE] == header.OPEN:
            if m[header.NOW] == time:
                return True
            look(m)
            m[header.PHASE] = header.CLOSED
        else:
            at = coming(m, time)
            if at == FOREVER:
                return True
            m[header.NOW] = at
            m[header.PHASE] = header.COMPLETING


def take_in(
    m: Ints,
    a: Indexes,
    rule: Any,  # noqa: ANN401
    cells: Ints,
    n: int,
    first: int,
    stop: int,
) -> int:
    """Let messages first to stop arrive; returns how far it came, less than `stop` without room."""
    for k in range(first, stop):
        time = cells[arrival.TIME * n + k]
        behind = m[header.NOW] < time or m[header.PHASE] == header.CLOSED
        if behind and not reach(m, a, rule, time):
            return k
        if m[header.PHASE] == header.COMPLETING:
            if not (complete_all(m, rule) and assign_waiting(m, a, rule)):
                return k
            m[header.PHASE] = header.OPEN
        if not come(m, a, rule, cells, n, k):
            return k
    return stop


# Failures


def empty(m: Ints, q: int, columns: Columns) -> int:
    """Take everything away from a queue: what its readers have, and what waits.

    Returns how many jobs that are: `columns` has the row of each, and what its group was raised to.
    """
    r = m[q + queue.FIRST_READER]
    while m[r + reader.QUEUE] == q:
        g = m[r + reader.GROUP]
        if g != NONE:
            cancel(m, r)
            m[m[r + reader.JOB] + job.FINISH] = m[header.NOW]
            hand_back(m, g)
            rest(m, r)
        r += reader.SIZE
    count = 0
    g = best(m, q)
    while g != NONE:
        j, raised = m[g + group.HEAD], m[g + group.RAISED]
        m[g + group.HEAD] = m[g + group.TAIL] = m[g + group.RAISED] = NONE
        m[g + group.QUEUED_COST] = 0
        place(m, g)
        drop_group(m, g)
        while j != NONE:
            columns[0, count] = j
            columns[1, count] = raised
            count += 1
            tick(m, q, -1)
            j = m[j + job.NEXT]
        g = best(m, q)
    return count


def break_off(m: Ints, rule: Any, r: int) -> None:  # noqa: ANN401
    """A reader is broken off; who is remembered keeps what the reader was given."""
    cancel(m, r)
    m[m[r + reader.JOB] + job.FINISH] = m[header.NOW]
    undo(m, rule, r)


def give_back(m: Ints, a: Indexes, rule: Any, j: int, outcome: int) -> None:  # noqa: ANN401
    """The attempt of a job is over; it is routed anew. There must be room."""
    again(m, j, outcome)
    m[j + job.MEMBER] = m[j + job.QUEUE] = m[j + job.LABEL] = NONE
    if m[m[header.UNASSIGNED] + queue.WAITING] > 0 or not decide(m, a, rule, j):
        wait_unassigned(m, j)


# From outside, where arrays are lent for the time of one call


def feed(
    m: Ints,
    a: Indexes,
    rule: Any,  # noqa: ANN401
    cells: Ints,
    n: int,
    first: int,
    stop: int,
) -> int:
    """`take_in`, asked from outside."""
    return take_in(cells_of(m), cells_of(a), lent(rule), cells_of(cells), n, first, stop)


def fetch(m: Ints, out: Ints, n: int) -> int:
    """`collect`, asked from outside."""
    return collect(cells_of(m), cells_of(out), n)


def pass_to(m: Ints, a: Indexes, rule: Any, time: int) -> bool:  # noqa: ANN401
    """`reach`, asked from outside."""
    return reach(cells_of(m), cells_of(a), lent(rule), time)


def end_reader(m: Ints, a: Indexes, rule: Any, r: int) -> None:  # noqa: ANN401, ARG001
    """`break_off`, asked from outside."""
    break_off(cells_of(m), lent(rule), r)


def route_anew(m: Ints, a: Indexes, rule: Any, j: int, outcome: int) -> None:  # noqa: ANN401
    """`give_back`, asked from outside."""
    give_back(cells_of(m), cells_of(a), lent(rule), j, outcome)


CHOSEN = who.CHOSEN
BASE = (
    *agenda.COMPILED,
    *completions.COMPILED,
    *jobs.COMPILED,
    *timeouts.COMPILED,
    *who.COMPILED,
    *readers.COMPILED,
    raise_group,
    coming,
    empty,
)
"""What does not depend on the choice rule."""
OF_A_RULE = (
    *timeouts.OF_A_RULE,
    *who.OF_A_RULE,
    *readers.OF_A_RULE,
    come,
    complete_all,
    reach,
    take_in,
    break_off,
    give_back,
    feed,
    fetch,
    pass_to,
    end_reader,
    route_anew,
)
"""What does; `chosen`, `completed` and `returned` come first."""
