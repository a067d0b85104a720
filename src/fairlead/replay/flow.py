"""Replay where nothing overtakes: first come, first served, so a start is known at the arrival.

Without groups, priorities, tenants, failures and changes of readers the general kernel does no more
than this: a message starts when it is there and the first reader of its destination is free. Which
is some twenty times less work. Where completions decide, those to come are kept in a heap.

In one instant readers look for work in turns: in turn 0 when all messages have come, and after work
that took no time once more, in the turn after. So when a reader is free is an instant and a turn.

What stands above `Flow` is in the part of Python that Numba compiles; `choose` and `completed` are
the choice rule's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fairlead.balance.rules.due import work
from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.compiled.borrowed import borrowed, cells_of, lent, state_of
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.replay.due import pop, push, rise, set_due, sink, sooner
from fairlead.replay.heap import NONE
from fairlead.replay.memory import (
    CLASS_CELLS,
    CLASSES,
    DUE_AT,
    DUE_COUNT,
    DUE_READER,
    DUES,
    FREE_AT,
    FREE_TURN,
    MEMBER_CELLS,
    MEMBERS,
    NEVER,
    READER_CELLS,
    READER_ROW,
    READERS,
    SET_START,
    SET_STOP,
    SPEED,
    STARTED,
    TAKEN,
    WORKED_AT,
)

MOST_READERS: Final = 64
"""They are looked through one by one."""


def pass_completions(m: Ints, r: Any, time: int) -> None:  # noqa: ANN401
    """Let all completions up to and at this time happen."""
    while m[DUE_COUNT] > 0 and m[m[DUES] + DUE_AT] <= time:
        member = m[m[DUES] + DUE_READER]
        pop(m)
        completed(state_of(r), member)  # type: ignore[name-defined]  # noqa: F821


def free_reader(m: Ints, s: int, time: int) -> int:
    """The first reader of a server that is free by then, else the one that is free first."""
    best = m[s + READER_ROW]
    at, turn = m[best + FREE_AT], m[best + FREE_TURN]
    for k in range(1, m[s + READERS]):
        if not sooner(time, 0, at, turn):
            break
        reader = m[s + READER_ROW] + READER_CELLS * k
        if sooner(m[reader + FREE_AT], m[reader + FREE_TURN], at, turn):
            best, at, turn = reader, m[reader + FREE_AT], m[reader + FREE_TURN]
    return best


def flow(
    m: Ints,
    a: Indexes,
    r: Any,  # noqa: ANN401
    timed: bool,
    codes: Int32s,
    times: Int64s,
    services: Int64s,
    keys: Int64s,
    whom: Int64s,
    readers: Int64s,
    starts: Int64s,
    finishes: Int64s,
) -> None:
    """Replay messages in order, into the last four: member (NONE: nobody), reader, start, end."""
    for k in range(len(times)):
        time = times[k]
        if timed:
            pass_completions(m, r, time)
        c = m[CLASSES] + CLASS_CELLS * codes[k]
        member = m[c + TAKEN]
        if m[c + SET_STOP] > m[c + SET_START]:
            member = chosen(m, a, r, c, keys, k)
        whom[k] = member
        if member == NONE:
            readers[k] = NONE
            starts[k] = finishes[k] = NEVER
            continue
        s = m[m[MEMBERS] + MEMBER_CELLS * member + WORKED_AT]
        reader = free_reader(m, s, time)
        start = max(time, m[reader + FREE_AT])
        turn = m[reader + FREE_TURN] if m[reader + FREE_AT] == start else 0
        finish = start + work(services[k], m[s + SPEED])
        at_once = finish == start
        m[reader + FREE_AT] = finish
        m[reader + FREE_TURN] = turn + 1 if at_once else 0
        readers[k] = (reader - m[s + READER_ROW]) // READER_CELLS + 1
        starts[k] = start
        finishes[k] = finish
        if timed:
            m[STARTED] += 1
            # What took no time is completed when all of its instant have come.
            push(m, finish + at_once, member)


def chosen(m: Ints, a: Indexes, r: Any, c: int, _: Int64s, __: int) -> int:  # noqa: ANN401
    """Ask the rule."""
    return choose(state_of(r), a, m[c + SET_START], m[c + SET_STOP])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_key(m: Ints, a: Indexes, r: Any, c: int, keys: Int64s, k: int) -> int:  # noqa: ANN401
    """Ask a rule that looks at a number of the message."""
    return choose(state_of(r), a, m[c + SET_START], m[c + SET_STOP], keys[k])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def pass_to(m: Ints, a: Indexes, r: Any, time: int) -> None:  # noqa: ANN401, ARG001
    """`pass_completions`, asked from outside."""
    pass_completions(cells_of(m), lent(r), time)


def flow_in(
    m: Ints,
    a: Indexes,
    r: Any,  # noqa: ANN401
    timed: bool,
    codes: Int32s,
    times: Int64s,
    services: Int64s,
    keys: Int64s,
    whom: Int64s,
    readers: Int64s,
    starts: Int64s,
    finishes: Int64s,
) -> None:
    """`flow`, asked from outside."""
    flow(
        cells_of(m),
        cells_of(a),
        lent(r),
        timed,
        borrowed(codes),
        borrowed(times),
        borrowed(services),
        borrowed(keys),
        borrowed(whom),
        borrowed(readers),
        borrowed(starts),
        borrowed(finishes),
    )


CHOSEN: Sequence[Any] = (chosen, chosen_by_key)
BASE: Sequence[Any] = (work, sooner, set_due, rise, sink, push, pop, free_reader)
OF_A_RULE: Sequence[Any] = (pass_completions, flow, flow_in, pass_to)
