"""The events of a replay, in order of time: completions, then arrivals, then readers look for work.

One instant goes through the phases CLOSED → COMPLETING → OPEN → CLOSED. What can need room (a new
row of a table) says so before it changes anything, so the kernel can stop at any event and go on
in larger tables.

Everything here is in the part of Python that Numba compiles. `chosen`, `completed` and `returned`
are those of the cluster's choice rule, whose state is `r`.
"""

from __future__ import annotations

from typing import Any, Final

from fairlead.balance.rules.due import work
from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.compiled.borrowed import borrowed, cells_of
from fairlead.order.key import joined
from fairlead.replay import agenda
from fairlead.replay.agenda import (
    arrive,
    best,
    charge,
    drop_node,
    enter,
    forget_if_idle,
    give,
    lock,
    next_number,
    place,
    roll_back,
    tick,
    unlock,
)
from fairlead.replay.arrays import Cells, Rows
from fairlead.replay.heap import NONE
from fairlead.replay.memory import (
    ALSO,
    AT,
    ATTEMPT,
    BIND,
    BOUND,
    CELLS,
    CLASS,
    CLASS_CELLS,
    CLASSES,
    CLOCK,
    CLOSED,
    COMPLETING,
    CONTROL,
    COST,
    CROWD_START,
    CROWD_STOP,
    DEFAULT,
    DOES,
    DONE,
    DONE_COUNT,
    DOOR,
    DUE,
    DUE_AT,
    DUE_COUNT,
    DUE_ORDER,
    DUE_READER,
    DUES,
    ENDS,
    FIFO,
    FINISH,
    FREE,
    FREE_JOB,
    GIVEN,
    GROUP,
    HAS,
    HEAD,
    HOLDS,
    IDLE,
    JOB,
    JOBS_LEFT,
    KEY,
    LABEL,
    LABELLED,
    LAST_DONE,
    MEMBER,
    MEMBER_CELLS,
    MEMBERS,
    MESSAGE,
    NEVER,
    NEXT,
    NODE_OF,
    NODES_LEFT,
    NONSENSE,
    NONSENSE_CHOICE,
    NOW,
    OPEN,
    OUTCOME,
    OWNER,
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
    SET_START,
    SET_STOP,
    SHARED,
    SINCE,
    SPEED,
    START,
    STARTED,
    TAG,
    TAIL,
    TAKEN,
    TENANTS_LEFT,
    TIME,
    TOLD_AS,
    TOUCHED,
    TOUCHED_COUNT,
    TOUCHES,
    TURN,
    WAITING,
    WAITS,
    WORKED_AT,
    WORKS_AT,
    WORTH,
)
from fairlead.replay.words import CONTROL_CODE, ROLLED_BACK_CODE, ROUTED_CODE

FOREVER: Final = 1 << 62


def chosen(m: Ints, a: Indexes, r: Any, c: int, _: int) -> int:  # noqa: ANN401
    """Ask the rule for one of the members that a class can go to."""
    return choose(r, a, m[c + SET_START], m[c + SET_STOP])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_key(m: Ints, a: Indexes, r: Any, c: int, j: int) -> int:  # noqa: ANN401
    """Ask a rule that looks at a number of the message."""
    return choose(r, a, m[c + SET_START], m[c + SET_STOP], m[j + KEY])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_own(m: Ints, a: Indexes, r: Any, c: int, _: int) -> int:  # noqa: ANN401
    """Ask a user's own rule; a choice that is none of the members is told in NONSENSE."""
    start, stop = m[c + SET_START], m[c + SET_STOP]
    i = choose(r, a, start, stop)  # type: ignore[name-defined]  # noqa: F821
    for k in range(start, stop):
        if a[k] == i:
            served(r, i)  # type: ignore[name-defined]  # noqa: F821
            return int(i)
    m[NONSENSE] = 1
    m[NONSENSE_CHOICE] = i
    return NONE


