"""Random days of a store beside the plainest model: every answer is compared, after every step."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fairlead import Store
from fairlead.errors import StaleWorkError
from fairlead.store.leasing import StoreWork
from tests.oracle.service_broker import Hold
from tests.store.plain import PlainQueue, name_of
from tests.stores import made_url

SECOND = 1_000_000
TENANT_OF = {"a": "x", "b": "x", "c": "y", "d": "z"}
GROUPS = st.sampled_from(["", "a", "b", "c", "d"])
NAMED = st.sampled_from("abcd")
PRIORITIES = st.sampled_from([None, None, 0, 1, 100, 255])
ORDERS = st.sampled_from([("fifo", 0), ("priority", 0), ("priority", 3), ("priority", 0.5)])
MESSAGES = st.fixed_dictionaries(
    {
        "group": GROUPS,
        "priority": PRIORITIES,
        "cost": st.sampled_from([1, 1, 2, 7]),
        "key": st.sampled_from([None] * 5 + ["k1", "k2"]),
        "delay": st.sampled_from([0] * 5 + [1, 7]),
        "expires": st.sampled_from([None] * 5 + [9, 20]),
    }
)
_queues = count(1)


class Clock:
    """The time of all stores of these tests; microseconds."""

    now = 1000 * SECOND


class Opened(NamedTuple):
    """A store, and a connection of the user's own to its database."""

    store: Store
    connection: Any


@cache
def opened(dialect: str) -> Opened:
    """One for all days of a process; each day has a queue of its own."""
    url = made_url(dialect)
    store = Store.open(url, clock=lambda: Fraction(Clock.now, SECOND))
    return Opened(store, connected(url))


def connected(url: str) -> Any:
    """A connection of the user's own."""
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///"))
    return psycopg.connect(url)


@pytest.fixture(scope="module", autouse=True)
def closed() -> Any:
    yield
    for dialect in ("sqlite", "postgresql"):
        found = opened(dialect)
        found.connection.close()
        found.store.close()
    opened.cache_clear()


