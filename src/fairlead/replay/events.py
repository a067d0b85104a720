"""The events of a replay, in order of time: completions, then arrivals, then readers look for work.

One instant goes through the phases CLOSED → COMPLETING → OPEN → CLOSED. What can need room (a new
row of a table) says so before it changes anything, so the kernel can stop at any event and go on
in larger tables.

Everything here is in the part of Python that Numba compiles. `completed` and `returned` are those
of the cluster's choice rule, whose state is `r`.
"""

from __future__ import annotations

from typing import Any, Final

from fairlead.balance.rules.due import work
from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.compiled.borrowed import cells_of, lent, state_of
from fairlead.replay import agenda, due, jobs, timeouts, who
from fairlead.replay.agenda import (
    best,
    drop_node,
    enter,
    give,
    lock,
    place,
    tick,
    unlock,
)
from fairlead.replay.arrays import Columns
from fairlead.replay.due import cancel, pop, push
from fairlead.replay.heap import NONE
from fairlead.replay.jobs import again, new_job, over, told
from fairlead.replay.memory import (
    ALSO,
    AT,
    ATTEMPT,
    CELLS,
    CLASS,
    CLOSED,
    COMPLETING,
    CONTROL,
    DEADLINE,
    DEFAULT,
    DOES,
    DOOR,
    DUE_AT,
    DUE_COUNT,
    DUE_READER,
    DUES,
    FIFO,
    FINISH,
    GIVEN,
    GROUP,
    HAS,
    HEAD,
    IDLE,
    JOBS_LEFT,
    LABEL,
    MEMBER,
    MESSAGE,
    NEVER,
    NEXT,
    NODE_OF,
    NOW,
    OLDEST,
    OPEN,
    OUTCOME,
    PHASE,
    PRIORITY,
    RAISED,
    READER,
    READER_CELLS,
    READER_ROW,
    READERS,
    ROLLBACKS,
    SERVER,
    SERVICE,
    SHARED,
    SINCE,
    SPEED,
    START,
    STARTED,
    TAIL,
    TIME,
    TIMED_OUT,
    TOUCHED,
    TOUCHED_COUNT,
    TOUCHES,
    WAITING,
    WATCH,
    WORKS_AT,
    WORTH,
)
from fairlead.replay.timeouts import acknowledge, hand_back, time_out
from fairlead.replay.who import copies, decide, let_in, room, touch, wait_outside
from fairlead.replay.words import CONTROL_CODE, ROLLED_BACK_CODE, ROUTED_CODE, TIMEOUT_CODE

FOREVER: Final = 1 << 62


def come(m: Ints, a: Indexes, r: Any, cells: Ints, n: int, k: int) -> bool:  # noqa: ANN401
    """A message arrives; False: there must be more room.

    `cells`: one column after another, n cells each.
    """
    code = cells[CLASS * n + k]
    if not room(m, 1 if code == CONTROL else copies(m, code)):
        return False
    j = new_job(m)
    for column in range(CLASS, CELLS):
        m[j + column] = cells[column * n + k]
    m[j + MESSAGE] = cells[MESSAGE * n + k]
    m[j + ATTEMPT] = 1
    m[j + SHARED] = 0
    m[j + SINCE] = m[NOW]
    for column in (MEMBER, SERVER, READER, LABEL, OUTCOME, WATCH):
        m[j + column] = NONE
    m[j + START] = m[j + FINISH] = NEVER
    if code == CONTROL:
        raise_group(m, m[j + GROUP], m[j + PRIORITY])
        over(m, j, CONTROL_CODE)
    elif m[m[DOOR] + WAITING] > 0 or not decide(m, a, r, j):
        wait_outside(m, j)
    return True


def raise_group(m: Ints, name: int, priority: int) -> None:
    """A group is raised wherever it has been; at the door, where something of it waits."""
    if name == NONE or m[FIFO] == 1:
        return
    if priority == NONE:
        priority = m[DEFAULT]
    n = m[m[NODE_OF] + name]
    while n != NONE:
        s = m[n + AT]
        if s != m[DOOR] or m[n + HEAD] != NONE:
            enter(m, n, priority)
            touch(m, s)
        n = m[n + ALSO]


# Readers


def look(m: Ints) -> None:
    """Readers that have nothing to do look for work where something has happened."""
    for k in range(m[TOUCHED_COUNT]):
        s = m[m[TOUCHES] + k]
        m[s + TOUCHED] = 0
        reader = m[s + READER_ROW]
        while m[s + IDLE] > 0:
            n = best(m, s)
            if n == NONE:
                break
            lock(m, n)
            while m[reader + HAS] != NONE:
                reader += READER_CELLS
            m[s + IDLE] -= 1
            m[reader + HAS] = n
            begin(m, reader, give(m, n))
    m[TOUCHED_COUNT] = 0


