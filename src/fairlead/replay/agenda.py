"""What waits at a server, and what its readers take next: `fairlead.order`, compiled.

What is decided, `fairlead.order.key` decides, here as in the live agenda; this only keeps it, in
cells where `fairlead.order.state` has objects. Everything here is in the part of Python that Numba
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
from fairlead.replay import heap
from fairlead.replay.heap import CHILD, FIRST, NONE, PLACED, SECOND, out, put
from fairlead.replay.memory import (
    AGE,
    ALSO,
    AREA,
    ARRIVED,
    AT,
    CLOCK,
    COST,
    COUNTED,
    ENTERED,
    ENTRY,
    EPOCH,
    FIFO,
    FREE_NODE,
    FREE_TENANT,
    GIVEN,
    GROUP,
    HEAD,
    HELD,
    HOME,
    LATEST,
    LINE,
    LOCKED,
    NAME,
    NEXT,
    NODE_OF,
    NODES_LEFT,
    NOW,
    NUMBER,
    NUMBERED,
    OWNER,
    PRIORITY,
    RAISED,
    REMEMBERS,
    SHARE,
    SHARE_OF,
    SPENT,
    STEP,
    TAG,
    TAIL,
    TENANT,
    TENANT_OF,
    TENANTS_LEFT,
    TOP,
    TURN,
    WAITING,
    WAS_ENTERED,
    WAS_ENTRY,
    WAS_RAISED,
    WAS_TURN,
    WORTH,
)


def next_number(m: Ints) -> int:
    """Number an event."""
    m[NUMBERED] += 1
    return m[NUMBERED]


def tick(m: Ints, s: int, more: int) -> None:
    """So many more jobs wait at a server from now on."""
    m[s + AREA] += m[s + WAITING] * (m[NOW] - m[s + COUNTED])
    m[s + COUNTED] = m[NOW]
    m[s + WAITING] += more


def tenant_at(m: Ints, s: int, name: int) -> int:
    """The row of a tenant at a server."""
    t = m[m[TENANT_OF] + name]
    while t != NONE and m[t + AT] != s:
        t = m[t + ALSO]
    if t == NONE:
        t = m[FREE_TENANT]
        m[FREE_TENANT] = m[t + ALSO]
        m[TENANTS_LEFT] -= 1
        m[t + AT] = s
        m[t + NAME] = name
        m[t + SHARE] = m[m[SHARE_OF] + name]
        m[t + TOP] = NONE
        m[t + PLACED] = 0
        m[t + EPOCH] = NONE
        m[t + ALSO] = m[m[TENANT_OF] + name]
        m[m[TENANT_OF] + name] = t
    renew(m, t)
    return t


def renew(m: Ints, t: int) -> None:
    """Where nothing waited and nobody worked, nobody has been charged anything."""
    s = m[t + AT]
    if m[t + EPOCH] != m[s + AGE]:
        m[t + EPOCH] = m[s + AGE]
        m[t + TAG] = m[s + CLOCK]
        m[t + TURN] = 0


def node_at(m: Ints, s: int, name: int) -> int:
    """The row of a group at a server, or NONE."""
    if name == NONE:
        return NONE
    n = m[m[NODE_OF] + name]
    while n != NONE and m[n + AT] != s:
        n = m[n + ALSO]
    return n


def new_node(m: Ints, s: int, name: int, t: int) -> int:
    """A row for a group of which nothing waits yet."""
    n = m[FREE_NODE]
    m[FREE_NODE] = m[n + ALSO]
    m[NODES_LEFT] -= 1
    m[n + AT] = s
    m[n + NAME] = name
    m[n + OWNER] = t
    m[n + HEAD] = m[n + TAIL] = NONE
    m[n + GIVEN] = m[n + LATEST] = NONE
    m[n + WORTH] = m[n + SPENT] = 0
    m[n + RAISED] = NONE
    m[n + LOCKED] = 0
    m[n + PLACED] = 0
    if name != NONE:
        m[n + ALSO] = m[m[NODE_OF] + name]
        m[m[NODE_OF] + name] = n
    return n


def drop_node(m: Ints, n: int) -> None:
    """Forget a group of which nothing waits, if it cannot be raised any more."""
    name = m[n + NAME]
    if name != NONE:
        if m[REMEMBERS] == 1:
            return
        i = m[m[NODE_OF] + name]
        if i == n:
            m[m[NODE_OF] + name] = m[n + ALSO]
        else:
            while m[i + ALSO] != n:
                i = m[i + ALSO]
            m[i + ALSO] = m[n + ALSO]
    m[n + ALSO] = m[FREE_NODE]
    m[FREE_NODE] = n
    m[NODES_LEFT] += 1


def arrive(m: Ints, s: int, j: int) -> None:
    """A job begins to wait at a server, and raises its group if it has a priority."""
    tick(m, s, 1)
    number = next_number(m)
    n = node_at(m, s, m[j + GROUP])
    if n == NONE:
        n = new_node(m, s, m[j + GROUP], tenant_at(m, s, m[j + TENANT]))
    first = m[n + HEAD] == NONE
    m[j + ARRIVED] = m[NOW]
    m[j + NUMBER] = number
    append(m, n, j)
    if m[n + LOCKED] == 1:
        charge(m, m[n + OWNER], m[j + COST])
    if m[j + PRIORITY] != NONE and m[FIFO] == 0:
        enter(m, n, m[j + PRIORITY])
    elif first:
        place(m, n)


def append(m: Ints, n: int, j: int) -> None:
    """A job stands behind those of its group that wait."""
    m[j + HOME] = n
    m[j + NEXT] = NONE
    if m[n + HEAD] == NONE:
        m[n + HEAD] = j
    else:
        m[m[n + TAIL] + NEXT] = j
    m[n + TAIL] = j
    m[n + WORTH] += m[j + COST]


def withdraw(m: Ints, j: int) -> None:
    """A job that waits leaves its place, wherever that is in its group.

    If a reader has the group, the tenant has been charged for the job (when the reader came, or
    when the job did), and is given that back. Else the group stands where the first of those that
    are left puts it. An entry stays, even if nothing is left: it is used up when a reader looks.
    """
    n = m[j + HOME]
    tick(m, m[n + AT], -1)
    before, i = NONE, m[n + HEAD]
    while i != j:
        before, i = i, m[i + NEXT]
    if before == NONE:
        m[n + HEAD] = m[j + NEXT]
    else:
        m[before + NEXT] = m[j + NEXT]
    if m[n + TAIL] == j:
        m[n + TAIL] = before
    m[n + WORTH] -= m[j + COST]
    if m[n + LOCKED] == 1:
        charge(m, m[n + OWNER], -m[j + COST])
        return
    s = m[n + AT]
    place(m, n)
    if m[n + HEAD] == NONE and m[n + RAISED] == NONE:
        drop_node(m, n)
    forget_if_idle(m, s)


def enter(m: Ints, n: int, priority: int) -> None:
    """Enter a group at a priority, behind its equals."""
    m[n + RAISED] = priority
    m[n + ENTERED] = m[NOW]
    m[n + ENTRY] = next_number(m)
    place(m, n)


def place(m: Ints, n: int) -> None:
    """Put a group where it belongs now, or nowhere; and so its tenant."""
    t = m[n + OWNER]
    renew(m, t)
    head = m[n + HEAD]
    arrived, number = 0, NOTHING
    if head != NONE:
        arrived, number = m[head + ARRIVED], m[head + NUMBER]
    entry = Entry(m[n + RAISED], m[n + ENTERED], m[n + ENTRY])
    found = standing(entry, arrived, number, m[n + LOCKED] == 1, m[STEP])
    if m[n + PLACED] == 1:
        m[t + TOP] = out(m, m[t + TOP], n)
    if found.number != NOTHING:
        m[n + FIRST], m[n + SECOND] = key(found, m[STEP])
        m[t + TOP] = put(m, m[t + TOP], n)
        if m[t + PLACED] == 0:
            clock = m[m[n + AT] + CLOCK]
            m[t + TAG], m[t + TURN] = joined(m[t + TAG], clock, next_number(m))
    line_up(m, t)


def line_up(m: Ints, t: int) -> None:
    """Put a tenant where it belongs now, or nowhere."""
    s = m[t + AT]
    still = m[t + TOP] != NONE
    alone = m[s + LINE] == t and m[t + CHILD] == NONE
    if m[t + PLACED] == 1 and not (still and alone):
        if still and m[t + FIRST] == m[t + TAG] and (m[t + SECOND] == m[t + TURN]):
            return
        m[s + LINE] = out(m, m[s + LINE], t)
    if still:
        m[t + FIRST] = m[t + TAG]
        m[t + SECOND] = m[t + TURN]
        if not alone:
            m[s + LINE] = put(m, m[s + LINE], t)


def charge(m: Ints, t: int, cost: int) -> None:
    """A tenant has been given work of this cost."""
    renew(m, t)
    m[t + TAG] = charged(m[t + TAG], cost, m[t + SHARE])
    line_up(m, t)


def best(m: Ints, s: int) -> int:
    """The group that is next at a server, or NONE; entries of which nothing is left are used up."""
    while m[s + LINE] != NONE:
        n = m[m[s + LINE] + TOP]
        if m[n + HEAD] != NONE:
            return n
        m[n + RAISED] = NONE
        place(m, n)
        drop_node(m, n)
    forget_if_idle(m, s)
    return NONE


def take(m: Ints, n: int, cost: int) -> None:
    """Work of this cost is taken of a group: its tenant is charged, and the clock goes on."""
    s, t = m[n + AT], m[n + OWNER]
    m[s + CLOCK], m[t + TAG], m[t + TURN] = taken(
        m[t + TAG], m[s + CLOCK], cost, m[t + SHARE], next_number(m)
    )


def lock(m: Ints, n: int) -> None:
    """A reader takes a group, and its tenant is charged for it."""
    s, t = m[n + AT], m[n + OWNER]
    m[s + HELD] += 1
    m[n + WAS_TURN] = m[t + TURN]
    take(m, n, m[n + WORTH])
    m[n + WAS_RAISED] = m[n + RAISED]
    m[n + WAS_ENTERED] = m[n + ENTERED]
    m[n + WAS_ENTRY] = m[n + ENTRY]
    m[n + RAISED] = NONE
    m[n + LOCKED] = 1
    place(m, n)


def give(m: Ints, n: int) -> int:
    """The next job of a locked group, or NONE."""
    j = m[n + HEAD]
    if j == NONE:
        return NONE
    tick(m, m[n + AT], -1)
    m[n + HEAD] = m[j + NEXT]
    if m[n + HEAD] == NONE:
        m[n + TAIL] = NONE
    m[n + WORTH] -= m[j + COST]
    m[n + SPENT] += m[j + COST]
    m[j + NEXT] = NONE
    if m[n + GIVEN] == NONE:
        m[n + GIVEN] = j
    else:
        m[m[n + LATEST] + NEXT] = j
    m[n + LATEST] = j
    return j


def unlock(m: Ints, n: int) -> None:
    """The reader is through with a group."""
    s = m[n + AT]
    m[s + HELD] -= 1
    m[n + LOCKED] = 0
    m[n + GIVEN] = m[n + LATEST] = NONE
    m[n + SPENT] = 0
    if m[n + HEAD] == NONE and m[n + RAISED] == NONE:
        drop_node(m, n)
    else:
        place(m, n)
    forget_if_idle(m, s)


def roll_back(m: Ints, n: int) -> None:
    """The reader has failed: what it was given returns to its place, and the group to its own."""
    s, t = m[n + AT], m[n + OWNER]
    m[s + HELD] -= 1
    m[n + LOCKED] = 0
    j, back = m[n + GIVEN], 0
    while j != NONE:
        back += 1
        j = m[j + NEXT]
    tick(m, s, back)
    m[m[n + LATEST] + NEXT] = m[n + HEAD]
    if m[n + HEAD] == NONE:
        m[n + TAIL] = m[n + LATEST]
    m[n + HEAD] = m[n + GIVEN]
    m[n + WORTH] += m[n + SPENT]
    m[n + GIVEN] = m[n + LATEST] = NONE
    m[n + SPENT] = 0
    m[n + RAISED], m[n + ENTERED], m[n + ENTRY] = reentered(
        Entry(m[n + RAISED], m[n + ENTERED], m[n + ENTRY]),
        Entry(m[n + WAS_RAISED], m[n + WAS_ENTERED], m[n + WAS_ENTRY]),
    )
    place(m, n)
    m[t + TAG], m[t + TURN] = restored(
        m[t + TAG], m[t + TURN], m[n + WAS_TURN], m[n + WORTH], m[t + SHARE]
    )
    line_up(m, t)


def forget_if_idle(m: Ints, s: int) -> None:
    """Where nothing waits and nobody works, nobody has been charged anything."""
    if m[s + LINE] == NONE and m[s + HELD] == 0:
        m[s + AGE] += 1


COMPILED = (
    *heap.COMPILED,
    *decisions.COMPILED,
    next_number,
    tick,
    renew,
    tenant_at,
    node_at,
    new_node,
    drop_node,
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
