"""Rows of groups and of tenants at a queue: found, taken, and given back when they are used up.

Everything here is in the part of Python that Numba compiles.
"""

from __future__ import annotations

from fairlead.balance.rules.integers import Ints
from fairlead.replay.layout import NONE, group, header, links, queue, tenant


def tenant_at(m: Ints, q: int, name: int) -> int:
    """The row of a tenant at a queue."""
    t = m[m[header.TENANT_OF] + name]
    while t != NONE and m[t + tenant.QUEUE] != q:
        t = m[t + tenant.NEXT]
    if t == NONE:
        t = m[header.FREE_TENANT]
        m[header.FREE_TENANT] = m[t + tenant.NEXT]
        m[header.TENANTS_LEFT] -= 1
        m[t + tenant.QUEUE] = q
        m[t + tenant.NUMBER] = name
        m[t + tenant.SHARE] = m[m[header.SHARE_OF] + name]
        m[t + tenant.GROUPS] = NONE
        m[t + links.PLACED] = 0
        m[t + tenant.BUSY_PERIOD] = NONE
        m[t + tenant.NEXT] = m[m[header.TENANT_OF] + name]
        m[m[header.TENANT_OF] + name] = t
    renew(m, t)
    return t


def renew(m: Ints, t: int) -> None:
    """Where nothing waited and nobody worked, nobody has been charged anything."""
    q = m[t + tenant.QUEUE]
    if m[t + tenant.BUSY_PERIOD] != m[q + queue.BUSY_PERIOD]:
        m[t + tenant.BUSY_PERIOD] = m[q + queue.BUSY_PERIOD]
        m[t + tenant.TAG] = m[q + queue.CLOCK]
        m[t + tenant.TURN] = 0


def group_at(m: Ints, q: int, name: int) -> int:
    """The row of a group at a queue, or NONE."""
    if name == NONE:
        return NONE
    g = m[m[header.GROUP_OF] + name]
    while g != NONE and m[g + group.QUEUE] != q:
        g = m[g + group.NEXT]
    return g


def new_group(m: Ints, q: int, name: int, t: int) -> int:
    """A row for a group of which nothing waits yet."""
    g = m[header.FREE_GROUP]
    m[header.FREE_GROUP] = m[g + group.NEXT]
    m[header.GROUPS_LEFT] -= 1
    m[g + group.QUEUE] = q
    m[g + group.NUMBER] = name
    m[g + group.TENANT] = t
    m[g + group.HEAD] = m[g + group.TAIL] = NONE
    m[g + group.FIRST_GIVEN] = m[g + group.LAST_GIVEN] = NONE
    m[g + group.QUEUED_COST] = m[g + group.GIVEN_COST] = 0
    m[g + group.RAISED] = NONE
    m[g + group.LOCKED] = 0
    m[g + links.PLACED] = 0
    if name != NONE:
        m[g + group.NEXT] = m[m[header.GROUP_OF] + name]
        m[m[header.GROUP_OF] + name] = g
    return g


def drop_group(m: Ints, g: int) -> None:
    """Forget a group of which nothing waits, if it cannot be raised any more."""
    name = m[g + group.NUMBER]
    if name != NONE:
        if m[header.REMEMBERS] == 1:
            return
        i = m[m[header.GROUP_OF] + name]
        if i == g:
            m[m[header.GROUP_OF] + name] = m[g + group.NEXT]
        else:
            while m[i + group.NEXT] != g:
                i = m[i + group.NEXT]
            m[i + group.NEXT] = m[g + group.NEXT]
    m[g + group.NEXT] = m[header.FREE_GROUP]
    m[header.FREE_GROUP] = g
    m[header.GROUPS_LEFT] += 1


COMPILED = (renew, tenant_at, group_at, new_group, drop_group)