def begin(m: Ints, reader: int, j: int) -> None:
    """A reader begins with a job."""
    s = m[reader + WORKS_AT]
    m[reader + DOES] = j
    m[j + READER] = (reader - m[s + READER_ROW]) // READER_CELLS + 1
    m[j + START] = m[NOW]
    m[STARTED] += 1
    push(m, m[NOW] + work(m[j + SERVICE], m[s + SPEED]), reader)


def complete(m: Ints, r: Any, reader: int) -> None:  # noqa: ANN401
    """A reader is through with a job, and goes on with its group."""
    n, j = m[reader + HAS], m[reader + DOES]
    if m[j + ROLLBACKS] > 0:
        m[j + FINISH] = m[NOW]
        m[j + ROLLBACKS] -= 1
        tell_attempts(m, n, ROLLED_BACK_CODE)
        undo(m, r, reader)
        return
    m[j + FINISH] = m[NOW]
    if m[j + WATCH] != TIMED_OUT:
        completed(state_of(r), m[j + MEMBER])  # type: ignore[name-defined]  # noqa: F821
        if m[j + WATCH] != NONE:
            acknowledge(m, j)
    i = give(m, n)
    if i != NONE:
        begin(m, reader, i)
        return
    i = m[n + GIVEN]
    while i != NONE:
        after = m[i + NEXT]
        over(m, i, TIMEOUT_CODE if m[i + WATCH] == TIMED_OUT else ROUTED_CODE)
        i = after
    unlock(m, n)
    rest(m, reader)


def given(m: Ints, n: int) -> int:
    """How many jobs the reader of a group was given."""
    found, i = 0, m[n + GIVEN]
    while i != NONE:
        found += 1
        i = m[i + NEXT]
    return found


def tell_attempts(m: Ints, n: int, outcome: int) -> None:
    """All that the reader of a group was given was in vain: a row for each attempt."""
    i = m[n + GIVEN]
    while i != NONE:
        if m[i + WATCH] != TIMED_OUT:
            again(m, i, outcome)
        i = m[i + NEXT]


def undo(m: Ints, r: Any, reader: int) -> None:  # noqa: ANN401
    """All that a reader was given returns to its place; what it had finished is pending again."""
    n = m[reader + HAS]
    i = m[n + GIVEN]
    while i != m[reader + DOES]:
        if m[i + WATCH] != TIMED_OUT:
            returned(state_of(r), m[i + MEMBER])  # type: ignore[name-defined]  # noqa: F821
        i = m[i + NEXT]
    hand_back(m, n)
    rest(m, reader)


def rest(m: Ints, reader: int) -> None:
    """A reader has nothing to do, or is not there any more."""
    s = m[reader + WORKS_AT]
    m[reader + HAS] = m[reader + DOES] = NONE
    if reader < m[s + READER_ROW] + READER_CELLS * m[s + READERS]:
        m[s + IDLE] += 1
    touch(m, s)  # also where one leaves: what it has rolled back is for those who stay


# Time


def complete_all(m: Ints, r: Any) -> bool:  # noqa: ANN401
    """All completions of this instant, then all timeouts; False: there must be more room."""
    while m[DUE_COUNT] > 0 and m[m[DUES] + DUE_AT] <= m[NOW]:
        reader = m[m[DUES] + DUE_READER]
        j = m[reader + DOES]
        if m[j + ROLLBACKS] > 0 and m[JOBS_LEFT] < given(m, m[reader + HAS]):
            return False
        pop(m)
        complete(m, r, reader)
    if m[OLDEST] != NONE:
        time_out(m, r)
    return True


def coming(m: Ints, time: int) -> int:
    """When something happens of itself, at this time at the latest."""
    if m[DUE_COUNT] > 0:
        time = min(time, m[m[DUES] + DUE_AT])
    if m[OLDEST] != NONE:
        time = min(time, m[m[OLDEST] + DEADLINE])
    return time


