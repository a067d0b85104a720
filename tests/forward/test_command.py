"""`fairlead forward`: it is killed, told to stop, and its database goes away."""

import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from fairlead import Store
from tests.forward.forwarding import forwarding
from tests.forward.running import COMMAND, Running
from tests.forward.services import Reply, Service, until
from tests.forward.test_http import farm, is_empty


@pytest.mark.costly
def test_killed_at_any_moment_it_loses_nothing_and_says_the_same_keys(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(seconds=0.005)
    path = farm(tmp_path, service.url, "readers = 8")
    store.load_clusters(path)
    ids = [f"o-{number}" for number in range(300)]
    for number, key in enumerate(ids):
        store.publish("farm", f"{number % 20}:{number}", group=f"g{number % 20}", id=key)
    drawn = random.Random(7)  # noqa: S311 - no secret
    for _ in range(3):
        with Running(url, path, "--lease", "2") as running:
            time.sleep(drawn.uniform(0.1, 0.4))
            running.end(signal.SIGKILL)
    with Running(url, path, "--lease", "2") as running:
        until(lambda: is_empty(store), 60)
        assert running.end() == 0
    assert set(service.keys()) == set(ids)
    first: dict[str, list[int]] = {}
    for body in dict.fromkeys(service.bodies()):
        group, _, number = body.partition(":")
        first.setdefault(group, []).append(int(number))
    assert all(numbers == sorted(numbers) for numbers in first.values())
    assert max(Counter(service.keys()).values()) <= 4


@pytest.mark.costly
def test_two_that_forward_the_same_send_each_message_once(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(seconds=0.005)
    path = farm(tmp_path, service.url, "readers = 4")
    store.load_clusters(path)
    ids = [f"o-{number}" for number in range(120)]
    for number, key in enumerate(ids):
        store.publish("farm", f"{number % 9}:{number}", group=f"g{number % 9}", id=key)
    with Running(url, path) as one, Running(url, path) as other:
        until(lambda: is_empty(store), 60)
        assert (one.end(), other.end()) == (0, 0)
    assert sorted(service.keys()) == sorted(ids)
    for group in range(9):
        own = [int(body.split(":")[1]) for body in service.bodies() if body.startswith(f"{group}:")]
        assert own == sorted(own)


@pytest.mark.costly
def test_told_to_stop_it_ends_what_is_under_way_and_gives_back_the_rest(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(seconds=0.5)
    path = farm(tmp_path, service.url, "readers = 2")
    store.load_clusters(path)
    for number in range(10):
        store.publish("farm", str(number), id=str(number))
    with Running(url, path) as running:
        assert running.said == "forwarding: 1 destinations\n"
        until(lambda: len(service.asked) == 2)
        assert running.end() == 0
    assert len(service.asked) == 2
    assert [queue.messages for queue in store.queues()] == [8]
    assert [event.kind for event in store.journal(queue="A")].count("accepted") == 2
    assert all(work.attempt == 1 or not work for work in store.working("A"))
    assert not store.working("A")
    assert store.queues()[0].failures == 0


@pytest.mark.costly
def test_what_does_not_end_in_time_goes_back_without_blame(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(seconds=20)
    path = farm(tmp_path, service.url)
    store.load_clusters(path)
    store.publish("farm", "x", id="o-1")
    with Running(url, path, "--grace", "0.2") as running:
        until(lambda: len(service.asked) == 1)
        began = time.monotonic()
        assert running.end() == 0
        assert time.monotonic() - began < 10
    assert store.queues()[0].failures == 0
    work = store.take("A")
    assert work is not None
    assert work.attempt == 2


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_a_database_that_cuts_connections_is_waited_for(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    import psycopg

    service.says = lambda asked: Reply(seconds=0.02)
    path = farm(tmp_path, service.url, "readers = 4")
    store.load_clusters(path)
    ids = [f"o-{number}" for number in range(200)]
    for key in ids:
        store.publish("farm", key, id=key)
    with Running(url, path) as running, psycopg.connect(url, autocommit=True) as other:
        for _ in range(5):
            time.sleep(0.2)
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        store.close()
        with Store.open(url) as again:
            until(lambda: is_empty(again), 60)
        assert running.end() == 0
    assert set(service.keys()) == set(ids)


def test_a_file_without_such_a_destination_is_one_line_and_status_2(tmp_path: Path) -> None:
    path = farm(tmp_path, "machine-1")
    found = subprocess.run(
        [*COMMAND, "forward", "--store", f"sqlite:///{tmp_path}/x.db", "-c", str(path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 2
    assert found.stderr.startswith(f"fairlead: {path}: found no destination outside")
    assert found.stderr.count("\n") == 1
    assert not (tmp_path / "x.db").exists()


@pytest.mark.costly
def test_it_can_leave_when_there_is_nothing_to_take(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(503 if asked.body == b"7" else 200, seconds=0.05)
    path = farm(tmp_path, service.url, "readers = 4")
    store.load_clusters(path)
    for number in range(20):
        store.publish("farm", str(number), id=str(number))
    with Running(url, path, "--until-empty") as running:
        assert running.process.wait(20) == 0
    assert set(service.bodies()) == set(map(str, range(20)))
    assert [queue.messages for queue in store.queues()] == [1]
    assert not store.working("A")


@pytest.mark.slow
def test_readers_addresses_and_destinations_change_while_it_runs(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    path = farm(tmp_path, f"{service.url}/a")
    with forwarding(url, path):
        store.publish("farm", "1")
        until(lambda: len(service.asked) == 1)
        store.change("farm", "A", "address", f"{service.url}/b")
        store.add_destination("farm", {"name": "B", "address": f"{service.url}/c"})
        until(lambda: _came(store, service, {"/b", "/c"}))
        store.change("farm", "A", "state", "down")
        time.sleep(1.5)
        store.send("A", "waits")
        time.sleep(0.5)
        assert "waits" not in service.bodies()
        store.change("farm", "A", "state", "up")
        until(lambda: "waits" in service.bodies())
        store.remove_destination("farm", "B")
        time.sleep(1.5)
        store.send("B", "stays")
        time.sleep(0.3)
        assert "stays" not in service.bodies()


def _came(store: Store, service: Service, paths: set[str]) -> bool:
    store.publish("farm", "x")
    time.sleep(0.05)
    return paths <= {asked.path for asked in service.asked}
