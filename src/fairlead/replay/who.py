"""Who gets a message: asked of the choice rule when it arrives, or later, at the door.

Everything here is in the part of Python that Numba compiles. `choose` is that of the cluster's
choice rule, whose state is `r`.
"""

from __future__ import annotations

from typing import Any

from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.compiled.borrowed import state_of
from fairlead.replay.agenda import (
    arrive,
    best,
    drop_node,
    forget_if_idle,
    place,
    take,
    tick,
)
from fairlead.replay.heap import NONE
from fairlead.replay.jobs import copied
from fairlead.replay.memory import (
    AT,
    ATTEMPT,
    BIND,
    BOUND,
    CLASS,
    CLASS_CELLS,
    CLASSES,
    COST,
    CROWD_START,
    CROWD_STOP,
    DOOR,
    ENDS,
    EXPECTS,
    HEAD,
    HOLDS,
    JOBS_LEFT,
    KEY,
    LABEL,
    LABELLED,
    MEMBER,
    MEMBER_CELLS,
    MEMBERS,
    NEXT,
    NOBODY_S,
    NODES_LEFT,
    NONSENSE,
    NONSENSE_CHOICE,
    ONE_OF_THEM,
    PRIORITY,
    RAISED,
    REDELIVERIES,
    SERVER,
    SET_START,
    SET_STOP,
    SHARED,
    TAIL,
    TAKEN,
    TENANTS_LEFT,
    TOLD_AS,
    TOUCHED,
    TOUCHED_COUNT,
    TOUCHES,
    WAITING,
    WAITS,
    WATCHES_LEFT,
    WORKED_AT,
    WORTH,
)
from fairlead.replay.timeouts import end, together, watch
from fairlead.replay.words import ROUTED_CODE


def chosen(m: Ints, a: Indexes, r: Any, c: int, _: int) -> int:  # noqa: ANN401
    """Ask the rule for one of the members that a class can go to."""
    return choose(state_of(r), a, m[c + SET_START], m[c + SET_STOP])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_key(m: Ints, a: Indexes, r: Any, c: int, j: int) -> int:  # noqa: ANN401
    """Ask a rule that looks at a number of the message."""
    return choose(state_of(r), a, m[c + SET_START], m[c + SET_STOP], m[j + KEY])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_own(m: Ints, a: Indexes, r: Any, c: int, _: int) -> int:  # noqa: ANN401
    """Ask a user's own rule; a choice that is none of the members is told in NONSENSE."""
    start, stop = m[c + SET_START], m[c + SET_STOP]
    i = choose(state_of(r), a, start, stop)  # type: ignore[name-defined]  # noqa: F821
    for k in range(start, stop):
        if a[k] == i:
            served(state_of(r), i)  # type: ignore[name-defined]  # noqa: F821
            return int(i)
    m[NONSENSE] = 1
    m[NONSENSE_CHOICE] = i
    return NONE


def decide(m: Ints, a: Indexes, r: Any, j: int) -> bool:  # noqa: ANN401
    """Choose a destination and hand the job over, or end it; False: nobody is ready."""
    c = (m[CLASSES] if m[j + ATTEMPT] == 1 else m[REDELIVERIES]) + CLASS_CELLS * m[j + CLASS]
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
            end(m, j, m[c + ENDS])
            return True
        if m[j + BIND] != NONE:
            m[m[BOUND] + m[j + BIND]] = member
    told = m[m[MEMBERS] + MEMBER_CELLS * member + TOLD_AS]
    if told != ROUTED_CODE:
        end(m, j, told)
        return True
    if m[j + ATTEMPT] == 1:
        if m[c + EXPECTS] != NOBODY_S:
            watch(m, j)
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
            if m[c + EXPECTS] != NOBODY_S:
                watch(m, i)
            if m[c + EXPECTS] == ONE_OF_THEM:
                together(m, i, j)
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


def copies(m: Ints, code: int) -> int:
    """How many jobs a message of this class can become."""
    c = m[CLASSES] + CLASS_CELLS * code
    return 1 + m[c + CROWD_STOP] - m[c + CROWD_START]


def room(m: Ints, needed: int) -> bool:
    """Whether so many jobs can get rows, and their groups and tenants, here and at the door."""
    needed += 1
    left = min(m[JOBS_LEFT], m[NODES_LEFT])
    return min(left, m[TENANTS_LEFT], m[WATCHES_LEFT]) >= needed


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
    s = m[n + AT]
    tick(m, s, -1)
    take(m, n, cost)
    m[n + WORTH] -= cost
    m[n + HEAD] = after
    if after == NONE:
        m[n + TAIL] = m[n + RAISED] = NONE
    place(m, n)
    if after == NONE:
        drop_node(m, n)
    forget_if_idle(m, s)


def wait_outside(m: Ints, j: int) -> None:
    """A job waits at the door until somebody is ready."""
    door = m[DOOR]
    m[j + MEMBER] = NONE
    m[j + SERVER] = door
    arrive(m, door, j)


CHOSEN = (chosen, chosen_by_key, chosen_by_own)
"""How a rule is asked: one of these is what the others call `chosen`."""
COMPILED = (share, bound_to, send, touch, copies, room, leave, wait_outside)
"""What does not depend on the choice rule."""
OF_A_RULE = (decide, let_in)
"""What does, besides `chosen`."""
