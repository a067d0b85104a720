"""A tenant of a queue is switched off: nothing of it is taken, and all else goes on."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import MessageError, StaleWorkError
from tests.stores import Clock

Open = Callable[..., Store]


@pytest.fixture
def store(url: str, opened: Open, clock: Clock) -> Store:
    return opened(url, clock=clock)


def sent(store: Store, *tenants: str, most: int = 1) -> None:
    for _ in range(most):
        for tenant in tenants:
            store.send("q", tenant, tenant=tenant)


def taken(store: Store, most: int = 10) -> list[str]:
    """The tenants of the next groups, each accepted before the next."""
    found = []
    while len(found) < most and (work := store.take("q")) is not None:
        with work:
            list(work)
        found.append(work.held.tenant)
    return found


def row_of(store: Store, tenant: str) -> tuple[object, ...]:
    (found,) = [each for each in store.queues_by_tenant() if each.tenant == tenant]
    return (found.messages, found.ready, found.enabled, found.off_why.split(",")[0])


def test_nothing_of_it_is_taken_and_the_others_go_on(store: Store) -> None:
    sent(store, "x", "y", "", most=2)
    assert store.switch("q", on=False, tenant="x", reason="too much")
    assert not store.switch("q", on=False, tenant="x")
    sent(store, "x", "y")
    assert sorted(taken(store)) == ["", "", "y", "y", "y"]
    assert store.take_many("q", 5) == []
    assert store.switch("q", on=True, tenant="x")
    assert not store.switch("q", on=True, tenant="x")
    assert taken(store) == ["x", "x", "x"]


def test_a_group_that_is_named_is_not_taken_either(store: Store) -> None:
    store.send("q", 1, group="g", tenant="x")
    store.send("q", 1, group="h", tenant="y")
    store.switch("q", on=False, tenant="x")
    assert store.take("q", group="g") is None
    assert store.take("q", group="h") is not None


def test_it_is_off_before_its_first_message_comes(store: Store) -> None:
    store.send("q", "")
    store.switch("q", on=False, tenant="x")
    sent(store, "x", "y")
    assert taken(store) == ["", "y"]
    assert row_of(store, "x")[:3] == (1, 1, False)


def test_what_is_in_hand_is_settled_and_what_is_left_of_it_waits(store: Store) -> None:
    store.send("q", "a", group="g", tenant="x")
    store.send("q", "b", group="h", tenant="x")
    first, second = store.take("q"), store.take("q")
    assert first is not None
    assert second is not None
    store.switch("q", on=False, tenant="x")
    with first:
        assert [each.body for each in first] == ["a"]
        store.send("q", "later", group="g", tenant="x")
    second.release(delay=0)
    assert store.take("q") is None
    store.switch("q", on=True, tenant="x")
    assert sorted(taken(store)) == ["x", "x"]


def test_a_lease_that_is_over_brings_nothing_of_it_back(store: Store, clock: Clock) -> None:
    sent(store, "x", "y")
    work = store.take("q", lease=5)
    assert work is not None
    assert work.held.tenant == "x"
    store.switch("q", on=False, tenant="x")
    clock.now += 6
    assert taken(store) == ["y"]
    with pytest.raises(StaleWorkError):
        work.accept()
    store.switch("q", on=True, tenant="x")
    assert taken(store) == ["x"]


def test_delays_end_and_it_still_waits(store: Store, clock: Clock) -> None:
    store.send("q", 1, tenant="x", delay=5)
    store.send("q", 1, tenant="y", delay=5)
    store.switch("q", on=False, tenant="x")
    clock.now += 6
    assert taken(store) == ["y"]


def test_a_file_that_is_declared_anew_does_not_switch_it_on(store: Store, tmp_path: Path) -> None:
    sent(store, "x", "y")
    store.switch("q", on=False, tenant="x")
    file = tmp_path / "queues.toml"
    for more in ("max_failures = 2", "weights = {x = 3}", "weights = {y = 2}"):
        file.write_text(f"[[queue]]\nname = 'q'\n{more}\n", "utf-8")
        store.declare(file)
        assert store.off_tenants("q") == ["x"]
    assert taken(store) == ["y"]


def test_limits_hold_beside_it(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "queues.toml"
    limit = "[[queue.limit]]\nof = 'tenant'\nin_work = 1\n"
    file.write_text(f"[[queue]]\nname = 'q'\n{limit}", "utf-8")
    store.declare(file)
    sent(store, "x", "y", most=2)
    store.switch("q", on=False, tenant="x")
    work = store.take("q")
    assert work is not None
    assert work.held.tenant == "y"
    assert store.take("q") is None
    store.switch("q", on=True, tenant="x")
    other = store.take("q")
    assert other is not None
    assert other.held.tenant == "x"


def test_it_comes_back_without_the_time_that_it_did_not_use(store: Store) -> None:
    sent(store, "x", "y", most=12)
    store.switch("q", on=False, tenant="x")
    assert taken(store, 6) == ["y"] * 6
    store.switch("q", on=True, tenant="x")
    assert sorted(taken(store, 6)) == ["x"] * 3 + ["y"] * 3


def test_nobody_looks_for_what_nobody_may_take(store: Store) -> None:
    sent(store, "x", "y")
    store.switch("q", on=False, tenant="x")
    assert store.ready("q")
    assert taken(store) == ["y"]
    sent(store, "x")
    assert taken(store) == []
    assert not store.ready("q")
    store.switch("q", on=True, tenant="x")
    assert store.ready("q")


def test_who_waits_gets_it_when_it_is_switched_on(url: str, opened: Open) -> None:
    reader, operator = opened(url), opened(url)
    sent(operator, "x")
    operator.switch("q", on=False, tenant="x")
    assert reader.take("q") is None
    found = []
    thread = threading.Thread(target=lambda: found.append(reader.take("q", wait=60)))
    thread.start()
    operator.switch("q", on=True, tenant="x")
    thread.join(50)
    assert [work.held.tenant for work in found] == ["x"]


def test_it_is_seen_who_is_off_since_when_and_why(store: Store, clock: Clock) -> None:
    sent(store, "x", "y")
    store.switch("q", on=False, tenant="x", reason="too much")
    store.switch("q", on=False, tenant="nobody")
    assert store.off_tenants("q") == ["nobody", "x"]
    assert store.queues()[0].off_tenants == ["nobody", "x"]
    assert store.queues()[0].enabled
    assert store.off("q") is None
    assert store.off("q", "y") is None
    off = store.off("q", "x")
    assert off is not None
    assert off == (clock.now, f"too much, by {store._context.actor}")
    assert row_of(store, "x") == (1, 1, False, "too much")
    assert row_of(store, "y") == (1, 1, True, "")
    assert row_of(store, "nobody")[:3] == (0, 0, False)
    events = [(each.kind, each.tenant) for each in store.journal() if "switched" in each.kind]
    assert events == [("switched-off", "x"), ("switched-off", "nobody")]
    store.switch("q", on=False, reason="all of it")
    assert store.off("q") == (clock.now, f"all of it, by {store._context.actor}")
    assert store.off("q", "x") == off


def test_the_outlook_is_without_it(store: Store) -> None:
    store.send("q", "its", group="g", tenant="x")
    store.send("q", "other", group="h", tenant="y")
    store.switch("q", on=False, tenant="x")
    found = store.waiting("q")
    assert [rank.group for rank in found.ranks] == ["h"]
    assert found.waiting == 2
    assert [each.body for each in store.peek("q")] == ["other"]


def test_it_is_explained_that_it_was_off(store: Store) -> None:
    store.send("q", 1, group="g", tenant="x")
    store.send("q", 1, group="h", tenant="y")
    store.switch("q", on=False, tenant="x")
    assert taken(store) == ["y"]
    store.switch("q", on=True, tenant="x")
    assert taken(store) == ["x"]
    assert (
        store.explain_order("q", "h", "g").decided == "h before g: tenant x was switched off then"
    )


def test_what_is_no_tenant_is_refused(store: Store) -> None:
    sent(store, "x")
    for found in ("", 3, "a\nb"):
        with pytest.raises(MessageError, match="tenant: found"):
            store.switch("q", on=False, tenant=found)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="queue: found 'r', allowed: q"):
        store.switch("r", on=False, tenant="x")
    assert store.off_tenants("q") == []


def test_on_a_loop_it_is_the_same(url: str) -> None:
    async def main() -> None:
        async with await AsyncStore.open(url) as store:
            await store.send("q", 1, tenant="x")
            await store.switch("q", on=False, tenant="x")
            assert await store.take("q") is None
            assert await store.off_tenants("q") == ["x"]
            assert await store.off("q", "x") is not None
            await store.switch("q", on=True, tenant="x")
            assert await store.take("q") is not None

    asyncio.run(main())
