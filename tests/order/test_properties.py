"""What holds for the agenda whatever happens: random days of arrivals, raises and readers."""

import json
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.order.service import Live, Oracle

from fairlead import Agenda, Work
from fairlead.order.waiting import Group, Item

READERS = 3
ORDERS: list[dict[str, Any]] = [
    {"discipline": "fifo"},
    {"discipline": "priority"},
    {"discipline": "priority", "default_priority": 3},
    {"discipline": "priority", "ageing": 0.000002},
    {"discipline": "priority", "ageing": 1},
]
WEIGHTS = [{}, {"x": 2}, {"x": 2, "y": 3}]
GROUPS = ["", "a", "b", "c", "d"]
TENANT_OF = {"a": "x", "b": "x", "c": "y", "d": "z"}

DOINGS = ("arrive", "prioritise", "take", "receive", "finish", "rollback", "keep")


def random_day(random: Random) -> list[Any]:
    """What happens in a day: (what, microseconds since the step before, what it needs) each."""
    often = [random.choice([1, 3, 9]) for _ in DOINGS[:-1]] + [1]
    groups = random.sample(GROUPS, random.randint(1, len(GROUPS)))
    named = [group for group in groups if group] or GROUPS[1:]
    priorities = random.choice([[None], [None, 1, 2], [None, 0, 1, 100, 255]])
    costs = random.choice([1, 9, 50])

    def needed(what: str) -> tuple[Any, ...]:
        if what == "arrive":
            return random.choice(groups), random.choice(priorities), random.randint(1, costs)
        if what == "prioritise":
            return random.choice(named), random.choice(priorities)
        return () if what == "keep" else (random.randrange(READERS),)

    doings = random.choices(DOINGS, often, k=random.randint(1, 100))
    return [(what, random.choice([0, 0, 1, 3]), *needed(what)) for what in doings]


@st.composite
def days(draw: st.DrawFn) -> list[Any]:
    """A seed, and then which steps stay: so a failure shrinks to what matters in it."""
    seed = draw(st.integers(0, 2**32 - 1))
    steps = random_day(Random(seed))  # noqa: S311
    return [step for step in steps if draw(st.integers(0, 19)) > 0]


class Both:
    """The agenda and the oracle, side by side; every answer is compared."""

    def __init__(
        self,
        order: dict[str, Any],
        weights: dict[str, int],
        *,
        tenants: bool,
        conversations: bool = True,
    ) -> None:
        self.live = Live(order, weights, conversations=conversations)
        self.oracle = Oracle(order, weights, conversations=conversations)
        self.fresh = lambda: Agenda(**order, weights=weights)
        self.tenants = tenants
        self.now = 0
        self.items = 0
        self.held: dict[int, tuple[Work, Any]] = {}
        self.given: dict[str, list[int]] = defaultdict(list)
        self.arrived: dict[str, list[int]] = defaultdict(list)
        self.done: set[int] = set()
        self.receiving: dict[int, list[int]] = {}

    def step(self, what: str, wait: int, *rest: Any) -> None:
        self.now += wait
        getattr(self, what)(*rest)

    def arrive(self, group: str, priority: int | None, cost: int) -> None:
        self.items += 1
        tenant = TENANT_OF.get(group, "") if self.tenants else ""
        more = {"priority": priority, "tenant": tenant, "cost": cost}
        self.live.arrive(group, self.items, self.now, **more)
        self.oracle.arrive(group, self.items, self.now, **more)
        self.arrived[group].append(self.items)

    def prioritise(self, group: str, priority: int | None) -> None:
        raised = self.live.prioritise(group, self.now, priority)
        assert raised == self.oracle.prioritise(group, self.now, priority)

    def take(self, reader: int) -> None:
        if reader in self.held:
            return
        work, hold = self.live.take(self.now), self.oracle.take(self.now)
        if hold is None:
            assert work is None
            return
        assert work is not None
        assert work.group == ("" if hold.group.startswith("alone") else hold.group)
        assert work.priority == (hold.entry["priority"] if hold.entry else None)
        self.held[reader] = (work, hold)
        self.receiving[reader] = []

    def receive(self, reader: int) -> None:
        if reader in self.held:
            work, hold = self.held[reader]
            item = self.live.receive(work)
            assert item == self.oracle.receive(hold)
            if item is not None:
                self.receiving[reader].append(item)

    def finish(self, reader: int) -> None:
        if reader in self.held:
            work, hold = self.held.pop(reader)
            self.live.finish(work)
            self.oracle.finish(hold)
            items = self.receiving.pop(reader)
            assert not self.done.intersection(items)
            self.done.update(items)
            self.given[work.group] += items

    def rollback(self, reader: int) -> None:
        if reader in self.held:
            work, hold = self.held.pop(reader)
            self.live.rollback(work)
            self.oracle.rollback(hold)
            self.receiving.pop(reader)

    def keep(self) -> None:
        """Go on with another agenda, made from plain data; the works are found again."""
        plain = json.loads(json.dumps(self.live.agenda.snapshot()))
        old = self.live.agenda.working()
        self.live.agenda = self.fresh()
        self.live.agenda.restore(plain)
        new = self.live.agenda.working()
        assert [(w.group, w.attempt) for w in old] == [(w.group, w.attempt) for w in new]
        place = {id(work._hold): k for k, work in enumerate(old)}
        self.held = {
            reader: (new[place[id(work._hold)]], hold) for reader, (work, hold) in self.held.items()
        }
        assert self.live.agenda.snapshot() == plain

    def all_the_rest(self) -> None:
        """Let one reader after the other finish; then everything is done, in order."""
        for reader in range(READERS):
            while reader in self.held or self.take(reader) or reader in self.held:
                before = len(self.receiving[reader])
                self.receive(reader)
                if len(self.receiving[reader]) == before:
                    self.finish(reader)
        assert self.done == set(range(1, self.items + 1))
        if not self.live.conversations:
            assert not self.live.agenda.snapshot()["groups"]
        for group, items in self.given.items():
            if group:
                assert items == self.arrived[group]


