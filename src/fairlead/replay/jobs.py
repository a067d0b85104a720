"""Rows of jobs: taken, copied, over and collected.

Everything here is in the part of Python that Numba compiles.
"""

from __future__ import annotations

from fairlead.balance.rules.integers import Ints
from fairlead.replay.layout import NEVER, NONE, header, job


def new_job(m: Ints) -> int:
    """A row for a job; there must be one left."""
    j = m[header.FREE_JOB]
    m[header.FREE_JOB] = m[j + job.NEXT]
    m[header.JOBS_LEFT] -= 1
    return j


def copied(m: Ints, j: int) -> int:
    """Another row with what is in this one; nobody waits for its acknowledgement."""
    i = new_job(m)
    for column in range(job.SIZE):
        m[i + column] = m[j + column]
    m[i + job.WATCH] = NONE
    return i


def over(m: Ints, j: int, outcome: int) -> None:
    """A job is over, to be collected."""
    m[j + job.OUTCOME] = outcome
    if m[j + job.START] == NEVER:
        m[j + job.FINISH] = m[header.NOW]
    m[j + job.NEXT] = NONE
    if m[header.FIRST_ENDED] == NONE:
        m[header.FIRST_ENDED] = j
    else:
        m[m[header.LAST_ENDED] + job.NEXT] = j
    m[header.LAST_ENDED] = j
    m[header.ENDED_COUNT] += 1


def again(m: Ints, j: int, outcome: int) -> None:
    """An attempt is over, and the job waits for another one. There must be a row."""
    over(m, copied(m, j), outcome)
    m[j + job.ATTEMPT] += 1
    m[j + job.SINCE] = m[header.NOW]
    m[j + job.READER] = NONE
    m[j + job.START] = m[j + job.FINISH] = NEVER


def collect(m: Ints, out: Ints, n: int) -> int:
    """Put the jobs that are over into `out`, and free their rows.

    `out`: one column after another, n cells each, as `job.REPORTED` has them. Returns how long the
    jobs waited together, until they were started or taken away.
    """
    j, k, waited = m[header.FIRST_ENDED], 0, 0
    while j != NONE:
        after = m[j + job.NEXT]
        until = m[j + job.FINISH] if m[j + job.START] == NEVER else m[j + job.START]
        waited += until - m[j + job.SINCE]
        if m[j + job.LABEL] == NONE:
            m[j + job.FINISH] = NEVER
        for place in range(len(job.REPORTED)):
            out[place * n + k] = m[j + job.REPORTED[place]]
        m[j + job.OUTCOME] = job.FREE
        m[j + job.NEXT] = m[header.FREE_JOB]
        m[header.FREE_JOB] = j
        m[header.JOBS_LEFT] += 1
        j = after
        k += 1
    m[header.FIRST_ENDED] = m[header.LAST_ENDED] = NONE
    m[header.ENDED_COUNT] = 0
    return waited


COMPILED = (new_job, copied, over, again, collect)
