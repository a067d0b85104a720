"""Passive health of a store's clusters: who fails too often is down, by a change."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Balancer, Change, Cluster, Store
from fairlead.errors import ChangeError, MessageError, NoDestinationError
from fairlead.store.workers.handlers import function
from fairlead.store.workers.handling import Handling
from fairlead.store.workers.worker import Worker
from tests.stores import Clock


def cluster(*names: str, **health: Any) -> Cluster:
    return Cluster.of(
        "round-robin",
        name="farm",
        destination=[{"name": name} for name in names],
        health={"cool_down": 10, **health},
    )


def states(store: Store) -> dict[str, str]:
    return {machine.name: machine.attributes["state"] for machine in store.pool("farm").machines}


def changes(store: Store) -> list[tuple[str, str, str]]:
    found = []
    for event in store.journal(cluster="farm", kind="changed"):
        detail = json.loads(event.detail or "")
        found.append((event.destination or "", detail["value"], detail["reason"]))
    return found


@pytest.fixture
def store(url: str, opened: Callable[..., Store], clock: Clock) -> Store:
    return opened(url, clock=clock)


def test_it_goes_down_is_tried_longer_and_longer_and_comes_back(store: Store, clock: Clock) -> None:
    store.keep_clusters([cluster("a", "b", factor=3, limit=50)])
    assert store.report_health("farm", "a", "failing", "3 in a row") is not None
    assert states(store) == {"a": "down", "b": "up"}
    assert {store.next_destination("farm").destination for _ in range(4)} == {"b"}
    assert store.report_health("farm", "a", "failed", "early") is None
    assert store.report_health("farm", "a", "well") is None
    waits = []
    for _ in range(3):
        ((_, seconds, cool_down, on_trial),) = store.unwell("farm")
        assert (seconds, on_trial) == (cool_down, False)
        waits.append(cool_down)
        clock.now += cool_down
        assert store.unwell("farm")[0].seconds == 0
        assert store.report_health("farm", "a", "failed", "still") is not None
    assert waits == [10, 30, 50]
    clock.now += 50
    assert store.report_health("farm", "a", "well", "it is well") is not None
    assert states(store) == {"a": "up", "b": "up"}
    assert store.unwell("farm") == []
    assert changes(store) == [("a", "down", "3 in a row"), ("a", "up", "it is well")]


def test_with_nothing_to_try_it_with_it_is_up_on_trial(store: Store, clock: Clock) -> None:
    store.keep_clusters([cluster("a", "b")])
    store.report_health("farm", "a", "failing", "x")
    assert store.report_health("farm", "a", "untried") is None
    clock.now += 10
    assert store.report_health("farm", "a", "untried") is not None
    assert states(store)["a"] == "up"
    assert store.unwell("farm") == [("a", 0, 10, True)]
    assert store.report_health("farm", "a", "failed", "again") is not None
    assert states(store)["a"] == "down"
    assert store.unwell("farm") == [("a", 20, 20, False)]
    clock.now += 20
    store.report_health("farm", "a", "untried")
    assert store.report_health("farm", "a", "well") is not None
    assert store.unwell("farm") == []
    assert states(store)["a"] == "up"


def test_no_more_than_the_share_are_down_at_one_time(store: Store) -> None:
    store.keep_clusters([cluster("a", "b", "c", at_most=0.67)])
    downs = [store.report_health("farm", name, "failing", "x") is not None for name in "abc"]
    assert downs == [True, True, False]
    store.change("farm", "b", "present", False)
    assert store.report_health("farm", "c", "failing", "x") is None


def test_who_says_otherwise_is_heard(store: Store, clock: Clock) -> None:
    store.keep_clusters([cluster("a", "b", at_most=1)])
    store.report_health("farm", "a", "failing", "x")
    store.change("farm", "a", "state", "up")
    assert store.unwell("farm") == []
    clock.now += 60
    assert store.report_health("farm", "a", "failed", "x") is None
    store.change("farm", "b", "state", "down")
    assert store.report_health("farm", "b", "failing", "x") is None
    clock.now += 60
    assert store.report_health("farm", "b", "untried", "x") is None
    assert states(store) == {"a": "up", "b": "down"}


def test_slow_start_and_the_delay_to_come_back_hold(
    url: str, opened: Callable[..., Store], clock: Clock
) -> None:
    store = opened(url, clock=clock)
    farm = Cluster.of(
        "weighted",
        name="farm",
        destination=[{"name": "a"}, {"name": "b"}],
        options={"failback_delay": 5},
        health={"cool_down": 10},
    )
    store.keep_clusters([farm])
    store.report_health("farm", "a", "failing", "x")
    clock.now += 10
    store.report_health("farm", "a", "untried")
    assert store.unwell("farm")[0].on_trial
    assert store.next_destination("farm").destination == "b"
    clock.now += 5
    assert "a" in {store.next_destination("farm").destination for _ in range(3)}
    assert store.report_health("farm", "a", "well") is not None


def test_the_journal_decides_again_what_was_decided(store: Store, clock: Clock) -> None:
    farm = cluster("a", "b", "c")
    store.keep_clusters([farm])
    decided = [store.next_destination("farm").destination for _ in range(4)]
    clock.now += 1
    store.report_health("farm", "b", "failing", "x")
    decided += [store.next_destination("farm").destination for _ in range(4)]
    balancer = Balancer(farm)
    again = [balancer.choose().destination for _ in range(4)]
    balancer.apply(Change("b", "state", "down"))
    again += [balancer.choose().destination for _ in range(4)]
    assert decided == again


def test_what_cannot_be_said_is_refused(store: Store) -> None:
    store.keep_clusters(
        [cluster("a"), Cluster.of("round-robin", name="no", destination=[{"name": "a"}])]
    )
    with pytest.raises(ChangeError, match="cluster 'no': found no \\[health\\] in its file"):
        store.report_health("no", "a", "failing")
    with pytest.raises(ChangeError, match="found the destination 'x', allowed: a"):
        store.report_health("farm", "x", "failing")
    with pytest.raises(MessageError, match="what: found 'bad', allowed: failing, failed, well"):
        store.report_health("farm", "a", "bad")  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="cluster: found 'nope'"):
        store.unwell("nope")


@pytest.mark.parametrize("policy", ["round-robin", "hot-standby", "fewest-pending", "rendezvous"])
def test_what_was_taken_goes_elsewhere_where_its_destination_is_down(
    store: Store, policy: str
) -> None:
    names = [{"name": "a", "queue": "of-a"}, {"name": "b"}, {"name": "c"}]
    store.keep_clusters([Cluster.of(policy, name="farm", destination=names)])
    sent = {f"o-{n}": store.publish("farm", n, id=f"o-{n}", group="g") for n in range(6)}
    of_a = [key for key, decision in sent.items() if decision.destination == "a"]
    if not of_a:  # the group's key leads elsewhere
        return
    work = store.take("of-a")
    assert work is not None
    assert [message.id for message in work] == of_a
    for name in "bc":
        store.change("farm", name, "state", "down")
    with pytest.raises(MessageError, match="the policy chooses 'a' again, allowed: where that is"):
        store.send_elsewhere("farm", work)
    store.change("farm", "a", "state", "down")
    with pytest.raises(NoDestinationError):
        store.send_elsewhere("farm", work)
    for name in "bc":
        store.change("farm", name, "state", "up")
    to = store.send_elsewhere("farm", work)
    assert len(to) == len(of_a)
    assert "a" not in to
    assert store.take("of-a") is None
    moved = {}
    for name in "bc":
        while found := store.take(name):
            with found:
                moved |= {message.id: (name, message.redelivered) for message in found}
    assert {key: moved[key] for key in of_a} == {
        key: (name, True) for key, name in zip(of_a, to, strict=True)
    }
    dropped = list(store.journal(queue="of-a", kind="dropped"))
    assert [event.id for event in dropped] == of_a
    assert (dropped[0].detail or "").startswith("elsewhere: it goes to ")
    for key in of_a:
        assert store.decision_about("farm", key).destination == to[of_a.index(key)]
    with pytest.raises(MessageError, match="settled already"):
        store.send_elsewhere("farm", work)


def test_what_is_pending_is_counted_where_it_is(store: Store) -> None:
    store.keep_clusters(
        [Cluster.of("fewest-pending", name="farm", destination=[{"name": "a"}, {"name": "b"}])]
    )
    assert [store.publish("farm", n).destination for n in range(4)].count("a") == 2
    store.change("farm", "a", "state", "down")
    while work := store.take("a"):
        list(work)
        store.send_elsewhere("farm", work)
    store.change("farm", "a", "state", "up")
    assert [store.next_destination("farm").destination for _ in range(4)] == ["a"] * 4


def test_work_of_another_queue_and_of_nothing_given_is_refused(store: Store) -> None:
    store.keep_clusters([cluster("a", "b")])
    store.send("x", "1")
    work = store.take("x")
    assert work is not None
    with pytest.raises(MessageError, match="found nothing of it given"):
        store.send_elsewhere("farm", work)
    list(work)
    with pytest.raises(MessageError, match="found work of the queue 'x', allowed: of a queue of"):
        store.send_elsewhere("farm", work)
    work.accept()


@pytest.mark.costly
def test_a_workers_failures_put_its_destination_down_and_up(
    url: str, opened: Callable[..., Store]
) -> None:
    store = opened(url)
    store.keep_clusters([cluster("a", "b", cool_down=1.2)])
    broken = threading.Event()
    broken.set()

    def work(message: Any) -> None:
        if broken.is_set():
            raise RuntimeError("no disk")

    worker = Worker(opened(url), {"a": function("a", work)}, Handling(retry_delay=0.05))
    worker.start(1)
    try:
        _until(lambda: worker._health._lookout.clusters == ["farm"])
        for _ in range(8):
            store.publish("farm", "x")
        _until(lambda: states(store)["a"] == "down")
        broken.clear()
        _until(lambda: states(store)["a"] == "up")
        while store.unwell("farm"):  # it is on trial, if nothing waited to try it with
            store.publish("farm", "x")
            time.sleep(0.05)
    finally:
        worker.stop()
    (_, down, why), (_, up, _) = changes(store)
    assert (down, up) == ("down", "up")
    assert why.startswith("3 failures in a row within ")
    assert why.endswith("the last: RuntimeError: no disk")


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