def nothing(r: Any, i: int) -> None:  # noqa: ANN401
    """What a rule does that does not look at completions."""


def touch(m: Ints, s: int) -> None:
    """A server's readers are to look for work in this instant, in the order of the servers."""
    if m[s + TOUCHED] == 1:
        return
    m[s + TOUCHED] = 1
    k = m[TOUCHED_COUNT]
    while k > 0 and m[m[TOUCHES] + k - 1] > s:
        m[m[TOUCHES] + k] = m[m[TOUCHES] + k - 1]
        k -= 1
    m[m[TOUCHES] + k] = s
    m[TOUCHED_COUNT] += 1


def new_job(m: Ints) -> int:
    """A row for a job; there must be one left."""
    j = m[FREE_JOB]
    m[FREE_JOB] = m[j + NEXT]
    m[JOBS_LEFT] -= 1
    return j


def over(m: Ints, j: int, outcome: int) -> None:
    """A job is over, to be fetched."""
    m[j + OUTCOME] = outcome
    m[j + NEXT] = NONE
    if m[DONE] == NONE:
        m[DONE] = j
    else:
        m[m[LAST_DONE] + NEXT] = j
    m[LAST_DONE] = j
    m[DONE_COUNT] += 1


def copied(m: Ints, j: int) -> int:
    """Another row with what is in this one."""
    i = new_job(m)
    for column in range(JOB):
        m[i + column] = m[j + column]
    return i


# WHO


def decide(m: Ints, a: Indexes, r: Any, j: int) -> bool:  # noqa: ANN401
    """Choose a destination and hand the job over, or end it; False: nobody is ready."""
    c = m[CLASSES] + CLASS_CELLS * m[j + CLASS]
    member = bound_to(m, m[j + BIND])
    if member == NONE:
        asked = m[c + SET_STOP] > m[c + SET_START]
        if m[c + TAKEN] != NONE:
            member = m[c + TAKEN]
        elif asked:
            member = chosen(m, a, r, c, j)
        if member < 0 and (asked or m[WAITS] == 1):
            return False
        if member < 0:
            over(m, j, m[c + ENDS])
            return True
        if m[j + BIND] != NONE:
            m[m[BOUND] + m[j + BIND]] = member
    told = m[m[MEMBERS] + MEMBER_CELLS * member + TOLD_AS]
    if told != ROUTED_CODE:
        over(m, j, told)
        return True
    if m[j + ATTEMPT] == 1:
        share(m, a, c, j, member)
    send(m, j, member)
    return True


def share(m: Ints, a: Indexes, c: int, j: int, member: int) -> None:
    """All others who get messages of this class begin to have it."""
    for k in range(m[c + CROWD_START], m[c + CROWD_STOP]):
        if a[k] == member:
            m[j + SHARED] = 1
        else:
            i = copied(m, j)
            m[i + SHARED] = 1
            send(m, i, a[k])


def bound_to(m: Ints, bind: int) -> int:
    """The member that a message is bound to, or NONE."""
    if bind == NONE:
        return NONE
    member = m[m[BOUND] + bind]
    if member != NONE and m[m[MEMBERS] + MEMBER_CELLS * member + HOLDS] == 0:
        return NONE
    return member


def send(m: Ints, j: int, member: int) -> None:
    """A job begins to wait at its destination."""
    row = m[MEMBERS] + MEMBER_CELLS * member
    m[j + MEMBER] = member
    m[j + SERVER] = m[row + WORKED_AT]
    m[j + LABEL] = m[row + LABELLED]
    arrive(m, m[j + SERVER], j)
    touch(m, m[j + SERVER])


def copies(m: Ints, code: int) -> int:
    """How many jobs a message of this class can become."""
    c = m[CLASSES] + CLASS_CELLS * code
    return 1 + m[c + CROWD_STOP] - m[c + CROWD_START]


