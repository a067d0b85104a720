"""Many choices among the same members, in fewer steps than one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.balance.rules.rule import Rule, ScheduledRule
from fairlead.compiled.kernels import Int64s, as_arrays, kernels

SCAN_MEMBERS = 16
"""Up to so many members a scan is faster than a heap."""
TURNS_WORTH_A_PERIOD = 4


def closed_form(rule: Rule, members: Sequence[int], n: int) -> Int64s | None:
    """The next n choices among the same members; moves the rule on. -1: nobody was ready.

    None, having done nothing, where the rule knows no shorter way than to choose one by one.
    """
    scheduled = rule.scheduled(members)
    if scheduled is None:
        return None
    heap = scheduled.heap(members)
    if not heap:
        return np.full(n, -1, np.int64)
    period = scheduled.period(members)
    if n >= TURNS_WORTH_A_PERIOD * period and scheduled.settled(members):
        trial = scheduled.copy()
        first = _run_one(trial, heap, period)
        again = _run_one(trial, trial.heap(members), period)
        tail = np.resize(again, n - period)
        scheduled.advance(members, n)
        return np.concatenate([first, tail])
    if len(heap) <= SCAN_MEMBERS:
        return None
    return _run_one(scheduled, heap, n)


def _run_one(rule: ScheduledRule, heap: Sequence[int], n: int) -> Int64s:
    if not rule.fits_int64(n):
        out = [0] * n
        rule.module.run_one(rule.state, list(heap), out)
        return np.array(out, np.int64)
    members = np.empty(n, np.int64)
    state = as_arrays(rule.state)
    kernels(rule.module).run_one(state, np.array(heap, np.int64), members)
    rule.adopt(state)
    return members


def flat(sets: Sequence[Sequence[int]]) -> tuple[Int64s, Int64s]:
    """Sets of members as one array, and where each set starts (and the last one ends)."""
    starts = np.zeros(len(sets) + 1, np.int64)
    np.cumsum([len(members) for members in sets], out=starts[1:])
    every = [member for members in sets for member in members]
    return starts, np.array(every, np.int64)
