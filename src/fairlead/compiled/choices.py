"""Many choices in a row, while the cluster does not change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.balance.rules.due import Due
from fairlead.balance.rules.rule import Rule, ScheduledRule
from fairlead.compiled.kernels import Int32s, Int64s, as_arrays, kernels
from fairlead.compiled.own import own_choices

SCAN_MEMBERS = 16
"""Up to so many members a scan is faster than a heap."""
TURNS_WORTH_A_PERIOD = 4


def choose_among_one(rule: Rule, members: Sequence[int], n: int) -> Int64s:
    """The next n choices among the same members; moves the rule on. -1: nobody was ready."""
    scheduled = rule.scheduled(members)
    if scheduled is None:
        return choose_among_sets(rule, [members], np.zeros(n, np.int32))
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
        return choose_among_sets(rule, [members], np.zeros(n, np.int32))
    return _run_one(scheduled, heap, n)


def _run_one(rule: ScheduledRule, heap: Sequence[int], n: int) -> Int64s:
    if not rule.fits_int64(n):
        out = [0] * n
        rule.module.run_one(rule.state, list(heap), out)
        return np.array(out, np.int64)
    found = np.empty(n, np.int64)
    state = as_arrays(rule.state)
    kernels(rule.module).run_one(state, np.array(heap, np.int64), found)
    rule.adopt(state)
    return found


def choose_among_sets(rule: Rule, sets: Sequence[Sequence[int]], which: Int32s) -> Int64s:
    """One choice for each entry of `which`, among the members of sets[which[k]]."""
    starts, members = flat(sets)
    if rule.foreign:
        return own_choices(rule, starts, members, which)
    if not rule.fits_int64(len(which)):
        out = [0] * len(which)
        rule.module.run(rule.state, starts.tolist(), members.tolist(), which.tolist(), out)
        return np.array(out, np.int64)
    found = np.empty(len(which), np.int64)
    state = as_arrays(rule.state)
    kernels(rule.module).run(state, starts, members, which, found)
    rule.adopt(state)
    return found


def choose_in_time(
    rule: Rule, sets: Sequence[Sequence[int]], which: Int32s, times: Int64s, services: Int64s
) -> Int64s:
    """As `choose_among_sets`, where completions decide who is busy (times in microseconds)."""
    starts, members = flat(sets)
    state = as_arrays(rule.state)
    waiting = [np.array(list(field), np.int64) for field in rule.due[:3]]
    more = np.zeros(len(which), np.int64)
    at, order, who = (np.concatenate([field, more]) for field in waiting)
    size = np.array(list(rule.due.size), np.int64)
    found = np.empty(len(which), np.int64)
    run_timed = kernels(rule.module).run_timed
    run_timed(state, Due(at, order, who, size), starts, members, which, times, services, found)
    rule.adopt(state)
    left = int(size[0])
    rule.due = Due(at[:left].tolist(), order[:left].tolist(), who[:left].tolist(), size.tolist())
    return found


def choose_by_key(rule: Rule, sets: Sequence[Sequence[int]], which: Int32s, keys: Int64s) -> Int64s:
    """As `choose_among_sets`, each by its key's number; the rule stays as it is."""
    starts, members = flat(sets)
    if not rule.fits_int64(len(which)):
        out = [0] * len(which)
        rule.module.run_keyed(
            rule.state, starts.tolist(), members.tolist(), which.tolist(), keys.tolist(), out
        )
        return np.array(out, np.int64)
    found = np.empty(len(which), np.int64)
    state = as_arrays(rule.state)
    kernels(rule.module).run_keyed(state, starts, members, which, keys, found)
    return found


def flat(sets: Sequence[Sequence[int]]) -> tuple[Int64s, Int64s]:
    """Sets of members as one array, and where each set starts (and the last one ends)."""
    starts = np.zeros(len(sets) + 1, np.int64)
    np.cumsum([len(each) for each in sets], out=starts[1:])
    every = [member for each in sets for member in each]
    return starts, np.array(every, np.int64)
