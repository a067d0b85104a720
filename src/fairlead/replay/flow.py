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

from fairlead.balance.procedure import RULE, what_decides
from fairlead.balance.rules.due import work
from fairlead.balance.rules.integers import Indexes, Ints
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.numba_views import borrowed, cells_of, lent, state_of
from fairlead.replay.completions import move, pop, push, rise, set_due, sink, sooner
from fairlead.replay.layout import (
    NEVER,
    NONE,
    completion,
    destination,
    eligible,
    header,
    queue,
    reader,
)

MAX_READERS: Final = 64
"""They are looked through one by one."""


def pass_completions(m: Ints, rule: Any, time: int) -> None:  # noqa: ANN401
    """Let all completions up to and at this time happen."""
    while m[header.COMPLETION_COUNT] > 0:
        d = m[header.COMPLETIONS]
        if m[d + completion.AT] > time:
            break
        member = m[d + completion.WHO]
        pop(m)
        completed(state_of(rule), member)  # type: ignore[name-defined]  # noqa: F821


def free_reader(m: Ints, q: int, time: int) -> int:
    """The first reader of a queue that is free by then, else the one that is free first."""
    best = m[q + queue.FIRST_READER]
    at, turn = m[best + reader.FREE_AT], m[best + reader.FREE_TURN]
    for k in range(1, m[q + queue.READERS]):
        if not sooner(time, 0, at, turn):
            break
        r = m[q + queue.FIRST_READER] + reader.SIZE * k
        if sooner(m[r + reader.FREE_AT], m[r + reader.FREE_TURN], at, turn):
            best, at, turn = r, m[r + reader.FREE_AT], m[r + reader.FREE_TURN]
    return best


def flow(
    m: Ints,
    a: Indexes,
    rule: Any,  # noqa: ANN401
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
            pass_completions(m, rule, time)
        v = m[header.ELIGIBLE] + eligible.SIZE * codes[k]
        member = m[v + eligible.PRESELECTED]
        some = m[v + eligible.MEMBERS_STOP] > m[v + eligible.MEMBERS_START]
        if what_decides(NONE, member, some) == RULE:
            member = chosen(m, a, rule, v, keys, k)
        whom[k] = member
        if member == NONE:
            readers[k] = NONE
            starts[k] = finishes[k] = NEVER
            continue
        q = m[m[header.DESTINATIONS] + destination.SIZE * member + destination.QUEUE]
        r = free_reader(m, q, time)
        start = max(time, m[r + reader.FREE_AT])
        turn = m[r + reader.FREE_TURN] if m[r + reader.FREE_AT] == start else 0
        finish = start + work(services[k], m[q + queue.SPEED])
        at_once = finish == start
        m[r + reader.FREE_AT] = finish
        m[r + reader.FREE_TURN] = turn + 1 if at_once else 0
        readers[k] = (r - m[q + queue.FIRST_READER]) // reader.SIZE + 1
        starts[k] = start
        finishes[k] = finish
        if timed:
            m[header.STARTED] += 1
            # What took no time is completed when all of its instant have come.
            push(m, finish + at_once, member)


def chosen(m: Ints, a: Indexes, rule: Any, v: int, _: Int64s, __: int) -> int:  # noqa: ANN401
    """The member that the rule chooses among those that are eligible."""
    start, stop = m[v + eligible.MEMBERS_START], m[v + eligible.MEMBERS_STOP]
    return choose(state_of(rule), a, start, stop)  # type: ignore[name-defined,no-any-return]  # noqa: F821


def chosen_by_key(m: Ints, a: Indexes, rule: Any, v: int, keys: Int64s, k: int) -> int:  # noqa: ANN401
    """Ask a rule that looks at a number of the message."""
    start, stop = m[v + eligible.MEMBERS_START], m[v + eligible.MEMBERS_STOP]
    return choose(state_of(rule), a, start, stop, keys[k])  # type: ignore[name-defined,no-any-return]  # noqa: F821


def pass_to(m: Ints, a: Indexes, rule: Any, time: int) -> None:  # noqa: ANN401, ARG001
    """`pass_completions`, asked from outside."""
    pass_completions(cells_of(m), lent(rule), time)


def flow_in(
    m: Ints,
    a: Indexes,
    rule: Any,  # noqa: ANN401
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
        lent(rule),
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
BASE: Sequence[Any] = (
    what_decides,
    work,
    sooner,
    set_due,
    move,
    rise,
    sink,
    push,
    pop,
    free_reader,
)
OF_A_RULE: Sequence[Any] = (pass_completions, flow, flow_in, pass_to)
