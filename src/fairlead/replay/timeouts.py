"""Messages that are not acknowledged in time are reported as failed.

Each copy whose acknowledgement somebody waits for has a watch, from its publication until it is
acknowledged, or ends otherwise. The timeout is the same for all, so deadlines come in the order of
publication: the watches stand in one list, the oldest first, and what is not acknowledged is all
that they take. Where the first acknowledgement is enough, the watches of one message's copies also
stand in a ring; else each is a ring of its own.

A copy that waits when its time is over leaves its queue. One that is worked on is worked on to its
end; its reader knows nothing of it. It is not pending any more for the choice rule, and does not
return to its place if the reader fails.

Everything here is in the part of Python that Numba compiles. `completed` is that of the cluster's
choice rule, whose state is `rule`.
"""

from __future__ import annotations

from typing import Any

from fairlead.balance.rules.integers import Ints
from fairlead.compiled.numba_views import state_of
from fairlead.replay.agenda import roll_back, withdraw
from fairlead.replay.jobs import over
from fairlead.replay.layout import NEVER, NONE, group, header, job, watch
from fairlead.replay.words import ACKNOWLEDGED_CODE, TIMEOUT_CODE


def start_watch(m: Ints, j: int) -> None:
    """A copy is to be acknowledged in time. There must be a row."""
    w = m[header.FREE_WATCH]
    m[header.FREE_WATCH] = m[w + watch.LATER]
    m[header.WATCHES_LEFT] -= 1
    m[j + job.WATCH] = w
    m[w + watch.JOB] = j
    m[w + watch.DEADLINE] = m[header.NOW] + m[header.ACK_TIMEOUT]
    m[w + watch.RING] = w
    m[w + watch.LATER] = NONE
    m[w + watch.EARLIER] = m[header.YOUNGEST_WATCH]
    if m[header.YOUNGEST_WATCH] == NONE:
        m[header.OLDEST_WATCH] = w
    else:
        m[m[header.YOUNGEST_WATCH] + watch.LATER] = w
    m[header.YOUNGEST_WATCH] = w


def together(m: Ints, i: int, j: int) -> None:
    """The acknowledgement of either copy is enough."""
    w, other = m[i + job.WATCH], m[j + job.WATCH]
    m[w + watch.RING] = m[other + watch.RING]
    m[other + watch.RING] = w


def drop_watch(m: Ints, w: int) -> None:
    """A watch is over, and all others of its ring, or it stands in none any more."""
    before, after = m[w + watch.EARLIER], m[w + watch.LATER]
    if before == NONE:
        m[header.OLDEST_WATCH] = after
    else:
        m[before + watch.LATER] = after
    if after == NONE:
        m[header.YOUNGEST_WATCH] = before
    else:
        m[after + watch.EARLIER] = before
    m[m[w + watch.JOB] + job.WATCH] = NONE
    m[w + watch.LATER] = m[header.FREE_WATCH]
    m[header.FREE_WATCH] = w
    m[header.WATCHES_LEFT] += 1


def acknowledge(m: Ints, j: int) -> None:
    """A copy is acknowledged: its watch is over, and those of its ring."""
    w = m[j + job.WATCH]
    i = m[w + watch.RING]
    while i != w:
        after = m[i + watch.RING]
        drop_watch(m, i)
        i = after
    drop_watch(m, w)


def end(m: Ints, j: int, outcome: int) -> None:
    """A copy is over, whether anybody waits for its acknowledgement or not."""
    w = m[j + job.WATCH]
    if w != NONE and outcome == ACKNOWLEDGED_CODE:
        acknowledge(m, j)
    elif w != NONE:
        i = w
        while m[i + watch.RING] != w:
            i = m[i + watch.RING]
        m[i + watch.RING] = m[w + watch.RING]
        drop_watch(m, w)
    over(m, j, outcome)


def time_out(m: Ints, rule: Any) -> None:  # noqa: ANN401
    """The time of some is over. Copies in one ring were published together, so all of them are."""
    while m[header.OLDEST_WATCH] != NONE:
        w = m[header.OLDEST_WATCH]
        if m[w + watch.DEADLINE] > m[header.NOW]:
            break
        j = m[w + watch.JOB]
        drop_watch(m, w)
        m[j + job.WATCH] = job.TIMED_OUT
        completed(state_of(rule), m[j + job.MEMBER])  # type: ignore[name-defined]  # noqa: F821
        if m[j + job.START] == NEVER:
            withdraw(m, j)
            over(m, j, TIMEOUT_CODE)


def hand_back(m: Ints, g: int) -> None:
    """What the reader of a group was given returns to its place, unless its time is over."""
    i, last = m[g + group.FIRST_GIVEN], m[g + group.LAST_GIVEN]
    roll_back(m, g)
    if m[header.ACK_TIMEOUT] == 0:
        return
    while i != NONE:
        after = NONE if i == last else m[i + job.NEXT]
        if m[i + job.WATCH] == job.TIMED_OUT:
            withdraw(m, i)
            over(m, i, TIMEOUT_CODE)
        i = after


COMPILED = (start_watch, together, drop_watch, acknowledge, end, hand_back)
"""What does not depend on the choice rule."""
OF_A_RULE = (time_out,)
"""What depends on the choice rule."""
