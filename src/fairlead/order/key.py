"""What is next, as tuples of integers: the lowest is taken first.

Work waits in groups, and inside a group its order never changes; so what has a place is the group,
and its place is a pure function of what it is entered with. With several tenants the tenant is
chosen first, by what it has been charged, and then the group inside the tenant.

The functions are written once, in the part of Python that Numba compiles. In a table of SQL the
same tuples are the columns of an index.
"""

from __future__ import annotations

from typing import Final, NamedTuple

UNRAISED: Final = -1
"""The priority of a group that nobody has raised: one step below the lowest, which is 0."""


class Entry(NamedTuple):
    """What gives a group its place."""

    priority: int
    """0 to 255, or UNRAISED."""
    entered: int
    """Microseconds."""
    number: int
    """Running number of all that is entered or arrives: what happened first in one microsecond."""


def key(entry: Entry, step: int) -> tuple[int, int, int]:
    """The place of a group.

    `step` 0: the priorities from 255 down to 0, then whoever nobody raised; equals by when they
    were entered. (If nobody is ever raised, this is first come, first served.)

    `step` > 0 (microseconds per step of priority): ageing. A priority is worth a head start of so
    many steps, and no more: an entry of priority p is overtaken by one of priority q only if that
    was entered less than (q - p) steps after it, so by nobody from 256 steps after it on. Nothing
    saturates: among those who wait for long the order is the same as among those who just came.
    """
    if step > 0:
        return (0, entry.entered - entry.priority * step, entry.number)
    return (-entry.priority, entry.entered, entry.number)


def joined(tag: int, clock: int) -> int:
    """A tenant's tag when something of it begins to wait: what it did not use is not saved up."""
    return max(tag, clock)


def charged(tag: int, cost: int, share: int) -> int:
    """A tenant's tag when work of this cost is taken (or, with a negative cost, given back).

    The tenant with the lowest tag is next, and the clock is the highest tag that was next so far.
    `share` is the least common multiple of all weights, divided by the tenant's weight; so tags are
    whole numbers. This is start-time fair queueing. Its bound: while something of tenants a and b
    could be taken all the time, what they are given, each divided by its weight, differs by at
    most A + B, where A and B are the most that one group of theirs brought, divided by the weight;
    by R times that, with R readers, where work arrives for groups that are worked on; by 2 R times
    that, where work is given back.
    """
    return tag + cost * share


COMPILED = (key, joined, charged)
