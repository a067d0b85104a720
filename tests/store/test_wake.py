"""Readers that wait are woken: by other threads, other processes, and by what becomes due."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from fairlead.store.store import Store
from tests.stores import made_url

WAIT = 60
"""Seconds; a reader that is not woken would fail the test by waiting so long."""
READER = """
import sys
from fairlead import Store
with Store.open(sys.argv[1]) as store:
    print("ready", flush=True)
    for _ in range(int(sys.argv[2])):
        work = store.take("q", wait=60)
        print([message.body for message in work] if work else None, flush=True)
        work.accept()
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as store:
        yield store


def reader(url: str, times: int) -> "subprocess.Popen[str]":
    started = subprocess.Popen(
        [sys.executable, "-c", READER, url, str(times)], stdout=subprocess.PIPE, text=True
    )
    assert line(started) == "ready"
    return started


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_reader_in_another_process_is_woken_by_each_send(url: str, store: Store) -> None:
    with reader(url, 3) as other:
        for number in range(3):
            time.sleep(0.2)  # so that it waits by now; whether it does makes no difference
            store.send("q", number)
            assert line(other) == f"[{number}]"


def test_threads_of_one_store_wait_together_and_each_is_served(store: Store) -> None:
    got: list[object] = []

    def take() -> None:
        work = store.take("q", wait=WAIT)
        assert work is not None
        got.extend(message.body for message in work)
        work.accept()

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(3):
        time.sleep(0.1)
        store.send("q", number)
    for thread in threads:
        thread.join(WAIT)
    assert sorted(map(str, got)) == ["0", "1", "2"]


def test_what_becomes_due_wakes_a_reader(store: Store) -> None:
    store.send("q", "later", delay=0.3)
    work = store.take("q", wait=WAIT)
    assert work is not None
    assert [message.body for message in work] == ["later"]
    work.release(delay=0.3)
    again = store.take("q", wait=WAIT)
    assert again is not None
    assert again.attempt == 2


def test_a_release_wakes_another_reader(url: str, store: Store) -> None:
    store.send("q", 1)
    work = store.take("q")
    assert work is not None
    with reader(url, 1) as other:
        time.sleep(0.2)
        work.release()
        assert line(other) == "[1]"


def test_nothing_comes_and_the_reader_leaves(store: Store) -> None:
    assert store.take("q", wait=0.2) is None
    store.send("q", 1)
    assert store.take("q") is not None
    assert store.take("q", wait=0.2) is None
