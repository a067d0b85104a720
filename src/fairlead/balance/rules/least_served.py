"""Choose who was served least for its weight: the lowest count/weight.

The rule of MSMQ's weighted round robin (ties: the heavier, then the name) and of IBM MQ's
workload balancing (ties: the least recently used, then the name).

`choose` and `run_one` are written once, in the part of Python that Numba compiles: over
lists they are the live balancer, over int64 arrays the compiled engine. Ratios are compared by
cross-multiplication, so nothing is ever rounded.

A member is an index into the state's sequences; lists of members are in name order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from math import ceil, gcd
from typing import NamedTuple, TypeAlias

from fairlead.balance.rules.integers import INT64_END, Indexes, Ints, independent
from fairlead.balance.rules.rule import Otherwise, ScheduledRule, Weighing

UNIT, TICK, RECENT = 0, 1, 2  # places in State.setting
NO_TICK = -1
RATIO, RECENCY, WEIGHT, NAME = "ratio", "recency", "weight", "name"  # what decides
SERVED = "served"
MAX_NUMBERED = 256
Turn: TypeAlias = tuple[Fraction, int, int, int, int, int]


class State(NamedTuple):
    """What the rule remembers, one entry a member (`setting`: one for the whole rule)."""

    count: Ints  # type: ignore[assignment]  # a tuple's method of this name is not missed
    """Choices since the last reset, in steps of `setting[UNIT]`."""
    weight: Ints
    tie: Ints
    """Lower wins a tie: minus the weight, or the number of the member's latest choice."""
    setting: Ints
    """[step that one choice adds to a count; number of the latest choice, or NO_TICK where ties
    go by weight; how many of the most recently used members may be chosen, 0 = all]"""


def choose(s: State, members: Indexes, start: int, stop: int) -> int:
    """Choose among members[start:stop], at least one, and count the choice."""
    recent = s.setting[RECENT]
    limited = 0 < recent < stop - start
    best = -1
    for k in range(start, stop):
        i = members[k]
        if limited and not among_recent(s, members, start, stop, i):
            continue
        if best < 0 or before(s, i, best):
            best = i
    served(s, best)
    return best


def before(s: State, i: int, j: int) -> bool:
    """Whether member i is chosen before member j."""
    left = s.count[i] * s.weight[j]
    right = s.count[j] * s.weight[i]
    if left != right:
        return left < right
    if s.tie[i] != s.tie[j]:
        return s.tie[i] < s.tie[j]
    return i < j


def among_recent(s: State, members: Indexes, start: int, stop: int, i: int) -> bool:
    """Whether member i is one of the `setting[RECENT]` most recently used (ties: by name)."""
    ahead = 0
    for k in range(start, stop):
        j = members[k]
        if s.tie[j] > s.tie[i] or (s.tie[j] == s.tie[i] and j < i):
            ahead += 1
    return ahead < s.setting[RECENT]


def served(s: State, i: int) -> None:
    """Count one choice of member i."""
    s.count[i] += s.setting[UNIT]
    if s.setting[TICK] != NO_TICK:
        s.setting[TICK] += 1
        s.tie[i] = s.setting[TICK]


