"""What waits at a queue, and what its readers take next: `fairlead.order`, compiled.

What is decided, `fairlead.order.key` decides, here as in the live agenda; this only keeps it, in
cells where `order.work_order` has objects. Everything here is in the part of Python that Numba
compiles.
"""

from __future__ import annotations

from fairlead.balance.rules.integers import Ints
from fairlead.order import key as decisions
from fairlead.order.key import (
    NOTHING,
    Entry,
    charged,
    joined,
    key,
    reentered,
    restored,
    standing,
    taken,
)
from fairlead.replay import groups, heap
from fairlead.replay.groups import drop_group, group_at, new_group, renew, tenant_at
from fairlead.replay.heap import out, put
from fairlead.replay.layout import NONE, group, header, job, links, queue, tenant


def next_number(m: Ints) -> int:
    """Number an event."""
    m[header.NUMBERED] += 1
    return m[header.NUMBERED]


def tick(m: Ints, q: int, more: int) -> None:
    """So many more jobs wait at a queue from now on."""
    m[q + queue.AREA] += m[q + queue.WAITING] * (m[header.NOW] - m[q + queue.COUNTED])
    m[q + queue.COUNTED] = m[header.NOW]
    m[q + queue.WAITING] += more


def arrive(m: Ints, q: int, j: int) -> None:
    """A job begins to wait at a queue, and raises its group if it has a priority."""
    tick(m, q, 1)
    number = next_number(m)
    g = group_at(m, q, m[j + job.GROUP])
    if g == NONE:
        g = new_group(m, q, m[j + job.GROUP], tenant_at(m, q, m[j + job.TENANT]))
    first = m[g + group.HEAD] == NONE
    m[j + job.ARRIVED] = m[header.NOW]
    m[j + job.NUMBER] = number
    append(m, g, j)
    if m[g + group.LOCKED] == 1:
        charge(m, m[g + group.TENANT], m[j + job.COST])
    if m[j + job.PRIORITY] != NONE and m[header.FIFO] == 0:
        enter(m, g, m[j + job.PRIORITY])
    elif first:
        place(m, g)


def append(m: Ints, g: int, j: int) -> None:
    """A job stands behind those of its group that wait."""
    m[j + job.GROUP_ROW] = g
    m[j + job.NEXT] = NONE
    if m[g + group.HEAD] == NONE:
        m[g + group.HEAD] = j
    else:
        m[m[g + group.TAIL] + job.NEXT] = j
    m[g + group.TAIL] = j
    m[g + group.QUEUED_COST] += m[j + job.COST]


def withdraw(m: Ints, j: int) -> None:
    """A job that waits leaves its place, wherever that is in its group.

    If a reader has the group, the tenant has been charged for the job (when the reader came, or
    when the job did), and is given that back. Else the group stands where the first of those that
    are left puts it. An entry stays, even if nothing is left: it is used up when a reader looks.
    """
    g = m[j + job.GROUP_ROW]
    tick(m, m[g + group.QUEUE], -1)
    before, i = NONE, m[g + group.HEAD]
    while i != j:
        before, i = i, m[i + job.NEXT]
    if before == NONE:
        m[g + group.HEAD] = m[j + job.NEXT]
    else:
        m[before + job.NEXT] = m[j + job.NEXT]
    if m[g + group.TAIL] == j:
        m[g + group.TAIL] = before
    m[g + group.QUEUED_COST] -= m[j + job.COST]
    if m[g + group.LOCKED] == 1:
        charge(m, m[g + group.TENANT], -m[j + job.COST])
        return
    q = m[g + group.QUEUE]
    place(m, g)
    if m[g + group.HEAD] == NONE and m[g + group.RAISED] == NONE:
        drop_group(m, g)
    forget_if_idle(m, q)


