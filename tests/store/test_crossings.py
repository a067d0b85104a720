"""Where two features of a store meet: what a plain history seldom comes to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import Cluster, Store
from tests.stores import Clock

AB = [{"name": "a"}, {"name": "b"}]


@pytest.fixture
def store(url: str, opened: Callable[..., Store], clock: Clock) -> Store:
    return opened(url, clock=clock)


def declare(store: Store, folder: Path, settings: str) -> None:
    file = folder / "queues.toml"
    file.write_text(f"[[queue]]\nname = 'jobs'\n{settings}", "utf-8")
    store.declare(file)


def test_a_take_that_switches_its_queue_off_takes_nothing(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    declare(store, tmp_path, "max_failures = 1\npoison = 'off'\n")
    store.send("jobs", 1, group="one")
    store.send("jobs", 2, group="two")
    assert store.take("jobs", lease=5).group == "one"
    clock.now += 6  # the next take finds the lease over: the last failure that is allowed
    assert store.take("jobs") is None


def test_what_expires_is_no_longer_pending(store: Store, clock: Clock) -> None:
    store.keep_clusters([Cluster.of("fewest-pending", name="pool", destination=AB)])
    assert store.publish("pool", 1).destination == "a"
    assert store.publish("pool", 2, expires=5).destination == "b"
    clock.now += 6
    assert store.take("b") is None
    assert store.publish("pool", 3).destination == "b"


def test_who_is_removed_takes_its_groups_along(store: Store) -> None:
    options = {"affinity": "group"}
    pool = Cluster.of("round-robin", name="pool", options=options, destination=AB)
    store.keep_clusters([pool])
    assert store.next_destination("pool", group="g").destination == "a"
    store.remove_destination("pool", "a")
    store.add_destination("pool", {"name": "a"})
    assert store.next_destination("pool", group="g").destination == "b"


def taken_of(store: Store, queue: str, most: int) -> list[str]:
    """The tenants of the next groups, each taken and settled before the next."""
    found = []
    while len(found) < most and (work := store.take(queue)) is not None:
        with work:
            list(work)
        found.append(work.tenant)
    return found


def test_a_group_in_work_is_charged_once_when_a_second_tenant_comes(store: Store) -> None:
    for group in ("g1", "g2", "g3"):
        store.send("jobs", 1, group=group)
    assert store.take("jobs").group == "g1"
    for group in ("b1", "b2", "b3"):
        store.send("jobs", 1, group=group, tenant="b")
    assert taken_of(store, "jobs", 3) == ["b", "", "b"]


def test_a_take_of_a_named_group_obeys_the_limits_of_its_tenant(
    store: Store, tmp_path: Path
) -> None:
    declare(store, tmp_path, "[[queue.limit]]\nof = 'tenant'\nin_work = 1\n")
    for group, tenant in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        store.send("jobs", 1, group=group, tenant=tenant)
    assert store.take("jobs", group="a1").group == "a1"
    assert store.take("jobs", group="a2") is None
    assert store.take("jobs", group="b1").group == "b1"


def test_what_is_rerouted_expires_when_it_did(store: Store, clock: Clock) -> None:
    store.keep_clusters([Cluster.of("smartsockets", name="news", options={"subscribers": "any"})])
    for name in ("A", "B"):
        store.subscribe("news", "/s", name)
    said = {"subject": "/s", "mode": "sorted", "delivery": "all"}
    for body in ("soon", "later"):
        store.publish("news", body, said, expires=5 if body == "soon" else 20)
    store.change("news", "subscriber:A@/s", "state", "failed")
    assert store.reroute("news", "/s", "A")
    clock.now += 6
    with store.take("news:/s:B") as work:
        assert [message.body for message in work] == ["later"]


def test_what_somebody_lost_by_failing_counts_no_more_when_it_is_done(store: Store) -> None:
    store.keep_clusters([Cluster.of("fewest-pending", name="pool", destination=AB)])
    lost = store.next_destination("pool")
    assert [lost.destination, store.next_destination("pool").destination] == ["a", "b"]
    for state in ("failed", "up"):
        store.change("pool", "a", "state", state)
    assert store.next_destination("pool").destination == "a"  # it has none, and b has one
    store.completed(lost, by="a")
    assert store.next_destination("pool").destination == "b"  # both have one; a was the last
