"""Who gets a message: asked of the choice rule when it arrives, or later, when one is ready.

A destination's capacity is not kept here: the rule alone knows it and never chooses one that is
busy. See `chosen`. A message for which no destination is ready waits in the unassigned queue.

Everything here is in the part of Python that Numba compiles. `choose` is that of the cluster's
choice rule, whose state is `rule`.
"""

from __future__ import annotations

from typing import Any

from fairlead.balance.procedure import PRESELECTION, RULE, what_decides
from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.compiled.numba_views import state_of
from fairlead.replay.agenda import arrive, best, forget_if_idle, place, take, tick
from fairlead.replay.groups import drop_group
from fairlead.replay.jobs import copied
from fairlead.replay.layout import NONE, destination, eligible, group, header, job, queue
from fairlead.replay.timeouts import end, start_watch, together
from fairlead.replay.words import ROUTED_CODE


def chosen(m: Ints, a: Indexes, rule: Any, v: int, _: int) -> int:  # noqa: ANN401
    """Ask the rule for one of the members that a class can go to, or none if none is ready.

    `choose` is the rule's own: `compiled/engine.py` binds it. Here a destination's capacity is
    looked at: `ready_ring.choose` skips a peer that holds as many messages as its capacity
    (`served` takes it out of its ring, `completed` brings it back). If all are busy, `decide`
    returns False.
    """
    start, stop = m[v + eligible.MEMBERS_START], m[v + eligible.MEMBERS_STOP]
    return choose(state_of(rule), a, start, stop)  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_key(m: Ints, a: Indexes, rule: Any, v: int, j: int) -> int:  # noqa: ANN401
    """Ask a rule that looks at a number of the message."""
    start, stop = m[v + eligible.MEMBERS_START], m[v + eligible.MEMBERS_STOP]
    return choose(state_of(rule), a, start, stop, m[j + job.KEY])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_own(m: Ints, a: Indexes, rule: Any, v: int, _: int) -> int:  # noqa: ANN401
    """Ask a user's own rule; a choice that is none of the members is kept in INVALID_CHOICE."""
    start, stop = m[v + eligible.MEMBERS_START], m[v + eligible.MEMBERS_STOP]
    i = choose(state_of(rule), a, start, stop)  # type: ignore[name-defined]  # noqa: F821
    for k in range(start, stop):
        if a[k] == i:
            served(state_of(rule), i)  # type: ignore[name-defined]  # noqa: F821
            return int(i)
    m[header.INVALID] = 1
    m[header.INVALID_CHOICE] = i
    return NONE


def decide(m: Ints, a: Indexes, rule: Any, j: int) -> bool:  # noqa: ANN401
    """Choose a destination and hand the job over, or end it; False: none is ready."""
    first = m[header.ELIGIBLE] if m[j + job.ATTEMPT] == 1 else m[header.REDELIVERIES]
    v = first + eligible.SIZE * m[j + job.CLASS]
    bind = m[j + job.BIND]
    member = bound_to(m, bind)
    some = m[v + eligible.MEMBERS_STOP] > m[v + eligible.MEMBERS_START]
    decides = what_decides(member, m[v + eligible.PRESELECTED], some)
    if decides == PRESELECTION:
        member = m[v + eligible.PRESELECTED]
    elif decides == RULE:
        member = chosen(m, a, rule, v, j)
    if member == NONE:
        if decides == RULE or m[header.WAITS] == 1:
            return False
        end(m, j, m[v + eligible.OUTCOME])
        return True
    if bind != NONE:
        m[m[header.BOUND] + bind] = member
    outcome = m[m[header.DESTINATIONS] + destination.SIZE * member + destination.OUTCOME]
    if outcome != ROUTED_CODE:
        end(m, j, outcome)
        return True
    if m[j + job.ATTEMPT] == 1:
        if m[v + eligible.ACK_MODE] != eligible.NO_ACK:
            start_watch(m, j)
        share(m, a, v, j, member)
    send(m, j, member)
    return True


def share(m: Ints, a: Indexes, v: int, j: int, member: int) -> None:
    """All others who get messages of this class get a copy."""
    for k in range(m[v + eligible.RECIPIENTS_START], m[v + eligible.RECIPIENTS_STOP]):
        if a[k] == member:
            m[j + job.SHARED] = 1
        else:
            i = copied(m, j)
            m[i + job.SHARED] = 1
            if m[v + eligible.ACK_MODE] != eligible.NO_ACK:
                start_watch(m, i)
            if m[v + eligible.ACK_MODE] == eligible.ANY_ACK:
                together(m, i, j)
            send(m, i, a[k])