def enter(m: Ints, g: int, priority: int) -> None:
    """Enter a group at a priority, behind its equals."""
    m[g + group.RAISED] = priority
    m[g + group.ENTERED] = m[header.NOW]
    m[g + group.ENTRY] = next_number(m)
    place(m, g)


def place(m: Ints, g: int) -> None:
    """Put a group where it belongs now, or nowhere; and so its tenant."""
    t = m[g + group.TENANT]
    renew(m, t)
    head = m[g + group.HEAD]
    arrived, number = 0, NOTHING
    if head != NONE:
        arrived, number = m[head + job.ARRIVED], m[head + job.NUMBER]
    entry = Entry(m[g + group.RAISED], m[g + group.ENTERED], m[g + group.ENTRY])
    rank = standing(entry, arrived, number, m[g + group.LOCKED] == 1, m[header.STEP])
    if m[g + links.PLACED] == 1:
        m[t + tenant.GROUPS] = out(m, m[t + tenant.GROUPS], g)
    if rank.number != NOTHING:
        m[g + links.FIRST], m[g + links.SECOND] = key(rank, m[header.STEP])
        m[t + tenant.GROUPS] = put(m, m[t + tenant.GROUPS], g)
        if m[t + links.PLACED] == 0:
            clock = m[m[g + group.QUEUE] + queue.CLOCK]
            m[t + tenant.TAG], m[t + tenant.TURN] = joined(m[t + tenant.TAG], clock, next_number(m))
    line_up(m, t)


def line_up(m: Ints, t: int) -> None:
    """Put a tenant where it belongs now, or nowhere."""
    q = m[t + tenant.QUEUE]
    still = m[t + tenant.GROUPS] != NONE
    alone = m[q + queue.TENANTS] == t and m[t + links.CHILD] == NONE
    if m[t + links.PLACED] == 1 and not (still and alone):
        if (
            still
            and m[t + links.FIRST] == m[t + tenant.TAG]
            and m[t + links.SECOND] == m[t + tenant.TURN]
        ):
            return
        m[q + queue.TENANTS] = out(m, m[q + queue.TENANTS], t)
    if still:
        m[t + links.FIRST] = m[t + tenant.TAG]
        m[t + links.SECOND] = m[t + tenant.TURN]
        if not alone:
            m[q + queue.TENANTS] = put(m, m[q + queue.TENANTS], t)


def charge(m: Ints, t: int, cost: int) -> None:
    """A tenant has been given work of this cost."""
    renew(m, t)
    m[t + tenant.TAG] = charged(m[t + tenant.TAG], cost, m[t + tenant.SHARE])
    line_up(m, t)


def best(m: Ints, q: int) -> int:
    """The group that is next at a queue, or NONE; entries of which nothing is left are used up."""
    while m[q + queue.TENANTS] != NONE:
        g = m[m[q + queue.TENANTS] + tenant.GROUPS]
        if m[g + group.HEAD] != NONE:
            return g
        m[g + group.RAISED] = NONE
        place(m, g)
        drop_group(m, g)
    forget_if_idle(m, q)
    return NONE


def take(m: Ints, g: int, cost: int) -> None:
    """Work of this cost is taken of a group: its tenant is charged, and the clock goes on."""
    q, t = m[g + group.QUEUE], m[g + group.TENANT]
    m[q + queue.CLOCK], m[t + tenant.TAG], m[t + tenant.TURN] = taken(
        m[t + tenant.TAG], m[q + queue.CLOCK], cost, m[t + tenant.SHARE], next_number(m)
    )


def lock(m: Ints, g: int) -> None:
    """A reader takes a group, and its tenant is charged for it."""
    q, t = m[g + group.QUEUE], m[g + group.TENANT]
    m[q + queue.LOCKED] += 1
    m[g + group.WAS_TURN] = m[t + tenant.TURN]
    take(m, g, m[g + group.QUEUED_COST])
    m[g + group.WAS_RAISED] = m[g + group.RAISED]
    m[g + group.WAS_ENTERED] = m[g + group.ENTERED]
    m[g + group.WAS_ENTRY] = m[g + group.ENTRY]
    m[g + group.RAISED] = NONE
    m[g + group.LOCKED] = 1
    place(m, g)


