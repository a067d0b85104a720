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
choice rule, whose state is `r`.
"""

from __future__ import annotations

from typing import Any

from fairlead.balance.rules.integers import Ints
from fairlead.compiled.borrowed import state_of
from fairlead.replay.agenda import roll_back, withdraw
from fairlead.replay.heap import NONE
from fairlead.replay.jobs import over
from fairlead.replay.memory import (
    ACK_TIMEOUT,
    DEADLINE,
    EARLIER,
    FREE_WATCH,
    GIVEN,
    LATER,
    LATEST,
    MEMBER,
    NEVER,
    NEXT,
    NOW,
    OLDEST,
    RING,
    START,
    TIMED_OUT,
    WATCH,
    WATCHED,
    WATCHES_LEFT,
    YOUNGEST,
)
from fairlead.replay.words import ACKNOWLEDGED_CODE, TIMEOUT_CODE


def watch(m: Ints, j: int) -> None:
    """A copy is to be acknowledged in time. There must be a row."""
    w = m[FREE_WATCH]
    m[FREE_WATCH] = m[w + LATER]
    m[WATCHES_LEFT] -= 1
    m[j + WATCH] = w
    m[w + WATCHED] = j
    m[w + DEADLINE] = m[NOW] + m[ACK_TIMEOUT]
    m[w + RING] = w
    m[w + LATER] = NONE
    m[w + EARLIER] = m[YOUNGEST]
    if m[YOUNGEST] == NONE:
        m[OLDEST] = w
    else:
        m[m[YOUNGEST] + LATER] = w
    m[YOUNGEST] = w


def together(m: Ints, i: int, j: int) -> None:
    """The acknowledgement of either copy is enough."""
    w, other = m[i + WATCH], m[j + WATCH]
    m[w + RING] = m[other + RING]
    m[other + RING] = w


def drop_watch(m: Ints, w: int) -> None:
    """A watch is over, and all others of its ring, or it stands in none any more."""
    before, after = m[w + EARLIER], m[w + LATER]
    if before == NONE:
        m[OLDEST] = after
    else:
        m[before + LATER] = after
    if after == NONE:
        m[YOUNGEST] = before
    else:
        m[after + EARLIER] = before
    m[m[w + WATCHED] + WATCH] = NONE
    m[w + LATER] = m[FREE_WATCH]
    m[FREE_WATCH] = w
    m[WATCHES_LEFT] += 1


def acknowledge(m: Ints, j: int) -> None:
    """A copy is acknowledged: its watch is over, and those of its ring."""
    w = m[j + WATCH]
    i = m[w + RING]
    while i != w:
        after = m[i + RING]
        drop_watch(m, i)
        i = after
    drop_watch(m, w)


def end(m: Ints, j: int, outcome: int) -> None:
    """A copy is over, whether anybody waits for its acknowledgement or not."""
    w = m[j + WATCH]
    if w != NONE and outcome == ACKNOWLEDGED_CODE:
        acknowledge(m, j)
    elif w != NONE:
        i = w
        while m[i + RING] != w:
            i = m[i + RING]
        m[i + RING] = m[w + RING]
        drop_watch(m, w)
    over(m, j, outcome)


def time_out(m: Ints, r: Any) -> None:  # noqa: ANN401
    """The time of some is over. Copies in one ring were published together, so all of them are."""
    while m[OLDEST] != NONE and m[m[OLDEST] + DEADLINE] <= m[NOW]:
        j = m[m[OLDEST] + WATCHED]
        drop_watch(m, m[OLDEST])
        m[j + WATCH] = TIMED_OUT
        completed(state_of(r), m[j + MEMBER])  # type: ignore[name-defined]  # noqa: F821
        if m[j + START] == NEVER:
            withdraw(m, j)
            over(m, j, TIMEOUT_CODE)


def hand_back(m: Ints, n: int) -> None:
    """What the reader of a group was given returns to its place, unless its time is over."""
    i, last = m[n + GIVEN], m[n + LATEST]
    roll_back(m, n)
    if m[ACK_TIMEOUT] == 0:
        return
    while i != NONE:
        after = NONE if i == last else m[i + NEXT]
        if m[i + WATCH] == TIMED_OUT:
            withdraw(m, i)
            over(m, i, TIMEOUT_CODE)
        i = after


COMPILED = (watch, together, drop_watch, acknowledge, end, hand_back)
"""What does not depend on the choice rule."""
OF_A_RULE = (time_out,)
"""What does."""