def run_one(s: State, heap: Ints, out: Ints) -> None:
    """Choose len(out) times among the members in `heap` (reordered), in log(len(heap)) each."""
    size = len(heap)
    for k in range(size // 2 - 1, -1, -1):
        sink(s, heap, k, size)
    for k in range(len(out)):
        out[k] = heap[0]
        served(s, heap[0])
        sink(s, heap, 0, size)


def sink(s: State, heap: Ints, place: int, size: int) -> None:
    """Move the member at `place` down until nobody below it comes before it."""
    i = heap[place]
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and before(s, heap[below + 1], heap[below]):
            below += 1
        if not before(s, heap[below], i):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = i


COMPILED = (before, among_recent, served, choose, sink, run_one)


# What follows runs between choices, in plain Python over lists, in every engine.


def new(weights: list[int], *, recency: bool = False, recent: int = 0) -> State:
    """Nobody served yet. `recency`: ties go to the least recently used, else to the heaviest."""
    ties = [0] * len(weights) if recency else [-w for w in weights]
    return State([0] * len(weights), list(weights), ties, [1, 0 if recency else NO_TICK, recent])


def fits_int64(s: State, choices: int) -> bool:
    """Whether no product that compares ratios can pass 2^63 within so many more choices."""
    top = max(s.count, default=0) + s.setting[UNIT] * (choices + 1)
    low = min(min(s.count, default=0), -1)
    heaviest = max(max(s.weight, default=1), 1)
    return max(top, -low) * heaviest < INT64_END and s.setting[TICK] + choices + 1 < INT64_END


def reweigh(s: State, i: int, weight: int) -> None:
    """Give member i another weight; its count stays (so its ratio changes)."""
    s.weight[i] = weight
    if s.setting[TICK] == NO_TICK:
        s.tie[i] = -weight


def reweigh_in_place(s: State, i: int, weight: int) -> None:
    """Give member i another weight; its ratio count/weight stays, exactly."""
    if s.count[i]:
        factor = s.weight[i] // gcd(s.count[i] * weight, s.weight[i])
        for j in range(len(s.count)):
            s.count[j] *= factor
        s.setting[UNIT] *= factor
        s.count[i] = s.count[i] * weight // s.weight[i]
    reweigh(s, i, weight)


def level(s: State, i: int, others: list[int]) -> None:
    """Put member i at the lowest ratio of the others, rounded down, so that it gets no burst."""
    count, weight = lowest(s, others) if others else (0, 1)
    s.count[i] = s.weight[i] * count // weight


def lowest(s: State, members: Iterable[int]) -> tuple[int, int]:
    """Count and weight of the one of these members who has the lowest ratio."""
    count, weight = 1, 0
    for j in members:
        if s.count[j] * weight < count * s.weight[j]:
            count, weight = s.count[j], s.weight[j]
    return count, weight


def keep_leads(s: State, weights: Sequence[int]) -> None:
    """Give all members other weights, 0 to who is away; leads in messages stay.

    Those who stay keep their leads over each other, and so do those who leave together and those
    who come together. Who comes starts level with the one of those who stay who is furthest behind.
    """
    had, has = ([i for i, w in enumerate(column) if w] for column in (s.weight, weights))
    lower(s, [i for i in had if weights[i]])
    lower(s, [i for i in had if not weights[i]])
    come = [i for i in has if not s.weight[i]]
    for i, weight in enumerate(weights):
        reweigh(s, i, weight)
    lower(s, come)


def lower(s: State, members: Sequence[int]) -> None:
    """Lower the members' counts until their lowest ratio is 0; leads are rounded down."""
    count, of = lowest(s, members)
    for i in members:
        s.count[i] += -count * s.weight[i] // of


def reset(s: State) -> None:
    """Nobody counts as served; who was used most recently is remembered."""
    for i in range(len(s.count)):
        s.count[i] = 0
    s.setting[UNIT] = 1


def ratio(s: State, i: int) -> Fraction:
    """Choices for each unit of weight, exactly."""
    return Fraction(s.count[i], s.weight[i] * s.setting[UNIT])


def advance(s: State, members: list[int], n: int) -> None:
    """Choose n times among the same members, without the n steps.

    All choices whose value (count + j)/weight lies below a bound come before all others; so the
    highest bound with at most n of them is found by bisection, and only the few that are left
    (fewer than two a member) are made one by one.
    """
    if 0 < s.setting[RECENT] < len(members):
        step_by_step(s, members, n)
        return
    unit = s.setting[UNIT]
    scale = max(s.weight[i] for i in members)

    def below(bound: int) -> list[int]:
        """How often each member is chosen with a value under bound/scale."""
        return [
            max(0, -((s.count[i] * scale - bound * unit * s.weight[i]) // (unit * scale)))
            for i in members
        ]

    low = min(s.count[i] * scale // (unit * s.weight[i]) for i in members)
    high = low + 1
    while sum(below(high)) <= n:
        high += high - low
    while high - low > 1:
        middle = (low + high) // 2
        if sum(below(middle)) <= n:
            low = middle
        else:
            high = middle
    ahead = below(low)
    jumped = sum(ahead)
    if s.setting[TICK] != NO_TICK:
        # Later ties are decided by the number of everybody's latest choice in what was jumped.
        for i, number in _latest_numbers(s, members, ahead).items():
            s.tie[i] = number
        s.setting[TICK] += jumped
    for k, i in enumerate(members):
        s.count[i] += ahead[k] * unit
    step_by_step(s, members, n - jumped)


def _latest_numbers(s: State, members: list[int], ahead: list[int]) -> dict[int, int]:
    """The number of each member's latest choice after the next ahead[k] choices of members[k].

    Among very many members the numbers only keep their order, which is all that ties ask for.
    """
    chosen = [(i, n) for i, n in zip(members, ahead, strict=True) if n]
    latest = sorted(chosen, key=lambda each: _turn(s, each[0], each[1] - 1))
    end = s.setting[TICK] + sum(ahead)
    if len(latest) > MAX_NUMBERED:
        return {i: end - len(latest) + place + 1 for place, (i, _) in enumerate(latest)}
    numbers = {}
    for i, n in latest:
        turn = _turn(s, i, n - 1)
        later = sum(m - _turns_until(s, j, m, turn) for j, m in chosen)
        numbers[i] = end - later
    return numbers


def _turns_until(s: State, i: int, n: int, turn: Turn) -> int:
    """How many of member i's next n choices come up to and at this turn."""
    value, unit = turn[0], s.setting[UNIT]
    before_it = -((s.count[i] - value * s.weight[i]) // unit)
    choices = min(n, max(0, int(before_it)))
    if choices < n and _turn(s, i, choices) <= turn:
        choices += 1
    return choices


def _turn(s: State, i: int, j: int) -> Turn:
    """The place of member i's j-th next choice among all choices of a fixed set of members."""
    value = Fraction(s.count[i] + j * s.setting[UNIT], s.weight[i])
    if j == 0:
        return (value, 0, s.tie[i], i, 0, 0)
    return (value, 1, s.weight[i], j, s.tie[i], i)


def step_by_step(s: State, members: list[int], n: int) -> None:
    """Choose n times, one after another."""
    if 0 < s.setting[RECENT] < len(members):
        for _ in range(n):
            choose(s, members, 0, len(members))
    else:
        run_one(s, list(members), [0] * n)


def period(s: State, members: list[int]) -> int:
    """After how many choices the sequence repeats, once everybody has caught up."""
    weights = [s.weight[i] for i in members]
    return sum(weights) // gcd(*weights)


def settled(s: State, members: list[int]) -> bool:
    """Whether nobody lags: each member's next choice comes after the latest of all others.

    One period from here, and the sequence repeats for good.
    """
    if 0 < s.setting[RECENT] < len(members):
        return False
    highest = max(Fraction(s.count[i] - s.setting[UNIT], s.weight[i]) for i in members)
    return all(Fraction(s.count[i], s.weight[i]) >= highest for i in members)


def stretch(s: State, members: list[int], n: int) -> tuple[list[int], int]:
    """Among whom the next choices are, of whom nobody lags, and how many of the next n.

    Who lags gets all of them until it comes to the others, which then share them with it.
    """
    if 0 < s.setting[RECENT] < len(members):
        return [], 0
    unit = s.setting[UNIT]
    value = {i: Fraction(s.count[i], s.weight[i]) for i in members}
    order = sorted(members, key=value.__getitem__)
    highest = value[order[0]]
    for k, i in enumerate(order):
        highest = max(highest, value[i] - Fraction(unit, s.weight[i]))
        if highest > value[order[0]]:  # whose latest choice is still to come for the others
            bound = value[i]
            ahead = sum(ceil((bound * s.weight[j] - s.count[j]) / unit) for j in order[:k])
            return sorted(order[:k]), min(n, ahead)
    return members, n


class LeastServed(ScheduledRule):
    """The lowest count/weight; ties to the heaviest, or to the least recently used."""

    name = "least-served"
    module = sys.modules[__name__]
    whole = ("setting",)

    def __init__(self, weights: list[int], *, recency: bool = False, recent: int = 0) -> None:
        """`recent`: only so many of the most recently used may be chosen; 0 = all."""
        self.state = new(weights, recency=recency, recent=recent)

    def choose(self, members: Sequence[int]) -> int:
        return choose(self.state, members, 0, len(members))

    def served(self, member: int) -> None:
        served(self.state, member)

    def reweigh(self, member: int, weight: int) -> None:
        """Give a member another weight; its count stays (so its ratio changes)."""
        reweigh(self.state, member, weight)

    def skips(self, members: Sequence[int]) -> bool:
        return not 0 < self.state.setting[RECENT] < len(members)

    def advance(self, members: Sequence[int], n: int) -> None:
        advance(self.state, list(members), n)

    def period(self, members: Sequence[int]) -> int:
        return period(self.state, list(members))

    def settled(self, members: Sequence[int]) -> bool:
        return settled(self.state, list(members))

    def stretch(self, members: Sequence[int], n: int) -> tuple[Sequence[int], int]:
        return stretch(self.state, list(members), n)

    def heap(self, members: Sequence[int]) -> list[int]:
        return list(members)

    def fits_int64(self, choices: int) -> bool:
        return fits_int64(self.state, choices)

    def compare(self, members: Sequence[int]) -> Weighing:
        s = self.state
        limited = 0 < s.setting[RECENT] < len(members)
        recent = [i for i in members if not limited or among_recent(s, members, 0, len(members), i)]
        passed_over = [i for i in members if i not in set(recent)]
        in_turn: Callable[[int, int], int] = lambda i, j: -1 if before(s, i, j) else 1  # noqa: E731
        order = sorted(recent, key=cmp_to_key(in_turn))
        if len(order) < 2:
            return Weighing(order, passed_over)
        decided, otherwise = self._between(*order[:2])
        return Weighing(order, passed_over, decided, otherwise)

    def _grain(self, i: int) -> int:
        """By how much the state's weight grows where the file's grows by 1."""
        return 1

    def _between(self, first: int, second: int) -> tuple[str, Otherwise]:
        s = self.state
        high, low = ratio(s, second), ratio(s, first)
        if low < high:
            if low == 0:
                return RATIO, Otherwise(SERVED, int(high * s.weight[first]) + 1)
            enough = int(high * s.weight[second] / low)
            return RATIO, self._heavier(first, second, (enough, enough + 1))
        heavier = s.weight[second] + 1
        if s.setting[TICK] != NO_TICK and s.tie[first] != s.tie[second]:
            return RECENCY, self._heavier(first, second, (heavier,))
        by_weight = s.setting[TICK] == NO_TICK and s.weight[first] != s.weight[second]
        guesses = (heavier, s.weight[first], s.weight[first] + 1)
        return WEIGHT if by_weight else NAME, self._heavier(first, second, guesses)

    def _heavier(self, first: int, second: int, guesses: Sequence[int]) -> Otherwise:
        """With which weight, near one of these guesses, the second would have come first."""
        grain = self._grain(second)
        for weight in (guess // grain + more for guess in guesses for more in (0, 1)):
            trial: State = independent(self.state)
            reweigh(trial, second, weight * grain)
            if weight and before(trial, second, first):
                return Otherwise(WEIGHT, weight)
        return Otherwise(WEIGHT)