class Days(RuleBasedStateMachine):
    """What may happen to a queue."""

    dialect = "sqlite"
    open: Callable[[str], Opened] = staticmethod(opened)

    @initialize(order=ORDERS, tenants=st.booleans(), heavy=st.sampled_from([1, 2, 3]))
    def begin(self, order: tuple[str, float], tenants: bool, heavy: int) -> None:
        self.store, self.connection = type(self).open(self.dialect)
        self.name = f"queue {next(_queues)}"
        self.order = order
        self.weights = {"x": heavy, "y": 2} if tenants else {}
        self.tenants = tenants
        self.since = [event.cursor for event in self.store.journal()][-1:]
        self.set_order(order)
        self.store.set_limits(self.name, max_failures=3)
        assert self.store.take(self.name) is None
        self.plain = PlainQueue(order[0], int(order[1] * SECOND), self.weights, 3)
        self.plain.now = Clock.now  # nothing has happened yet: a clock that goes back now may
        self.sent = count(1)
        self.leases = count(5 * SECOND)
        self.works: list[tuple[StoreWork, Hold]] = []

    def set_order(self, order: tuple[str, float]) -> None:
        self.store.set_order(self.name, order[0], ageing=order[1], weights=self.weights)

    # senders and operators

    def message(self, drawn: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """A message as the store is given it, and as the model is."""
        number = next(self.sent)
        body = drawn["key"] or f"item {number}"
        tenant = TENANT_OF.get(drawn["group"], "") if self.tenants else ""
        expires = drawn["expires"]
        given = {key: drawn[key] for key in ("group", "priority", "cost", "delay", "expires")}
        until = None if expires is None else self.plain.now + expires * SECOND
        return (
            {"body": body, "tenant": tenant, "id": drawn["key"], **given},
            {
                **drawn,
                "item": body,
                "tenant": tenant,
                "expires": until,
                "delay": drawn["delay"] * SECOND,
            },
        )

    @rule(drawn=MESSAGES)
    def send(self, drawn: dict[str, Any]) -> None:
        given, row = self.message(drawn)
        self.store.send(self.name, **given)
        self.plain.send(row)
        self.check()

    @rule(every=st.lists(MESSAGES, min_size=1, max_size=5))
    def send_many(self, every: list[dict[str, Any]]) -> None:
        messages = [self.message(drawn) for drawn in every]
        self.store.send_many(self.name, [given for given, _ in messages])
        for _, row in messages:
            self.plain.send(row)
        self.check()

    @rule(group=NAMED, priority=PRIORITIES)
    def prioritise(self, group: str, priority: int | None) -> None:
        raised = self.store.prioritise(self.name, group, priority)
        assert raised == self.plain.raises(group, 100 if priority is None else priority)
        self.check()

    @precondition(lambda self: self.order[0] == "priority")
    @rule(order=ORDERS)
    def order_anew(self, order: tuple[str, float]) -> None:
        if order[0] == "priority":
            self.set_order(order)
            self.plain.ageing = int(order[1] * SECOND)
            self.check()

    @rule()
    def requeue(self) -> None:
        assert self.store.requeue(self.name) == self.plain.requeue()
        self.check()

    # readers

    def took(self, work: StoreWork | None, hold: Hold | None) -> None:
        assert (work is None) == (hold is None)
        if work is not None and hold is not None:
            self.works.append((work, hold))
            assert (work.group, work.tenant) == (name_of(hold.group), hold.tenant)
            assert work.priority == (hold.entry["priority"] if hold.entry else None)
            assert work.attempt == self.plain.releases[hold.group] + 1

    @rule(name=st.sampled_from([None, None, None, "a", "c"]))
    def take(self, name: str | None) -> None:
        lease = next(self.leases)
        work = self.store.take(self.name, group=name, lease=Fraction(lease, SECOND))
        self.plain.looks()
        self.took(work, self.plain.pick(lease, name))
        self.check()

    @rule(most=st.integers(1, 4))
    def take_many(self, most: int) -> None:
        lease = next(self.leases)
        works = self.store.take_many(self.name, most, lease=Fraction(lease, SECOND))
        self.plain.looks()
        holds = [hold for _ in range(most) if (hold := self.plain.pick(lease)) is not None]
        assert len(works) == len(holds)
        for work, hold in zip(works, holds, strict=True):
            self.took(work, hold)
        self.check()

    def one(self, number: int) -> tuple[StoreWork, Hold] | None:
        """Work of somebody who still holds it; of others it is made sure that they cannot."""
        while self.works:
            work, hold = self.works[number % len(self.works)]
            if any(each is hold for each in self.plain.holds):
                return work, hold
            self.works.remove((work, hold))
            ends: list[Callable[[], Any]] = [work.accept, work.reject, work.release, work.extend]
            with pytest.raises(StaleWorkError):
                ends[number % 4]()
        return None

    @rule(number=st.integers(0, 11), most=st.integers(1, 3))
    def read(self, number: int, most: int) -> None:
        if found := self.one(number):
            work, hold = found
            for _ in range(most):
                message, row = next(work, None), self.plain.gives(hold)
                assert (message.body if message else None) == (row["item"] if row else None)

    @rule(number=st.integers(0, 11), how=st.sampled_from(["accept", "accept all", "reject"]))
    def settle(self, number: int, how: str) -> None:
        if found := self.one(number):
            work, hold = found
            if how == "accept all":
                bodies = [message.body for message in work]
                rows = []
                while (row := self.plain.gives(hold)) is not None:
                    rows.append(row["item"])
                assert bodies == rows
            if how == "reject":
                work.reject("because")
                self.plain.reject(hold)
            else:
                work.accept()
                self.plain.accept(hold)
            self.works.remove(found)
            self.check()

    @rule(number=st.integers(0, 11))
    def reject_one(self, number: int) -> None:
        if found := self.one(number):
            work, hold = found
            message, row = next(work, None), self.plain.gives(hold)
            assert (message is None) == (row is None)
            if message is not None:
                work.reject("this one", message)
                hold.bad.append(row)

    @rule(
        number=st.integers(0, 11),
        delay=st.sampled_from([0, 0, 4]),
        error=st.sampled_from(["", "failed"]),
        most=st.sampled_from([0, 0, 1, 2]),
    )
    def release(self, number: int, delay: int, error: str, most: int) -> None:
        if found := self.one(number):
            work, hold = found
            done = min(most, max(len(hold.received) - 1, 0))
            work.release(delay, error, done)
            self.plain.give_back(hold, delay * SECOND, failed=bool(error), done=done)
            self.works.remove(found)
            self.check()

    @rule(number=st.integers(0, 11))
    def extend(self, number: int) -> None:
        if found := self.one(number):
            work, hold = found
            lease = next(self.leases)
            work.extend(Fraction(lease, SECOND))  # type: ignore[arg-type]
            hold.deadline = self.plain.now + lease

    # transactions

    @rule(number=st.integers(0, 11), drawn=MESSAGES, group=NAMED)
    def roll_back(self, number: int, drawn: dict[str, Any], group: str) -> None:
        found = self.one(number)
        given, _ = self.message(drawn)
        with suppress(ZeroDivisionError), self.store.transaction() as tx:
            tx.send(self.name, **given)
            tx.prioritise(self.name, group, 255)
            if found:
                tx.accept(found[0])
            raise ZeroDivisionError
        self.check()

    @rule(number=st.integers(0, 11), drawn=MESSAGES, commits=st.booleans())
    def join(self, number: int, drawn: dict[str, Any], commits: bool) -> None:
        found = self.one(number) if commits else None
        given, row = self.message(drawn)
        with self.store.join(self.connection) as tx:
            tx.send(self.name, **given)
            if found:
                tx.accept(found[0])
        if commits:
            self.connection.commit()
            self.plain.send(row)
            if found:
                self.plain.accept(found[1])
                self.works.remove(found)
        else:
            self.connection.rollback()
        self.check()

    @rule(number=st.integers(0, 11), drawn=MESSAGES)
    def settle_in_transaction(self, number: int, drawn: dict[str, Any]) -> None:
        if found := self.one(number):
            work, hold = found
            given, row = self.message(drawn)
            with work.transaction() as tx:
                tx.send(self.name, **given)
                tx.reject("because")
            self.plain.send(row)
            self.plain.reject(hold)
            self.works.remove(found)
            self.check()

    # the clock

    @rule(seconds=st.sampled_from([1, 3, 6, -1, -4]))
    def tick(self, seconds: int) -> None:
        Clock.now += seconds * SECOND
        self.plain.now = Clock.now
        self.check()

    # what must be so

    def check(self) -> None:
        """What waits, in its order, is what the model says; and so is everything else."""
        outlook = self.store.waiting(self.name, 1000)
        self.plain.looks()
        ranks = [(rank.group, rank.item, rank.items) for rank in outlook.ranks]
        assert ranks == self.plain.outlook()
        assert outlook.waiting == len(ranks)
        working = [work.group for work in self.store.working(self.name)]
        assert Counter(working) == Counter(name_of(hold.group) for hold in self.plain.holds)

    def teardown(self) -> None:
        if not hasattr(self, "works"):
            return
        try:
            self.drain()
        finally:
            Clock.now = max(Clock.now, self.plain.latest) + 1000 * SECOND

    def drain(self) -> None:
        """Everything is accepted in the end; nothing is lost, and nothing is there twice."""
        while found := self.one(0):
            found[0].release()
            self.plain.give_back(found[1], failed=False)
            self.works.remove(found)
        for _ in range(20):
            Clock.now += 10 * SECOND
            self.plain.now = Clock.now
            self.requeue()
            while True:
                self.take(None)
                if not self.works:
                    break
                self.settle(0, "accept all")
        dead = [each.body for each in self.store.dead(self.name)]
        assert Counter(dead) == Counter(row["item"] for row in self.plain.dead)
        (metrics,) = (each for each in self.store.queues() if each.queue == self.name)
        assert metrics[1:7] == (0, 0, 0, 0, 0, len(dead))
        events = list(self.store.journal(self.since[0] if self.since else None))
        kinds = Counter(event.kind for event in events if event.queue == self.name)
        assert kinds == +self.plain.counts
        done = [row["item"] for row in [*self.plain.accepted, *self.plain.dead]]
        assert len(done) == len(set(done)) == kinds["sent"]
        times = [event.time for event in events]
        assert times == sorted(times)


class OnPostgreSQL(Days):
    """The same on PostgreSQL."""

    dialect = "postgresql"


HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def machine(days: type[Days], examples: int) -> Any:
    """As a test case, of so many days."""
    found = type(days.__name__, (days,), {}).TestCase
    found.settings = settings(
        max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=HEALTH
    )
    return found


TestSQLite = machine(Days, 30)
TestPostgreSQL = machine(OnPostgreSQL, 12)
TestManyDaysOnSQLite = pytest.mark.slow(machine(Days, 1500))
TestManyDaysOnPostgreSQL = pytest.mark.slow(machine(OnPostgreSQL, 500))
