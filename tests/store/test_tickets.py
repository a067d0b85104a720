"""Where tickets are drawn, a change takes nobody's turn away."""

from collections.abc import Callable
from random import Random
from typing import Any

import psycopg
import pytest

from fairlead import Balancer, Change, Cluster, Store
from fairlead.errors import ChangeError
from tests.stores import made_url

Open = Callable[..., Store]
MACHINES = [{"name": name, "weight": 1, "address": name} for name in "abc"]


def cluster(**more: Any) -> Cluster:
    plain = {"policy": "weighted", "destination": MACHINES, **more}
    return Cluster.from_dict(plain, default_name="pool")


@pytest.fixture
def url() -> str:
    return made_url("postgresql")


@pytest.fixture
def store(url: str, opened: Open) -> Store:
    found = opened(url)
    found.keep_clusters([cluster(store={"allocation": "ticket"})])
    return found


def test_a_change_of_an_address_takes_no_turn_away(store: Store) -> None:
    got = []
    for turn in range(9):
        got.append(store.next_destination("pool").destination)
        store.change("pool", "a", "address", f"elsewhere-{turn}")
    assert got == list("abcabcabc")
    assert [each.sent for each in store.pool("pool").machines] == [3, 3, 3]


class GoneWrongError(Exception):
    pass


def change_and_go_wrong(store: Store, url: str, weight: int, *, in_sql: bool) -> None:
    if in_sql:
        with psycopg.connect(url) as sql, sql.transaction():
            sql.execute("SELECT fairlead.change('pool', 'a', 'weight', %s)", [str(weight)])
            raise GoneWrongError
    with store.transaction() as transaction:
        transaction.change("pool", "a", "weight", weight)
        raise GoneWrongError


@pytest.mark.parametrize("in_sql", [False, True])
@pytest.mark.parametrize("value", [-1, 7], ids=["refused", "rolled back"])
def test_a_change_that_is_not_made_takes_no_turn_away(
    in_sql: bool, value: int, store: Store, url: str
) -> None:
    got = []
    for turn in range(1, 10):
        got.append(store.next_destination("pool").destination)
        with pytest.raises((ChangeError, GoneWrongError, psycopg.Error)):
            change_and_go_wrong(store, url, value, in_sql=in_sql)
        pool = store.pool("pool")
        assert (pool.choices, pool.version) == (turn, 0)
        assert sum(each.sent for each in pool.machines) == turn
    assert got == list("abcabcabc")


def test_changes_are_not_counted_as_choices(store: Store) -> None:
    for turn in range(5):
        store.change("pool", "a", "address", f"elsewhere-{turn}")
        store.next_destination("pool")
    assert store.pool("pool").choices == 5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("in_sql", [False, True])
def test_choices_and_changes_are_those_of_the_live_balancer(
    seed: int, in_sql: bool, store: Store, url: str
) -> None:
    random = Random(seed)  # noqa: S311 - a history, no secret
    live = Balancer([cluster()])
    numbers = []
    with psycopg.connect(url, autocommit=True) as sql:
        for _ in range(120):
            if random.random() < 0.3:
                target = random.choice("abc")
                attribute, value = random.choice(
                    [("address", "x"), ("weight", random.randint(1, 5)), ("enabled", True)]
                )
                live.apply(Change(target, attribute, value))
                if in_sql:
                    said = str(value).lower()
                    call = "SELECT fairlead.change('pool', %s, %s, %s)"
                    sql.execute(call, [target, attribute, said])
                else:
                    store.change("pool", target, attribute, value)
            elif random.random() < 0.5:
                decision = store.next_destination("pool")
                numbers.append(decision.number)
                assert decision.destination == live.choose({}).destination
            else:
                call = "SELECT destination FROM fairlead.next_destination('pool')"
                assert sql.execute(call).fetchone() == (live.choose({}).destination,)
    for number in numbers:
        assert store.decision(number).explain()


def test_sequences_only_rise_and_each_is_given_once(store: Store) -> None:
    sequences = []
    for turn in range(30):
        sequences.append(store.next_destination("pool").sequence)
        if turn % 3 == 0:
            store.change("pool", "a", "weight", 1 + turn % 2)
    assert sequences == sorted(set(sequences))