def room(m: Ints, needed: int) -> bool:
    """Whether so many jobs can get rows, and their groups and tenants, here and at the door."""
    needed += 1
    left = min(m[JOBS_LEFT], m[NODES_LEFT])
    return min(left, m[TENANTS_LEFT]) >= needed


def let_in(m: Ints, a: Indexes, r: Any) -> bool:  # noqa: ANN401
    """Let those go on who waited for somebody to be ready; False: there must be more room.

    One after another, in the order of the line; where nobody is ready for the first, all wait.
    """
    door = m[DOOR]
    while m[door + WAITING] > 0:
        n = best(m, door)
        j = m[n + HEAD]
        if not room(m, copies(m, m[j + CLASS])):
            return False
        after, own = m[j + NEXT], m[j + PRIORITY]
        if own == NONE:
            m[j + PRIORITY] = m[n + RAISED]
        if not decide(m, a, r, j):
            m[j + PRIORITY] = own
            return True
        leave(m, n, after, m[j + COST])
    return True


def leave(m: Ints, n: int, after: int, cost: int) -> None:
    """The first job of a group has left the door; a priority lasts while others of it wait."""
    s, t = m[n + AT], m[n + OWNER]
    tick(m, s, -1)
    m[s + CLOCK] = joined(m[t + TAG], m[s + CLOCK])
    m[t + TURN] = next_number(m)
    m[n + WORTH] -= cost
    m[n + HEAD] = after
    if after == NONE:
        m[n + TAIL] = m[n + RAISED] = NONE
    place(m, n)
    charge(m, t, cost)
    if after == NONE:
        drop_node(m, n)
    forget_if_idle(m, s)


def wait_outside(m: Ints, j: int) -> None:
    """A job waits at the door until somebody is ready."""
    door = m[DOOR]
    m[j + MEMBER] = NONE
    m[j + SERVER] = door
    arrive(m, door, j)


def come(m: Ints, a: Indexes, r: Any, cells: Rows, k: int) -> bool:  # noqa: ANN401
    """A message arrives; False: there must be more room."""
    code = cells[k, CLASS]
    if not room(m, 1 if code == CONTROL else copies(m, code)):
        return False
    j = new_job(m)
    for column in range(CLASS, CELLS):
        m[j + column] = cells[k, column]
    m[j + MESSAGE] = cells[k, MESSAGE]
    m[j + ATTEMPT] = 1
    m[j + SHARED] = 0
    m[j + SINCE] = m[NOW]
    for column in (MEMBER, SERVER, READER, LABEL, OUTCOME):
        m[j + column] = NONE
    m[j + START] = m[j + FINISH] = NEVER
    if code == CONTROL:
        raise_group(m, cells[k, GROUP], cells[k, PRIORITY])
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
        i = m[n + GIVEN]
        while i != j:
            returned(r, m[i + MEMBER])  # type: ignore[name-defined]  # noqa: F821
            i = m[i + NEXT]
        roll_back(m, n)
        rest(m, reader)
        return
    m[j + FINISH] = m[NOW]
    completed(r, m[j + MEMBER])  # type: ignore[name-defined]  # noqa: F821
    i = give(m, n)
    if i != NONE:
        begin(m, reader, i)
        return
    i = m[n + GIVEN]
    while i != NONE:
        after = m[i + NEXT]
        over(m, i, ROUTED_CODE)
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
        over(m, copied(m, i), outcome)
        another(m, i)
        i = m[i + NEXT]


def another(m: Ints, j: int) -> None:
    """A job waits for another attempt."""
    m[j + ATTEMPT] += 1
    m[j + SINCE] = m[NOW]
    m[j + READER] = NONE
    m[j + START] = m[j + FINISH] = NEVER


def rest(m: Ints, reader: int) -> None:
    """A reader has nothing to do, or is not there any more."""
    s = m[reader + WORKS_AT]
    m[reader + HAS] = m[reader + DOES] = NONE
    if reader < m[s + READER_ROW] + READER_CELLS * m[s + READERS]:
        m[s + IDLE] += 1
    touch(m, s)  # also where one leaves: what it has rolled back is for those who stay