@st.composite
def settings_and_days(draw: st.DrawFn) -> tuple[Both, list[Any]]:
    """An agenda beside its oracle, and what happens to both."""
    order, weights = draw(st.sampled_from(ORDERS)), draw(st.sampled_from(WEIGHTS))
    tenants, conversations = draw(st.booleans()), draw(st.booleans())
    return Both(order, weights, tenants=tenants, conversations=conversations), draw(days())


def check_a_day(both: Both, day: list[Any]) -> None:
    """Pick for pick; nothing is lost or done twice, and order inside a group never changes."""
    for step in day:
        both.step(*step)
    both.all_the_rest()


@settings(max_examples=250)
@given(settings_and_days())
def test_the_agenda_takes_what_the_oracle_takes(drawn: tuple[Both, list[Any]]) -> None:
    check_a_day(*drawn)


@pytest.mark.slow
@settings(max_examples=2_000)
@given(settings_and_days())
def test_the_agenda_takes_what_the_oracle_takes_for_long(drawn: tuple[Both, list[Any]]) -> None:
    check_a_day(*drawn)


@given(days(), st.sampled_from(ORDERS), st.sampled_from(WEIGHTS), st.booleans())
def test_the_outlook_is_what_is_taken(
    day: list[Any], order: dict[str, Any], weights: dict[str, int], tenants: bool
) -> None:
    both = Both(order, weights, tenants=tenants)
    for step in day:
        both.step(*step)
    agenda = both.live.agenda
    outlook = agenda.waiting(1000)
    assert str(outlook)
    assert len(outlook.ranks) == outlook.waiting
    assert outlook.working == len(both.held)
    for place, standing in enumerate(outlook.ranks):
        assert agenda.waiting(1000).ranks == outlook.ranks[place:]
        work = both.live.take(both.now)
        assert work is not None
        assert (work.group, work.priority, work.tenant) == (
            standing.group,
            standing.priority,
            standing.tenant,
        )
        assert len(list(work)) == standing.items
        work.accept()
    assert both.live.take(both.now) is None


STEP = 10
"""Microseconds for each step of priority, in the next test."""


