"""Rows of jobs: taken, copied, over and fetched.

Everything here is in the part of Python that Numba compiles.
"""

from __future__ import annotations

from fairlead.balance.rules.integers import Ints
from fairlead.replay.heap import NONE
from fairlead.replay.memory import (
    ATTEMPT,
    DONE,
    DONE_COUNT,
    FINISH,
    FREE,
    FREE_JOB,
    JOB,
    JOBS_LEFT,
    LABEL,
    LAST_DONE,
    NEVER,
    NEXT,
    NOW,
    OUTCOME,
    READER,
    SINCE,
    START,
    TOLD,
    WATCH,
)


def new_job(m: Ints) -> int:
    """A row for a job; there must be one left."""
    j = m[FREE_JOB]
    m[FREE_JOB] = m[j + NEXT]
    m[JOBS_LEFT] -= 1
    return j


def copied(m: Ints, j: int) -> int:
    """Another row with what is in this one; nobody waits for its acknowledgement."""
    i = new_job(m)
    for column in range(JOB):
        m[i + column] = m[j + column]
    m[i + WATCH] = NONE
    return i


def over(m: Ints, j: int, outcome: int) -> None:
    """A job is over, to be fetched."""
    m[j + OUTCOME] = outcome
    if m[j + START] == NEVER:
        m[j + FINISH] = m[NOW]
    m[j + NEXT] = NONE
    if m[DONE] == NONE:
        m[DONE] = j
    else:
        m[m[LAST_DONE] + NEXT] = j
    m[LAST_DONE] = j
    m[DONE_COUNT] += 1


def again(m: Ints, j: int, outcome: int) -> None:
    """An attempt is over, and the job waits for another one. There must be a row."""
    over(m, copied(m, j), outcome)
    m[j + ATTEMPT] += 1
    m[j + SINCE] = m[NOW]
    m[j + READER] = NONE
    m[j + START] = m[j + FINISH] = NEVER


def told(m: Ints, out: Ints, n: int) -> int:
    """Put the jobs that are over into `out`, and free their rows.

    `out`: one column after another, n cells each, as TOLD has them. Returns how long the jobs
    waited together, until they were begun with or taken away.
    """
    j, k, waited = m[DONE], 0, 0
    while j != NONE:
        after = m[j + NEXT]
        waited += (m[j + FINISH] if m[j + START] == NEVER else m[j + START]) - m[j + SINCE]
        if m[j + LABEL] == NONE:
            m[j + FINISH] = NEVER
        for place in range(len(TOLD)):
            out[place * n + k] = m[j + TOLD[place]]
        m[j + OUTCOME] = FREE
        m[j + NEXT] = m[FREE_JOB]
        m[FREE_JOB] = j
        m[JOBS_LEFT] += 1
        j = after
        k += 1
    m[DONE] = m[LAST_DONE] = NONE
    m[DONE_COUNT] = 0
    return waited


COMPILED = (new_job, copied, over, again, told)