# Time


def push(m: Ints, at: int, reader: int) -> None:
    """A completion is to come."""
    d = m[DUES] + DUE * m[DUE_COUNT]
    m[DUE_COUNT] += 1
    rise(m, d, at, m[STARTED], reader)


def rise(m: Ints, d: int, at: int, order: int, reader: int) -> None:
    """Put a completion into this place of the heap, or above it."""
    first = m[DUES]
    while d > first:
        above = first + DUE * ((d - first - DUE) // (2 * DUE))
        if not sooner(at, order, m[above + DUE_AT], m[above + DUE_ORDER]):
            break
        set_due(m, d, m[above + DUE_AT], m[above + DUE_ORDER], m[above + DUE_READER])
        d = above
    set_due(m, d, at, order, reader)


def sink(m: Ints, d: int, at: int, order: int, reader: int) -> None:
    """Put a completion into this place of the heap, or below it."""
    first = m[DUES]
    end = first + DUE * m[DUE_COUNT]
    while True:
        below = 2 * d - first + DUE
        if below >= end:
            break
        other = below + DUE
        if other < end and sooner(
            m[other + DUE_AT], m[other + DUE_ORDER], m[below + DUE_AT], m[below + DUE_ORDER]
        ):
            below = other
        if not sooner(m[below + DUE_AT], m[below + DUE_ORDER], at, order):
            break
        set_due(m, d, m[below + DUE_AT], m[below + DUE_ORDER], m[below + DUE_READER])
        d = below
    set_due(m, d, at, order, reader)


def set_due(m: Ints, d: int, at: int, order: int, reader: int) -> None:
    """Write a completion."""
    m[d + DUE_AT] = at
    m[d + DUE_ORDER] = order
    m[d + DUE_READER] = reader


def sooner(at: int, order: int, other_at: int, other_order: int) -> bool:
    """Whether a completion comes before another; at one time what was begun first."""
    if at != other_at:
        return at < other_at
    return order < other_order


def pop(m: Ints) -> None:
    """The first completion has come."""
    m[DUE_COUNT] -= 1
    last = m[DUES] + DUE * m[DUE_COUNT]
    sink(m, m[DUES], m[last + DUE_AT], m[last + DUE_ORDER], m[last + DUE_READER])


def complete_all(m: Ints, r: Any) -> bool:  # noqa: ANN401
    """All completions of this instant; False: there must be more room."""
    while m[DUE_COUNT] > 0 and m[m[DUES] + DUE_AT] <= m[NOW]:
        reader = m[m[DUES] + DUE_READER]
        j = m[reader + DOES]
        if m[j + ROLLBACKS] > 0 and m[JOBS_LEFT] < given(m, m[reader + HAS]):
            return False
        pop(m)
        complete(m, r, reader)
    return True


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
            if not let_in(m, a, r):
                return False
            m[PHASE] = OPEN
        elif m[PHASE] == OPEN:
            if m[NOW] == time:
                return True
            look(m)
            m[PHASE] = CLOSED
        elif m[DUE_COUNT] > 0 and m[m[DUES] + DUE_AT] < time:
            m[NOW] = m[m[DUES] + DUE_AT]
            m[PHASE] = COMPLETING
        elif time == FOREVER:
            return True
        else:
            m[NOW] = time
            m[PHASE] = COMPLETING


def take_in(m: Ints, a: Indexes, r: Any, cells: Rows, first: int, stop: int) -> int:  # noqa: ANN401
    """Let messages first to stop arrive; returns how far it came, less than `stop` without room."""
    for k in range(first, stop):
        time = cells[k, TIME]
        if (m[NOW] < time or m[PHASE] == CLOSED) and not reach(m, a, r, time):
            return k
        if m[PHASE] == COMPLETING:
            if not (complete_all(m, r) and let_in(m, a, r)):
                return k
            m[PHASE] = OPEN
        if not come(m, a, r, cells, k):
            return k
    return stop


def feed(m: Ints, a: Indexes, r: Any, cells: Rows, first: int, stop: int) -> int:  # noqa: ANN401
    """`take_in`, asked from outside."""
    return take_in(cells_of(m), cells_of(a), borrowed(r), borrowed(cells), first, stop)


def pass_to(m: Ints, a: Indexes, r: Any, time: int) -> bool:  # noqa: ANN401
    """`reach`, asked from outside."""
    return reach(cells_of(m), cells_of(a), borrowed(r), time)


def fetch(m: Ints, columns: Cells, out: Rows) -> None:
    """Put these columns of the jobs that are over into `out`, a row each, and free their rows."""
    j, k = m[DONE], 0
    while j != NONE:
        after = m[j + NEXT]
        for column in range(len(columns)):
            out[k, column] = m[j + columns[column]]
        m[j + OUTCOME] = FREE
        m[j + NEXT] = m[FREE_JOB]
        m[FREE_JOB] = j
        m[JOBS_LEFT] += 1
        j = after
        k += 1
    m[DONE] = m[LAST_DONE] = NONE
    m[DONE_COUNT] = 0


def empty(m: Ints, s: int, found: Cells) -> int:
    """Take everything away from a server: what its readers have, and what waits.

    Returns how many jobs that are, their rows being in `found`. The first of a raised group keeps
    the priority.
    """
    reader = m[s + READER_ROW]
    while m[reader + WORKS_AT] == s:
        n = m[reader + HAS]
        if n != NONE:
            cancel(m, reader)
            m[m[reader + DOES] + FINISH] = m[NOW]
            roll_back(m, n)
            rest(m, reader)
        reader += READER_CELLS
    count = 0
    n = best(m, s)
    while n != NONE:
        j = m[n + HEAD]
        if m[n + RAISED] != NONE:
            m[j + PRIORITY] = m[n + RAISED]
        m[n + HEAD] = m[n + TAIL] = m[n + RAISED] = NONE
        m[n + WORTH] = 0
        place(m, n)
        drop_node(m, n)
        while j != NONE:
            found[count] = j
            count += 1
            tick(m, s, -1)
            j = m[j + NEXT]
        n = best(m, s)
    return count


def cancel(m: Ints, reader: int) -> None:
    """What a reader does will not be completed."""
    d = m[DUES]
    while m[d + DUE_READER] != reader:
        d += DUE
    m[DUE_COUNT] -= 1
    last = m[DUES] + DUE * m[DUE_COUNT]
    at, order, other = m[last + DUE_AT], m[last + DUE_ORDER], m[last + DUE_READER]
    if d != last:
        sink(m, d, at, order, other)
        rise(m, d, m[d + DUE_AT], m[d + DUE_ORDER], m[d + DUE_READER])


def give_back(m: Ints, a: Indexes, r: Any, j: int, outcome: int) -> None:  # noqa: ANN401
    """The attempt of a job is over; it is routed anew. There must be room."""
    over(m, copied(m, j), outcome)
    another(m, j)
    m[j + MEMBER] = m[j + SERVER] = m[j + LABEL] = NONE
    if m[m[DOOR] + WAITING] > 0 or not decide(m, a, r, j):
        wait_outside(m, j)


BASE = (
    *agenda.COMPILED,
    work,
    touch,
    new_job,
    over,
    copied,
    copies,
    bound_to,
    send,
    share,
    room,
    leave,
    wait_outside,
    raise_group,
    push,
    sooner,
    rise,
    sink,
    set_due,
    pop,
    cancel,
    begin,
    look,
    given,
    another,
    tell_attempts,
    rest,
    fetch,
    empty,
)
"""What does not depend on the choice rule."""
OF_A_RULE = (decide, let_in, come, complete, complete_all, reach, take_in, feed, pass_to, give_back)
"""What does; `chosen`, `completed` and `returned` come first."""
