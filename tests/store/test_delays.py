"""Messages that arrive later, and limits that a file sets."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.store.store import Store
from tests.stores import made_url

NOW = [1000.0]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    NOW[0] = 1000.0
    with Store.open(made_url(request.param), clock=lambda: NOW[0]) as store:
        yield store


def test_delayed_messages_arrive_in_the_order_in_which_they_are_due(store: Store) -> None:
    for body, delay in (("third", 9), ("first", 1), ("second", 5)):
        store.send("q", body, delay=delay)
    assert store.take("q") is None
    NOW[0] += 10
    bodies = []
    while work := store.take("q"):
        bodies += [message.body for message in work]
    assert bodies == ["first", "second", "third"]


def test_a_delayed_message_whose_group_is_another_tenants_by_then_is_a_dead_letter(
    store: Store,
) -> None:
    store.send("q", "mine", group="g")
    store.send("q", "yours", group="g", tenant="x", delay=5)
    NOW[0] += 10
    work = store.take("q")
    assert work is not None
    assert [message.body for message in work] == ["mine"]
    (dead,) = store.dead("q")
    assert (dead.body, dead.tenant, dead.reason) == (
        *("yours", "x"),
        "its group is another tenant's now",
    )


def test_no_failures_in_a_file_means_that_work_is_tried_for_ever(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "queues.toml"
    file.write_text('[[queue]]\nname = "q"\nmax_failures = 0\n')
    assert store.declare(file) == ["q"]
    store.send("q", "m")
    for _ in range(10):
        work = store.take("q")
        assert work is not None
        list(work)
        work.release(error="again")
    assert store.dead("q") == []


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_what_is_due_is_due_from_its_microsecond_on(dialect: str) -> None:
    now = [Fraction(1_000_000_000)]
    micro = Fraction(1, 1_000_000)
    with Store.open(made_url(dialect), clock=lambda: now[0]) as store:
        store.send("q", "delayed", delay=5)
        store.send("q", "released", group="g")
        released = store.take("q")
        assert released is not None
        next(released)
        released.release(delay=6)
        store.send("lost", "lapsed", group="g")
        assert store.take("lost", lease=7) is not None
        for queue, body, seconds in (
            ("q", "delayed", 5),
            ("q", "released", 6),
            ("lost", "lapsed", 7),
        ):
            now[0] = 1_000_000_000 + seconds - micro
            assert store.take(queue) is None
            assert not store.ready(queue)
            now[0] += micro
            assert store.ready(queue)
            work = store.take(queue)
            assert work is not None
            assert [message.body for message in work] == [body]
            work.accept()
