"""The completions to come, in a heap: the first by time; at one time what was started first.

Everything here is in the part of Python that Numba compiles.
"""

from __future__ import annotations

from fairlead.balance.rules.integers import Ints
from fairlead.replay.layout import completion, header


def sooner(at: int, order: int, other_at: int, other_order: int) -> bool:
    """Whether a completion comes before another; at one time what was started first.

    Without a branch, because nobody can foresee which one it would be.
    """
    return (at < other_at) | ((at == other_at) & (order < other_order))


def set_due(m: Ints, d: int, at: int, order: int, reader: int) -> None:
    """Write a completion."""
    m[d + completion.AT] = at
    m[d + completion.ORDER] = order
    m[d + completion.WHO] = reader


def move(m: Ints, d: int, source: int) -> None:
    """Write a completion that stands elsewhere."""
    set_due(
        m,
        d,
        m[source + completion.AT],
        m[source + completion.ORDER],
        m[source + completion.WHO],
    )


def rise(m: Ints, d: int, at: int, order: int, reader: int) -> None:
    """Put a completion into this place of the heap, or above it."""
    first = m[header.COMPLETIONS]
    while d > first:
        above = first + completion.SIZE * ((d - first - completion.SIZE) // (2 * completion.SIZE))
        if not sooner(at, order, m[above + completion.AT], m[above + completion.ORDER]):
            break
        move(m, d, above)
        d = above
    set_due(m, d, at, order, reader)


def sink(m: Ints, d: int, at: int, order: int, reader: int) -> None:
    """Put a completion into this place of the heap, or below it."""
    first = m[header.COMPLETIONS]
    end = first + completion.SIZE * m[header.COMPLETION_COUNT]
    while True:
        below = 2 * d - first + completion.SIZE
        if below >= end:
            break
        other = below + completion.SIZE
        if other < end:
            below += completion.SIZE * sooner(
                m[other + completion.AT],
                m[other + completion.ORDER],
                m[below + completion.AT],
                m[below + completion.ORDER],
            )
        if not sooner(m[below + completion.AT], m[below + completion.ORDER], at, order):
            break
        move(m, d, below)
        d = below
    set_due(m, d, at, order, reader)


def push(m: Ints, at: int, reader: int) -> None:
    """A completion is to come."""
    d = m[header.COMPLETIONS] + completion.SIZE * m[header.COMPLETION_COUNT]
    m[header.COMPLETION_COUNT] += 1
    rise(m, d, at, m[header.STARTED], reader)


def pop(m: Ints) -> None:
    """The first completion has come."""
    m[header.COMPLETION_COUNT] -= 1
    last = m[header.COMPLETIONS] + completion.SIZE * m[header.COMPLETION_COUNT]
    sink(
        m,
        m[header.COMPLETIONS],
        m[last + completion.AT],
        m[last + completion.ORDER],
        m[last + completion.WHO],
    )


def cancel(m: Ints, reader: int) -> None:
    """What a reader does will not be completed."""
    d = m[header.COMPLETIONS]
    while m[d + completion.WHO] != reader:
        d += completion.SIZE
    m[header.COMPLETION_COUNT] -= 1
    last = m[header.COMPLETIONS] + completion.SIZE * m[header.COMPLETION_COUNT]
    if d != last:
        at, order = m[last + completion.AT], m[last + completion.ORDER]
        sink(m, d, at, order, m[last + completion.WHO])
        rise(m, d, m[d + completion.AT], m[d + completion.ORDER], m[d + completion.WHO])


COMPILED = (sooner, set_due, move, rise, sink, push, pop, cancel)