def give(m: Ints, g: int) -> int:
    """The next job of a locked group, or NONE."""
    j = m[g + group.HEAD]
    if j == NONE:
        return NONE
    tick(m, m[g + group.QUEUE], -1)
    m[g + group.HEAD] = m[j + job.NEXT]
    if m[g + group.HEAD] == NONE:
        m[g + group.TAIL] = NONE
    m[g + group.QUEUED_COST] -= m[j + job.COST]
    m[g + group.GIVEN_COST] += m[j + job.COST]
    m[j + job.NEXT] = NONE
    if m[g + group.FIRST_GIVEN] == NONE:
        m[g + group.FIRST_GIVEN] = j
    else:
        m[m[g + group.LAST_GIVEN] + job.NEXT] = j
    m[g + group.LAST_GIVEN] = j
    return j


def unlock(m: Ints, g: int) -> None:
    """The reader is through with a group."""
    q = m[g + group.QUEUE]
    m[q + queue.LOCKED] -= 1
    m[g + group.LOCKED] = 0
    m[g + group.FIRST_GIVEN] = m[g + group.LAST_GIVEN] = NONE
    m[g + group.GIVEN_COST] = 0
    if m[g + group.HEAD] == NONE and m[g + group.RAISED] == NONE:
        drop_group(m, g)
    else:
        place(m, g)
    forget_if_idle(m, q)


def roll_back(m: Ints, g: int) -> None:
    """The reader has failed: what it was given returns to its place, and the group to its own."""
    q, t = m[g + group.QUEUE], m[g + group.TENANT]
    m[q + queue.LOCKED] -= 1
    m[g + group.LOCKED] = 0
    j, back = m[g + group.FIRST_GIVEN], 0
    while j != NONE:
        back += 1
        j = m[j + job.NEXT]
    tick(m, q, back)
    m[m[g + group.LAST_GIVEN] + job.NEXT] = m[g + group.HEAD]
    if m[g + group.HEAD] == NONE:
        m[g + group.TAIL] = m[g + group.LAST_GIVEN]
    m[g + group.HEAD] = m[g + group.FIRST_GIVEN]
    m[g + group.QUEUED_COST] += m[g + group.GIVEN_COST]
    m[g + group.FIRST_GIVEN] = m[g + group.LAST_GIVEN] = NONE
    m[g + group.GIVEN_COST] = 0
    m[g + group.RAISED], m[g + group.ENTERED], m[g + group.ENTRY] = reentered(
        Entry(m[g + group.RAISED], m[g + group.ENTERED], m[g + group.ENTRY]),
        Entry(m[g + group.WAS_RAISED], m[g + group.WAS_ENTERED], m[g + group.WAS_ENTRY]),
    )
    place(m, g)
    m[t + tenant.TAG], m[t + tenant.TURN] = restored(
        m[t + tenant.TAG],
        m[t + tenant.TURN],
        m[g + group.WAS_TURN],
        m[g + group.QUEUED_COST],
        m[t + tenant.SHARE],
    )
    line_up(m, t)


def forget_if_idle(m: Ints, q: int) -> None:
    """Where nothing waits and nobody works, nobody has been charged anything."""
    if m[q + queue.TENANTS] == NONE and m[q + queue.LOCKED] == 0:
        m[q + queue.BUSY_PERIOD] += 1


COMPILED = (
    *heap.COMPILED,
    *groups.COMPILED,
    *decisions.COMPILED,
    next_number,
    tick,
    append,
    line_up,
    place,
    enter,
    charge,
    arrive,
    forget_if_idle,
    withdraw,
    best,
    take,
    lock,
    give,
    unlock,
    roll_back,
)
