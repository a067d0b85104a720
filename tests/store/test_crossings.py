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