@given(days())
def test_ageing_bounds_how_long_one_is_overtaken(day: list[Any]) -> None:
    """Nobody is overtaken by what arrived (q - p) steps later or more; so never 256 steps later."""
    both = Both({"discipline": "priority", "ageing": STEP / 1_000_000}, {}, tenants=False)
    take = both.live.take

    def watched(now: int) -> Work | None:
        line = both.live.agenda._line
        waiting: list[Item | Group[Item]] = [
            member
            for tenant in line.listed()
            for member in tenant.places
            if isinstance(member, Item) or member.items
        ]
        seen = [(member, *member.standing(line.step)[1::-1]) for member in waiting]
        work = take(now)
        if work is not None:
            taken = work._hold.member
            ((arrived, q),) = [(at, priority) for who, at, priority in seen if who is taken]
            for _, since, p in seen:
                limit = since + (q - p) * STEP
                assert arrived < limit if q > p else arrived <= limit
                assert limit <= since + 256 * STEP
        return work

    both.live.take = watched  # type: ignore[method-assign]
    for wait, step in enumerate(day):
        both.step(step[0], step[1] * (wait % 7) ** 3, *step[2:])
    both.all_the_rest()


def _intervals(day: list[Any], weights: dict[str, int], *, simple: bool) -> Iterator[Any]:
    """(tenant, tenant, difference of what they got, bound) for all stretches of a day in which
    both could be served all the time. Measured on the oracle's books, which the live one shares.

    `simple`: nothing is rolled back, and nothing arrives for a group that is worked on.
    """
    both = Both({}, weights, tenants=True)
    books: dict[str, Fraction] = defaultdict(Fraction)
    largest: dict[str, Fraction] = defaultdict(Fraction)
    charge = both.oracle.table.charge

    def booked(hold: Any, cost: int) -> None:
        charge(hold, cost)
        weight = weights.get(hold.tenant, 1)
        books[hold.tenant] += Fraction(cost, weight)
        largest[hold.tenant] = max(largest[hold.tenant], Fraction(hold.charged, weight))

    both.oracle.table.charge = booked  # type: ignore[method-assign]
    history: list[tuple[dict[str, Fraction], set[str]]] = []
    most_at_work = 0
    for step in day:
        locked = {hold.group for hold in both.oracle.table.holds}
        if simple and (step[0] == "rollback" or (step[0] == "arrive" and step[2] in locked)):
            continue
        if simple and step[0] == "finish" and step[2] in both.held:
            while both.oracle.table.waiting(both.held[step[2]][1].group):
                both.receive(step[2])
        both.step(*step)
        most_at_work = max(most_at_work, len(both.held))
        table = both.oracle.table
        able = {
            tenant
            for tenant in table.tenants_with_something()
            if any(table.waiting(group) for group in table.in_order(tenant))
        }
        history.append((dict(books), able))
    factor = 1 if simple else 2 * most_at_work
    for start, (first, _) in enumerate(history):
        together = set(history[start][1])
        for last, able in history[start:]:
            together &= able
            for a in together:
                for b in together - {a}:
                    got = [last.get(t, Fraction(0)) - first.get(t, Fraction(0)) for t in (a, b)]
                    yield a, b, abs(got[0] - got[1]), factor * (largest[a] + largest[b])


@pytest.mark.costly
@pytest.mark.parametrize("simple", [True, False])
@given(day=days(), weights=st.sampled_from(WEIGHTS))
def test_fairness_bounds_the_lag(simple: bool, day: list[Any], weights: dict[str, int]) -> None:
    for a, b, lag, bound in _intervals(day, weights, simple=simple):
        assert lag <= bound, (a, b)


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 20)), min_size=1, max_size=80))
def test_what_tenants_with_much_waiting_get_follows_their_weights(
    items: list[tuple[str, int]],
) -> None:
    """All is there from the beginning: at each moment the classic bound A + B holds."""
    weights = {"x": 2, "y": 3}
    agenda = Agenda(weights=weights)
    left: dict[str, int] = defaultdict(int)
    for tenant, cost in items:
        agenda.send("", cost, 0, tenant=tenant, cost=cost)
        left[tenant] += 1
    got: dict[str, Fraction] = defaultdict(Fraction)
    largest = {t: Fraction(max(c for n, c in items if n == t), weights.get(t, 1)) for t in left}
    while (work := agenda.take(0)) is not None:
        (cost,) = work
        work.accept()
        got[work.tenant] += Fraction(cost, weights.get(work.tenant, 1))
        left[work.tenant] -= 1
        waiting = [tenant for tenant, count in left.items() if count]
        for a in waiting:
            for b in waiting:
                assert abs(got[a] - got[b]) <= largest[a] + largest[b]