def bound_to(m: Ints, bind: int) -> int:
    """The member that a message is bound to, or NONE."""
    if bind == NONE:
        return NONE
    member = m[m[header.BOUND] + bind]
    if member == NONE:
        return NONE
    row = m[header.DESTINATIONS] + destination.SIZE * member
    return member if m[row + destination.KEEPS_BOUND] == 1 else NONE


def send(m: Ints, j: int, member: int) -> None:
    """A job begins to wait at its destination."""
    row = m[header.DESTINATIONS] + destination.SIZE * member
    m[j + job.MEMBER] = member
    m[j + job.QUEUE] = m[row + destination.QUEUE]
    m[j + job.LABEL] = m[row + destination.LABEL]
    arrive(m, m[j + job.QUEUE], j)
    touch(m, m[j + job.QUEUE])


def touch(m: Ints, q: int) -> None:
    """A queue's readers are to look for work in this instant, in the order of the queues."""
    if m[q + queue.TOUCHED] == 1:
        return
    m[q + queue.TOUCHED] = 1
    k = m[header.TOUCHED_COUNT]
    while k > 0 and m[m[header.TOUCHED] + k - 1] > q:
        m[m[header.TOUCHED] + k] = m[m[header.TOUCHED] + k - 1]
        k -= 1
    m[m[header.TOUCHED] + k] = q
    m[header.TOUCHED_COUNT] += 1


def copies(m: Ints, code: int) -> int:
    """How many jobs a message of this class can become."""
    v = m[header.ELIGIBLE] + eligible.SIZE * code
    return 1 + m[v + eligible.RECIPIENTS_STOP] - m[v + eligible.RECIPIENTS_START]


def room(m: Ints, needed: int) -> bool:
    """Whether so many jobs can get rows, and their groups and tenants, there and unassigned."""
    needed += 1
    left = min(m[header.JOBS_LEFT], m[header.GROUPS_LEFT])
    return min(left, m[header.TENANTS_LEFT], m[header.WATCHES_LEFT]) >= needed


def assign_waiting(m: Ints, a: Indexes, rule: Any) -> bool:  # noqa: ANN401
    """Assign what waited for a destination to be ready; False: there must be more room.

    One after another, in the order of work; if no destination is ready for the first, all wait.
    """
    q = m[header.UNASSIGNED]
    while m[q + queue.WAITING] > 0:
        g = best(m, q)
        j = m[g + group.HEAD]
        if not room(m, copies(m, m[j + job.CLASS])):
            return False
        after, priority = m[j + job.NEXT], m[j + job.PRIORITY]
        if priority == NONE:
            m[j + job.PRIORITY] = m[g + group.RAISED]
        if not decide(m, a, rule, j):
            m[j + job.PRIORITY] = priority
            return True
        leave(m, g, after, m[j + job.COST])
    return True


def leave(m: Ints, g: int, after: int, cost: int) -> None:
    """The first job of a group is assigned; a priority lasts while others of it wait."""
    q = m[g + group.QUEUE]
    tick(m, q, -1)
    take(m, g, cost)
    m[g + group.QUEUED_COST] -= cost
    m[g + group.HEAD] = after
    if after == NONE:
        m[g + group.TAIL] = m[g + group.RAISED] = NONE
    place(m, g)
    if after == NONE:
        drop_group(m, g)
    forget_if_idle(m, q)


def wait_unassigned(m: Ints, j: int) -> None:
    """A job waits, unassigned, until a destination is ready."""
    q = m[header.UNASSIGNED]
    m[j + job.MEMBER] = NONE
    m[j + job.QUEUE] = q
    arrive(m, q, j)


CHOSEN = (chosen, chosen_by_key, chosen_by_own)
"""How a rule is asked: one of these is what the others call `chosen`."""
COMPILED = (what_decides, share, bound_to, send, touch, copies, room, leave, wait_unassigned)
"""What does not depend on the choice rule."""
OF_A_RULE = (decide, assign_waiting)
"""What does, besides `chosen`."""
