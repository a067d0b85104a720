"""A viewer looks at whatever a store holds, from Python and from the command line."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from fairlead import AsyncStore, Store
from fairlead.cli.app import run
from fairlead.errors import StoreError
from tests.store.roles import SNIPPETS, UrlOf, store_with_roles

QUEUES: Final = (
    *("orders", "weighted", "weighted-off", "off", "raised", "fifo", "calls", "full", "late"),
    *("buried", "held", "held-of-tenants", "reports", "shop", "client", "DEV1"),
)
CLUSTERS: Final = ("Bangkok", "pending", "tickets", "news")


@dataclass(frozen=True)
class Seen:
    """A store in which there is something of everything, and what things in it are called."""

    url_of: UrlOf
    owner: Store
    dialog: str
    decision: int
    guaranteed: int


def fill(owner: Store) -> tuple[Any, Any, Any]:
    """Send, raise, take, bury, choose, … until there is something of everything."""
    owner.declare(SNIPPETS / "schedules.toml")
    owner.declare(SNIPPETS / "limits.toml")
    for queue in ("weighted", "weighted-off", "held-of-tenants"):
        owner.set_order(queue, weights={"gold": 2, "silver": 1})
    owner.set_order("fifo", "fifo")
    owner.set_limits("full", max_waiting=3)
    for queue in QUEUES:
        for group in ("kim", "lee"):
            owner.send(queue, "o", group=group, tenant="gold" if "weighted" in queue else None)
        owner.prioritise(queue, "lee", 200)
    for queue in ("weighted", "weighted-off", "held-of-tenants", "calls"):
        owner.send(queue, "o", tenant="silver", group="of silver")
        owner.send(queue, "o", tenant="free-1")
    owner.send("late", "o", delay=3600)
    owner.send("late", "o", delay=0.001)
    owner.switch("off", on=False, reason="why")
    owner.switch("weighted-off", on=False, tenant="silver")
    for _ in range(2):
        assert all(owner.take(queue) for queue in ("held", "held-of-tenants", "calls"))
    buried = owner.take("buried")
    assert buried is not None
    next(buried)
    buried.reject("why")
    begun = owner.begin_dialog("Client", "Shop")
    begun.send("Order", {"item": "lamp"})
    begun.timer(3600)
    decided = owner.publish("Bangkok", "o", id="d-1")
    for cluster in ("pending", "tickets"):
        owner.publish(cluster, "o", id="d-1")
    owner.subscribe("news", "/a", "A")
    told = owner.publish("news", "o", {"subject": "/a", "mode": "sorted", "delivery": "all"})
    owner.change("Bangkok", "DEV1", "weight", 5)
    return begun, decided, told


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    url_of = store_with_roles()
    with Store.open(url_of("owner")) as owner:
        begun, decided, told = fill(owner)
        yield Seen(url_of, owner, begun.dialog, decided.number, told.number)


@pytest.fixture
def viewer(seen: Seen) -> Iterator[Store]:
    with Store.open(seen.url_of("viewer")) as store:
        yield store


@pytest.mark.parametrize("queue", QUEUES)
def test_a_viewer_looks_at_a_queue_whatever_it_is_like(queue: str, viewer: Store) -> None:
    viewer.check_queue(queue)
    assert viewer.waiting(queue).waiting >= 0
    viewer.peek(queue)
    viewer.peek(queue, groups=5)
    viewer.promotion(queue, "kim", 250)
    viewer.later(queue)
    viewer.dead(queue)
    viewer.held(queue)
    viewer.working(queue)
    viewer.off(queue)
    viewer.off(queue, "silver")
    viewer.off_tenants(queue)
    viewer.limits(queue)
    viewer.retry(queue)
    viewer.max_seconds(queue)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_viewer_looks_at_a_cluster_whatever_it_is_like(cluster: str, viewer: Store) -> None:
    assert cluster in viewer.clusters()
    assert viewer.pool(cluster).name == cluster


def test_a_viewer_looks_at_what_was_decided(seen: Seen, viewer: Store) -> None:
    assert viewer.decision(seen.decision).explain()
    assert viewer.decision_about("Bangkok", "d-1").explain()
    assert viewer.decision_about("tickets", "d-1").explain()
    assert list(viewer.deliveries([seen.guaranteed])) == [seen.guaranteed]


def commands(seen: Seen) -> list[list[str]]:
    """All that only look."""
    of_queues = [[verb, queue] for verb in ("waiting", "peek", "dead", "held") for queue in QUEUES]
    return [
        *of_queues,
        *[[*each, "--json"] for each in of_queues],
        *(["queues"], ["queues", "--json"], ["queues", "--by", "tenant"], ["held"]),
        *(["metrics"], ["top", "--once", "--interval", "0.1"], ["services"]),
        *(["machines", "list"], ["machines", "list", "--json"], ["machines", "list", "tickets"]),
        *(["journal"], ["journal", "--last", "3"], ["journal", "--queue", "weighted"]),
        ["journal", "--queue", "orders", "--messages"],
        *(
            ["journal", "--cluster", "Bangkok", how]
            for how in ("--decisions", "--changes", "--file")
        ),
        *(["schedules"], ["schedules", "nightly"], ["schedules", "--json"]),
        *(
            ["conversations"],
            ["conversation", seen.dialog],
            ["conversation", seen.dialog, "--json"],
        ),
        ["promote", "weighted", "kim", "--priority", "250", "--dry-run"],
        *(["store", "check"], ["store", "retention"]),
        ["explain", "Bangkok", "--store", seen.url_of("viewer"), "--id", "d-1"],
    ]


def test_every_command_that_looks_is_for_viewers(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAIRLEAD_STORE", seen.url_of("viewer"))
    refused = {}
    for command in commands(seen):
        status = run(command)
        told = capsys.readouterr()
        if status != 0:
            refused[" ".join(command)] = told.err
    assert refused == {}


def test_a_viewer_who_has_looked_has_changed_nothing(seen: Seen, viewer: Store) -> None:
    before = seen.owner.latest()
    for queue in QUEUES:
        viewer.waiting(queue)
        viewer.peek(queue)
    viewer.held()
    viewer.check()
    assert seen.owner.latest() == before


def test_so_it_is_with_asyncio(seen: Seen) -> None:
    async def run_() -> None:
        async with await AsyncStore.open(seen.url_of("viewer")) as looks:
            for queue in QUEUES:
                await looks.waiting(queue)
                await looks.peek(queue)
            assert set(CLUSTERS) <= {*await looks.clusters()}
            with pytest.raises(StoreError, match="it takes the role fairlead_operator, which"):
                await looks.pause_schedule("nightly")
        async with await AsyncStore.open(seen.url_of("worker")) as works:
            assert await works.switch("late", on=False)
            assert await works.switch("late", on=True)

    asyncio.run(run_())


@pytest.mark.parametrize("queue", ["switched", "switched-of-tenants"])
def test_a_worker_switches_a_queue_and_a_tenant_off_and_on(queue: str, seen: Seen) -> None:
    owner = seen.owner
    with Store.open(seen.url_of("worker")) as worker:
        if "tenants" in queue:
            owner.set_order(queue, weights={"gold": 2})
        owner.send(queue, "o", group="kim", tenant="gold" if "tenants" in queue else None)
        work = owner.take(queue)
        assert work is not None
        work.release(error="why")
        assert worker.switch(queue, on=False)
        assert worker.switch(queue, on=True)
        (now,) = [each for each in owner.queues() if each.queue == queue]
        assert (now.enabled, now.failures) == (True, 0), "failures are counted anew"
        if "tenants" in queue:
            assert worker.switch(queue, on=False, tenant="gold")
            assert worker.switch(queue, on=True, tenant="gold")
