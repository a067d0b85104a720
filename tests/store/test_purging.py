"""What waits is deleted by an operator, in portions; and a queue that nobody needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from fairlead import AsyncStore, Cluster, Store
from fairlead.errors import MessageError
from fairlead.store.queues.purging import PORTION
from fairlead.store.verbs.purging import Purged
from tests.store.roles import SNIPPETS
from tests.store.test_guaranteed import SUBJECT, begun, queue
from tests.stores import made_url

FARM = Cluster.of("fewest-pending", name="farm", destination=[{"name": "north"}, {"name": "south"}])


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as found:
        yield found


def left(store: Store, queue: str) -> list[object]:
    """The bodies that a reader still gets, in their order."""
    found: list[object] = []
    while work := store.take(queue):
        found += [each.body for each in work]
        work.accept()
    return found


def test_how_much_would_go_is_what_goes(store: Store) -> None:
    store.send_many(
        "q", [{"body": k, "group": f"g{k % 3}", "tenant": f"t{k % 3}"} for k in range(9)]
    )
    store.send("q", "late", delay=3600, group="g1", tenant="t1")
    work = store.take("q", group="g0")
    assert work is not None
    counts = [
        store.purgeable("q"),
        store.purgeable("q", "g1"),
        store.purgeable("q", tenant="t2"),
        store.purgeable("q", "g0"),
        store.purgeable("q", "g1", tenant="t2"),
    ]
    assert counts == [7, 4, 3, 0, 0]
    assert store.purge("q", "g1").deleted == 4
    assert store.purge("q").deleted == 3
    assert store.purgeable("q") == 0
    with pytest.raises(MessageError, match="found 'p', allowed: q"):
        store.purgeable("p")


def test_all_that_waits_goes_whatever_keeps_it_from_being_taken(store: Store) -> None:
    store.send_many("q", [{"body": k, "group": f"g{k % 3}"} for k in range(9)])
    store.send("q", "alone")
    store.send("q", "late", delay=3600)
    store.prioritise("q", "g1", 200)
    work = store.take("q")
    assert work is not None
    work.release(delay=3600)
    store.switch("q", on=False)
    assert store.purge("q", reason="sent twice") == (11, 0, 0)
    found = store.queues()[0]
    assert (found.messages, found.ready, found.parked, found.delayed) == (0, 0, 0, 0)
    events = [each for each in store.journal() if each.kind == "discarded"]
    assert len(events) == 11
    assert {each.detail for each in events} == {"an operator purged it: sent twice"}
    store.switch("q", on=True)
    store.send("q", "new", group="g1")
    assert store.waiting("q").ranks[0].priority is None
    assert left(store, "q") == ["new"]


def test_large_groups_go_in_portions_and_it_tells_how_far_it_is(store: Store) -> None:
    store.send_many("q", [{"body": k, "group": f"g{k % 2}"} for k in range(3 * PORTION)])
    store.send("q", "alone")
    told: list[int] = []
    assert store.purge("q", told=told.append).deleted == 3 * PORTION + 1
    assert told == sorted(told)
    assert len(told) >= 4
    assert max(b - a for a, b in zip([0, *told], told, strict=False)) <= PORTION
    assert left(store, "q") == []


def test_what_readers_hold_stays_and_can_be_settled(store: Store) -> None:
    store.send_many("q", [{"body": k, "group": "kim"} for k in range(3)])
    store.send("q", "b", group="lee")
    work = store.take("q", group="kim")
    assert work is not None
    assert store.purge("q") == (1, 3, 0)
    assert [each.body for each in work] == [0, 1, 2]
    work.accept()
    assert left(store, "q") == []


def test_of_one_group_only_its_messages_go(store: Store) -> None:
    store.send_many("q", [{"body": k, "group": f"g{k % 2}"} for k in range(2 * PORTION + 2)])
    store.send("q", "late", group="g1", delay=3600)
    assert store.purge("q", "g1").deleted == PORTION + 2
    assert store.purge("q", "nobody").deleted == 0
    assert left(store, "q") == [*range(0, 2 * PORTION + 2, 2)]


@pytest.mark.parametrize("shared", [False, True])
def test_of_one_tenant_only_its_messages_go(store: Store, shared: bool) -> None:
    if shared:
        store.set_order("q", weights={"acme": 2, "test": 5})
    for k in range(3):
        for tenant in ("acme", "test"):
            store.send("q", k, group=f"{tenant}{k}", tenant=tenant)
            store.send("q", k, tenant=tenant)
            store.send("q", k, tenant=tenant, delay=60)
    work = store.take("q", group="test0")
    assert store.purge("q", tenant="test") == Purged(8, 1, 0)
    assert store.purge("q", "acme0", tenant="test") == Purged(0, 0, 0)
    found = {event.tenant for event in store.journal(kind="discarded")}
    assert found == {"test"}
    assert work is not None
    with work:
        assert [message.body for message in work] == [0]
    assert (store.queues()[0].messages, store.queues()[0].delayed) == (6, 3)
    for _ in range(6):
        left = store.take("q")
        assert left is not None
        with left:
            assert [message.tenant for message in left] == ["acme"]
    assert store.check() == []


def test_what_comes_while_it_is_purged_stays(store: Store) -> None:
    store.send_many("q", [{"body": k, "group": "kim"} for k in range(PORTION + 1)])
    sent: list[int] = []

    def told(deleted: int) -> None:
        if not sent:
            store.send("q", "new", group="kim")
        sent.append(deleted)

    assert store.purge("q", told=told).deleted == PORTION + 1
    assert left(store, "q") == ["new"]


def test_tenants_are_served_as_if_it_had_never_been_there(store: Store) -> None:
    store.set_order("q", weights={"a": 1, "b": 1})
    for k in range(4):
        store.send("q", k, group=f"g{k}", tenant="ab"[k % 2])
    assert store.purge("q").deleted == 4
    store.send("q", "x", group="g0", tenant="a")
    store.send("q", "y", group="g1", tenant="b")
    assert left(store, "q") == ["x", "y"]
    assert store.check() == []


def test_messages_of_conversations_stay_until_these_end(store: Store) -> None:
    store.declare(SNIPPETS / "dialogs.toml")
    dialog = store.begin_dialog("Client", "Shop", lifetime=3600)
    dialog.send("Order", {"item": "lamp"})
    store.send("shop", "plain")
    assert store.purge("shop") == (1, 0, 1)
    assert store.purge("client").deleted == 0
    work = store.take("shop")
    assert work is not None
    assert [each.type for each in work] == ["Order"]
    work.release()
    dialog.end()
    assert store.check() == []


@pytest.mark.parametrize("named", ["fairlead:subscriptions", "order"])
def test_what_is_the_servers_own_or_not_there_is_refused(store: Store, named: str) -> None:
    store.send("orders", 1)
    with pytest.raises(MessageError, match=f"^queue: found '{named}'"):
        store.purge(named)


@pytest.mark.parametrize("delay", [0, 3600])
def test_its_cluster_does_not_wait_for_it_any_more(store: Store, delay: int) -> None:
    store.keep_clusters([FARM])
    store.publish("farm", "x", delay=delay)
    store.publish("farm", "y", delay=delay)
    assert store.purge("north").deleted == 1
    decision = store.publish("farm", "z")
    assert (decision.destination, store.check()) == ("north", [])


def test_publishers_of_guaranteed_messages_hear_that_nobody_got_it(store: Store) -> None:
    begun(store, "A")
    said = {"subject": SUBJECT, "mode": "sorted", "delivery": "all"}
    now, later = (store.publish("news", "x", said, delay=each).number for each in (0, 3600))
    assert store.purge(queue("A"), reason="wrong").deleted == 2
    why = ("nack", "an operator purged it: wrong")
    assert store.deliveries([now, later]) == {now: why, later: why}


def test_a_queue_that_nobody_needs_is_deleted(store: Store) -> None:
    store.set_limits("q", max_failures=1, max_waiting=50)
    store.send("q", "a", id="one")
    store.send("q", "b", delay=3600)
    with pytest.raises(MessageError, match=r"not empty \(1 waiting, 1 delayed\)"):
        store.delete_queue("q")
    work = store.take("q")
    assert work is not None
    with pytest.raises(MessageError, match="1 group in the hands of readers"):
        store.delete_queue("q", purge=True)
    next(work)
    work.reject("broken")
    assert len(store.dead("q")) == 1
    store.delete_queue("q", "of no use", purge=True)
    assert store.queues() == []
    (event,) = [each for each in store.journal() if each.kind == "deleted"]
    assert (event.queue, event.detail) == ("q", "of no use")
    store.send("q", "new", id="one")
    assert store.queues()[0].max_failures == 5
    assert left(store, "q") == ["new"]


def test_a_queue_that_is_named_elsewhere_is_not_deleted(store: Store) -> None:
    store.declare(SNIPPETS / "dialogs.toml")
    store.declare(SNIPPETS / "schedules.toml")
    store.keep_clusters([FARM])
    for each in store.services():
        with pytest.raises(MessageError, match=f"service {each.service}"):
            store.delete_queue(each.queue, purge=True)
    for schedule in store.schedules():
        with pytest.raises(MessageError, match=f"schedule {schedule.name}"):
            store.delete_queue(schedule.queue, purge=True)
    store.publish("farm", "x")
    with pytest.raises(MessageError, match="destination north of cluster farm"):
        store.delete_queue("north", purge=True)


def test_so_does_asyncio(url: str) -> None:
    async def run() -> None:
        async with await AsyncStore.open(url) as store:
            await store.send("orders", "a")
            assert (await store.purge("orders")).deleted == 1
            await store.delete_queue("orders")
            assert await store.queues() == []

    asyncio.run(run())


def test_beside_senders_and_readers_each_message_is_given_or_purged_once(
    url: str, store: Store
) -> None:
    numbers = count()
    sent: list[int] = []
    given: list[int] = []
    purged: list[int] = []

    def sends(mine: Store) -> None:
        bodies = [next(numbers) for _ in range(7)]
        rows = [{"body": each, "group": [None, "a", "b"][each % 3]} for each in bodies]
        mine.send_many("orders", [row | {"delay": row["body"] % 2 / 100} for row in rows])
        sent.extend(bodies)

    def takes(mine: Store) -> None:
        if (work := mine.take("orders")) is not None:
            given.extend(int(each.body) for each in work)
            work.accept()

    def purges(mine: Store) -> None:
        purged.append(mine.purge("orders").deleted)

    def often(step: Callable[[Store], None]) -> None:
        with Store.open(url) as mine:
            for _ in range(60):
                step(mine)

    store.set_limits("orders", max_failures=5)  # the queue is there
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(often, step) for step in (sends, sends, takes, takes, purges)]:
            done.result()
    (found,) = store.queues()
    assert len(set(given)) == len(given)
    assert len(given) + sum(purged) + found.messages + found.delayed == len(sent)
    assert store.check() == []
