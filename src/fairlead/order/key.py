"""What is next, and what each event does to that: every decision about the order of work.

Work waits in groups, and inside a group its order never changes; so what has a place is the group,
and its place is a pure function of what it is entered with. With several tenants the tenant is
chosen first, by what it has been charged, and then the group inside the tenant. Keys are pairs of
integers, the lowest first: a group's is `key(standing(...))`, a tenant's its tag and its turn.

These functions keep nothing. `order/work_order.py` keeps what they decide in objects, the kernel of
a replay (`replay/agenda.py`) in cells of an array; a table of SQL would keep the pairs in the
columns of an index. They are written once, in the part of Python that Numba compiles.
"""

from __future__ import annotations

from typing import Final, NamedTuple

UNRAISED: Final = -1
"""The priority of a group that nobody has raised: one step below the lowest, which is 0."""
NOTHING: Final = 0
"""The number of what is not there; events are numbered from 1."""


class Entry(NamedTuple):
    """What gives a group its place."""

    priority: int
    """0 to 255, or UNRAISED."""
    entered: int
    """Microseconds; never less than those of an earlier number."""
    number: int
    """Running number of all that is entered or arrives."""


NO_ENTRY: Final = Entry(UNRAISED, 0, NOTHING)


def standing(entry: Entry, arrived: int, number: int, locked: bool, step: int) -> Entry:
    """What a group stands with among the others; its number is NOTHING if it has no place.

    `entry`: to what it was raised. `arrived`, `number`: of its first item that waits; NOTHING: none
    does. `locked`: a reader has it. `step`: as in `key`. With ageing the age is that of the work: a
    raise that began it anew could cause delay.
    """
    if locked:
        return NO_ENTRY
    if entry.priority != UNRAISED and (step == 0 or number == NOTHING):
        return entry
    if number == NOTHING:
        return NO_ENTRY
    return Entry(entry.priority, arrived, number)


def key(entry: Entry, step: int) -> tuple[int, int]:
    """The place of a group.

    `step` 0: the priorities from 255 down to 0, then those that nobody raised; equals by when they
    were entered, which is what their numbers say. (If nobody is ever raised, this is first come,
    first served.)

    `step` > 0 (microseconds per step of priority): ageing. A priority is worth a head start of so
    many steps, and no more: an entry of priority p is overtaken by one of priority q only if that
    was entered less than (q - p) steps after it, so by nobody from 256 steps after it on. Nothing
    saturates: among those who wait for long the order is the same as among those who just came.
    """
    if step > 0:
        return (entry.entered - entry.priority * step, entry.number)
    return (-entry.priority, entry.number)


def joined(tag: int, clock: int, number: int) -> tuple[int, int]:
    """A tenant's tag and turn when something of it begins to wait, as event `number`.

    What it did not use is not saved up. The turn decides among equal tags: who was served, or began
    to wait, less recently is first.
    """
    return (max(tag, clock), number)


def taken(tag: int, clock: int, cost: int, share: int, number: int) -> tuple[int, int, int]:
    """The clock, and a tenant's tag and turn, when its group of this cost is taken.

    While one tenant alone has anything, no choice depends on its tag; when another one joins, what
    counts is how far the tag is from the clock. So a store may note charges without changing a
    shared row, and add them up, in their order, when a second tenant joins. It must not lose them:
    the newcomer would no longer be next.
    """
    return (max(tag, clock), charged(tag, cost, share), number)


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


def reentered(entry: Entry, was: Entry) -> Entry:
    """The entry of a group that is released: the one with which it was taken, unless raised since.

    It gets its place before its tenant is given the charge back (`restored`), so that a tenant that
    begins to wait by this has joined with what it was charged.
    """
    return entry if entry.priority != UNRAISED else was


def restored(tag: int, turn: int, was_turn: int, cost: int, share: int) -> tuple[int, int]:
    """A tenant's tag and turn when its group of this cost is released: as if it had not been taken.

    `was_turn`: its turn before that.
    """
    return (charged(tag, -cost, share), min(turn, was_turn))


COMPILED = (standing, key, charged, joined, taken, reentered, restored)
