"""The completions to come, in a heap: the first by time; at one time what was begun first.

Everything here is in the part of Python that Numba compiles.
"""

from __future__ import annotations

from fairlead.balance.rules.integers import Ints
from fairlead.replay.memory import DUE, DUE_AT, DUE_COUNT, DUE_ORDER, DUE_READER, DUES, STARTED


def sooner(at: int, order: int, other_at: int, other_order: int) -> bool:
    """Whether a completion comes before another; at one time what was begun first.

    Without a branch, because nobody can foresee which one it would be.
    """
    return (at < other_at) | ((at == other_at) & (order < other_order))


def set_due(m: Ints, d: int, at: int, order: int, reader: int) -> None:
    """Write a completion."""
    m[d + DUE_AT] = at
    m[d + DUE_ORDER] = order
    m[d + DUE_READER] = reader


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
        if other < end:
            below += DUE * sooner(
                m[other + DUE_AT], m[other + DUE_ORDER], m[below + DUE_AT], m[below + DUE_ORDER]
            )
        if not sooner(m[below + DUE_AT], m[below + DUE_ORDER], at, order):
            break
        set_due(m, d, m[below + DUE_AT], m[below + DUE_ORDER], m[below + DUE_READER])
        d = below
    set_due(m, d, at, order, reader)


def push(m: Ints, at: int, reader: int) -> None:
    """A completion is to come."""
    d = m[DUES] + DUE * m[DUE_COUNT]
    m[DUE_COUNT] += 1
    rise(m, d, at, m[STARTED], reader)


def pop(m: Ints) -> None:
    """The first completion has come."""
    m[DUE_COUNT] -= 1
    last = m[DUES] + DUE * m[DUE_COUNT]
    sink(m, m[DUES], m[last + DUE_AT], m[last + DUE_ORDER], m[last + DUE_READER])


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


COMPILED = (sooner, set_due, rise, sink, push, pop, cancel)