def reach(m: Ints, a: Indexes, r: Any, time: int) -> bool:  # noqa: ANN401
    """Let everything happen that is before this time, and its completions.

    FOREVER: everything. False: there must be more room.
    """
    while True:
        if m[PHASE] == COMPLETING:
            if not complete_all(m, r):
                return False
            if m[NOW] == time:
                return True
            if m[m[DOOR] + WAITING] > 0 and not let_in(m, a, r):
                return False
            m[PHASE] = OPEN
        elif m[PHASE] == OPEN:
            if m[NOW] == time:
                return True
            look(m)
            m[PHASE] = CLOSED
        else:
            at = coming(m, time)
            if at == FOREVER:
                return True
            m[NOW] = at
            m[PHASE] = COMPLETING


def take_in(
    m: Ints,
    a: Indexes,
    r: Any,  # noqa: ANN401
    cells: Ints,
    n: int,
    first: int,
    stop: int,
) -> int:
    """Let messages first to stop arrive; returns how far it came, less than `stop` without room."""
    for k in range(first, stop):
        time = cells[TIME * n + k]
        if (m[NOW] < time or m[PHASE] == CLOSED) and not reach(m, a, r, time):
            return k
        if m[PHASE] == COMPLETING:
            if not (complete_all(m, r) and let_in(m, a, r)):
                return k
            m[PHASE] = OPEN
        if not come(m, a, r, cells, n, k):
            return k
    return stop


# Failures


def empty(m: Ints, s: int, found: Columns) -> int:
    """Take everything away from a server: what its readers have, and what waits.

    Returns how many jobs that are: `found` has the row of each, and what its group was raised to.
    """
    reader = m[s + READER_ROW]
    while m[reader + WORKS_AT] == s:
        n = m[reader + HAS]
        if n != NONE:
            cancel(m, reader)
            m[m[reader + DOES] + FINISH] = m[NOW]
            hand_back(m, n)
            rest(m, reader)
        reader += READER_CELLS
    count = 0
    n = best(m, s)
    while n != NONE:
        j, raised = m[n + HEAD], m[n + RAISED]
        m[n + HEAD] = m[n + TAIL] = m[n + RAISED] = NONE
        m[n + WORTH] = 0
        place(m, n)
        drop_node(m, n)
        while j != NONE:
            found[0, count] = j
            found[1, count] = raised
            count += 1
            tick(m, s, -1)
            j = m[j + NEXT]
        n = best(m, s)
    return count


def break_off(m: Ints, r: Any, reader: int) -> None:  # noqa: ANN401
    """A reader is broken off; who is remembered keeps what the reader was given."""
    cancel(m, reader)
    m[m[reader + DOES] + FINISH] = m[NOW]
    undo(m, r, reader)


def give_back(m: Ints, a: Indexes, r: Any, j: int, outcome: int) -> None:  # noqa: ANN401
    """The attempt of a job is over; it is routed anew. There must be room."""
    again(m, j, outcome)
    m[j + MEMBER] = m[j + SERVER] = m[j + LABEL] = NONE
    if m[m[DOOR] + WAITING] > 0 or not decide(m, a, r, j):
        wait_outside(m, j)


# From outside, where arrays are lent for the time of one call


def feed(
    m: Ints,
    a: Indexes,
    r: Any,  # noqa: ANN401
    cells: Ints,
    n: int,
    first: int,
    stop: int,
) -> int:
    """`take_in`, asked from outside."""
    return take_in(cells_of(m), cells_of(a), lent(r), cells_of(cells), n, first, stop)


def fetch(m: Ints, out: Ints, n: int) -> int:
    """`told`, asked from outside."""
    return told(cells_of(m), cells_of(out), n)


def pass_to(m: Ints, a: Indexes, r: Any, time: int) -> bool:  # noqa: ANN401
    """`reach`, asked from outside."""
    return reach(cells_of(m), cells_of(a), lent(r), time)


def end_reader(m: Ints, a: Indexes, r: Any, reader: int) -> None:  # noqa: ANN401, ARG001
    """`break_off`, asked from outside."""
    break_off(cells_of(m), lent(r), reader)


def route_anew(m: Ints, a: Indexes, r: Any, j: int, outcome: int) -> None:  # noqa: ANN401
    """`give_back`, asked from outside."""
    give_back(cells_of(m), cells_of(a), lent(r), j, outcome)


CHOSEN = who.CHOSEN
BASE = (
    work,
    *agenda.COMPILED,
    *due.COMPILED,
    *jobs.COMPILED,
    *timeouts.COMPILED,
    *who.COMPILED,
    raise_group,
    look,
    begin,
    given,
    tell_attempts,
    rest,
    coming,
    empty,
)
"""What does not depend on the choice rule."""
OF_A_RULE = (
    *timeouts.OF_A_RULE,
    *who.OF_A_RULE,
    come,
    undo,
    complete,
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
