"""Readers: they look for work, start a job, complete it or give everything back.

Everything here is in the part of Python that Numba compiles. `completed` and `returned` are those
of the cluster's choice rule, whose state is `rule`.
"""

from __future__ import annotations

from typing import Any

from fairlead.balance.rules.due import work
from fairlead.balance.rules.integers import Ints
from fairlead.compiled.numba_views import state_of
from fairlead.replay.agenda import best, give, lock, unlock
from fairlead.replay.completions import push
from fairlead.replay.jobs import again, over
from fairlead.replay.layout import NONE, group, header, job, queue, reader
from fairlead.replay.timeouts import acknowledge, hand_back
from fairlead.replay.who import touch
from fairlead.replay.words import ROLLED_BACK_CODE, ROUTED_CODE, TIMEOUT_CODE


def look(m: Ints) -> None:
    """Readers that have nothing to do look for work where something has happened."""
    for k in range(m[header.TOUCHED_COUNT]):
        q = m[m[header.TOUCHED] + k]
        m[q + queue.TOUCHED] = 0
        r = m[q + queue.FIRST_READER]
        while m[q + queue.IDLE] > 0:
            g = best(m, q)
            if g == NONE:
                break
            lock(m, g)
            while m[r + reader.GROUP] != NONE:
                r += reader.SIZE
            m[q + queue.IDLE] -= 1
            m[r + reader.GROUP] = g
            begin(m, r, give(m, g))
    m[header.TOUCHED_COUNT] = 0


def begin(m: Ints, r: int, j: int) -> None:
    """A reader starts a job."""
    q = m[r + reader.QUEUE]
    m[r + reader.JOB] = j
    m[j + job.READER] = (r - m[q + queue.FIRST_READER]) // reader.SIZE + 1
    m[j + job.START] = m[header.NOW]
    m[header.STARTED] += 1
    push(m, m[header.NOW] + work(m[j + job.SERVICE], m[q + queue.SPEED]), r)


def complete(m: Ints, rule: Any, r: int) -> None:  # noqa: ANN401
    """A reader is through with a job, and goes on with its group."""
    g, j = m[r + reader.GROUP], m[r + reader.JOB]
    if m[j + job.ROLLBACKS] > 0:
        m[j + job.FINISH] = m[header.NOW]
        m[j + job.ROLLBACKS] -= 1
        end_attempts(m, g, ROLLED_BACK_CODE)
        undo(m, rule, r)
        return
    m[j + job.FINISH] = m[header.NOW]
    if m[j + job.WATCH] != job.TIMED_OUT:
        completed(state_of(rule), m[j + job.MEMBER])  # type: ignore[name-defined]  # noqa: F821
        if m[j + job.WATCH] != NONE:
            acknowledge(m, j)
    i = give(m, g)
    if i != NONE:
        begin(m, r, i)
        return
    i = m[g + group.FIRST_GIVEN]
    while i != NONE:
        after = m[i + job.NEXT]
        over(m, i, TIMEOUT_CODE if m[i + job.WATCH] == job.TIMED_OUT else ROUTED_CODE)
        i = after
    unlock(m, g)
    rest(m, r)


def given(m: Ints, g: int) -> int:
    """How many jobs the reader of a group was given."""
    count, i = 0, m[g + group.FIRST_GIVEN]
    while i != NONE:
        count += 1
        i = m[i + job.NEXT]
    return count


def end_attempts(m: Ints, g: int, outcome: int) -> None:
    """All that the reader of a group was given was in vain: a row for each attempt."""
    i = m[g + group.FIRST_GIVEN]
    while i != NONE:
        if m[i + job.WATCH] != job.TIMED_OUT:
            again(m, i, outcome)
        i = m[i + job.NEXT]


def undo(m: Ints, rule: Any, r: int) -> None:  # noqa: ANN401
    """All that a reader was given returns to its place; what it had finished is pending again."""
    g = m[r + reader.GROUP]
    i = m[g + group.FIRST_GIVEN]
    while i != m[r + reader.JOB]:
        if m[i + job.WATCH] != job.TIMED_OUT:
            returned(state_of(rule), m[i + job.MEMBER])  # type: ignore[name-defined]  # noqa: F821
        i = m[i + job.NEXT]
    hand_back(m, g)
    rest(m, r)


def rest(m: Ints, r: int) -> None:
    """A reader has nothing to do, or is not there any more."""
    q = m[r + reader.QUEUE]
    m[r + reader.GROUP] = m[r + reader.JOB] = NONE
    if r < m[q + queue.FIRST_READER] + reader.SIZE * m[q + queue.READERS]:
        m[q + queue.IDLE] += 1
    touch(m, q)  # also where one leaves: what it has rolled back is for those who stay


COMPILED = (work, look, begin, given, end_attempts, rest)
"""What does not depend on the choice rule."""
OF_A_RULE = (undo, complete)
"""What depends on the choice rule."""
