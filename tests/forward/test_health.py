"""A service that fails is left alone until it is well, and others get what comes meanwhile."""

import json
import time
from pathlib import Path

import pytest

from fairlead import Store
from tests.forward.forwarding import forwarding, written
from tests.forward.services import Reply, Service, serving, until

QUICK = ["[queue.retry]", "base = 0.02", "factor = 1"]


def two(folder: Path, one: Service, other: Service, *health: str) -> Path:
    return written(
        folder / "farm.toml",
        [
            *('policy = "round-robin"', "[[destination]]", 'name = "A"', "readers = 2"),
            *(f'address = "{one.url}/in"', "[[destination]]", 'name = "B"'),
            *(f'address = "{other.url}/in"', "[forward]", "timeout = 2", "[health]", *health),
        ],
    )


def state(store: Store, name: str) -> str:
    return {machine.name: machine.attributes["state"] for machine in store.pool("farm").machines}[
        name
    ]


@pytest.fixture
def patient(store: Store, tmp_path: Path) -> Store:
    """Its queues try again soon, and for ever."""
    lines = []
    for name in ("A", "B"):
        lines += ["[[queue]]", f'name = "{name}"', "max_failures = 0", *QUICK]
    store.declare(written(tmp_path / "queues.toml", lines))
    return store


def changes(store: Store) -> list[tuple[str, str]]:
    details = [json.loads(event.detail or "") for event in store.journal(kind="changed")]
    return [(detail["value"], detail["reason"]) for detail in details]


@pytest.mark.costly
def test_it_is_left_alone_tried_with_one_message_and_gets_all_again(
    url: str, patient: Store, service: Service, tmp_path: Path
) -> None:
    bad = [True]
    service.says = lambda asked: Reply(503 if bad else 204)
    with serving(Service()) as other:
        path = two(tmp_path, service, other, "failures = 3", "cool_down = 1.5", "factor = 1")
        with forwarding(url, path):
            for number in range(6):
                patient.publish("farm", str(number))
            until(lambda: state(patient, "A") == "down")
            assert {patient.publish("farm", "x").destination for _ in range(4)} == {"B"}
            time.sleep(0.3)  # what was under way has failed, and who forwards has heard of it
            at_first = len(service.asked)
            time.sleep(0.4)
            assert len(service.asked) == at_first
            before = len(service.asked)
            until(lambda: len(service.asked) == before + 1)
            time.sleep(0.3)
            assert len(service.asked) == before + 1
            bad.clear()
            until(lambda: state(patient, "A") == "up")
            until(lambda: {"0", "2", "4"} <= set(service.bodies()))
            until(lambda: not any(queue.messages for queue in patient.queues()))
    (down, why), (up, then) = changes(patient)
    assert (down, up) == ("down", "up")
    assert why.startswith("3 failures in a row within ")
    assert why.endswith("the last: 503")
    assert then == "it was tried, and is well"


@pytest.mark.slow
def test_a_path_tries_it_and_no_message_does(
    url: str, patient: Store, service: Service, tmp_path: Path
) -> None:
    bad = [True]
    service.says = lambda asked: Reply(500 if bad else 200)
    with serving(Service()) as other:
        path = two(tmp_path, service, other, "cool_down = 0.5", "factor = 1", 'probe = "/well"')
        with forwarding(url, path):
            for number in range(8):
                patient.publish("farm", str(number))
            until(lambda: state(patient, "A") == "down")
            until(lambda: sum(asked.method == "GET" for asked in service.asked) >= 2)
            posts = service.bodies()
            until(lambda: sum(asked.method == "GET" for asked in service.asked) >= 3)
            assert service.bodies() == posts
            bad.clear()
            until(lambda: state(patient, "A") == "up")
    assert {asked.path for asked in service.asked} == {"/in", "/well"}


@pytest.mark.slow
def test_where_nothing_waits_it_is_on_trial_with_one_at_a_time(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    store.declare(
        written(tmp_path / "queues.toml", ["[[queue]]", 'name = "A"', "max_failures = 1"])
    )
    service.says = lambda asked: Reply(500)
    with serving(Service()) as other:
        path = two(tmp_path, service, other, "failures = 1", "cool_down = 0.5", "factor = 2")
        with forwarding(url, path):
            store.publish("farm", "x")
            until(lambda: len(changes(store)) >= 2)
            assert [value for value, _ in changes(store)] == ["down", "up"]
            assert store.unwell("farm")[0].on_trial
            service.says = lambda asked: Reply(204)
            store.publish("farm", "y")
            store.publish("farm", "y")
            until(lambda: store.unwell("farm") == [])


def test_never_more_than_the_share_are_down(
    url: str, patient: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(503)
    path = two(tmp_path, service, service, "failures = 1", "cool_down = 60")
    with forwarding(url, path):
        for number in range(6):
            patient.publish("farm", str(number))
        until(lambda: len(service.asked) > 12)
    assert sorted([state(patient, "A"), state(patient, "B")]) == ["down", "up"]


@pytest.mark.slow
def test_one_that_is_down_stays_so_for_who_forwards_after_it_was_killed(
    url: str, patient: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(503)
    with serving(Service()) as other:
        path = two(tmp_path, service, other, "failures = 2", "cool_down = 3")
        with forwarding(url, path):
            for number in range(4):
                patient.publish("farm", str(number))
            until(lambda: state(patient, "A") == "down")
        before = len(service.asked)
        service.says = lambda asked: Reply(204)
        with forwarding(url, path):
            time.sleep(0.5)
            assert len(service.asked) == before
            until(lambda: state(patient, "A") == "up")
            until(lambda: not any(queue.messages for queue in patient.queues()))
