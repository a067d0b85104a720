"""Readers that wait are woken: by other threads, other processes, and by what becomes due."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any, Self

import psycopg
import pytest

from fairlead.store.database.postgresql import PostgreSQL
from fairlead.store.database.sqlite import SQLite
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


@pytest.mark.costly
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


class Statements:
    """Counts what is asked of databases."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        for name in ("run", "many", "execute", "begin", "commit"):
            for port in (PostgreSQL, SQLite):
                monkeypatch.setattr(port, name, self._counted(getattr(port, name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **more: Any) -> Any:
            self.count += 1
            return call(*arguments, **more)

        return counted


class Crowd:
    """Readers of one queue that wait together, and note what they were given."""

    def __init__(self, stores: list[Store], threads: int) -> None:
        self.given: SimpleQueue[object] = SimpleQueue()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=[store])
            for store in stores
            for _ in range(threads)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self, store: Store) -> None:
        while not self._stop.is_set():
            work = store.take("q", wait=0.5)
            if work is not None:
                bodies = [message.body for message in work]
                work.accept()
                for body in bodies:
                    self.given.put(body)


@pytest.mark.costly
@pytest.mark.parametrize(("stores", "threads"), [(8, 1), (1, 8)])
def test_one_of_eight_readers_is_woken_for_a_message_of_a_hot_group(
    url: str, stores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 40 if url.startswith("postgresql") else 100
    with ExitStack() as stack:
        readers = [stack.enter_context(Store.open(url)) for _ in range(stores)]
        sender = stack.enter_context(Store.open(url))
        sender.send("q", "first", group="hot")
        crowd = stack.enter_context(Crowd(readers, threads))
        assert crowd.given.get(timeout=WAIT) == "first"
        time.sleep(1)  # so that all wait by now
        counted = Statements(monkeypatch)
        for number in range(100):
            sender.send("q", number, group="hot")
            assert crowd.given.get(timeout=WAIT) == number
        assert counted.count / 100 < most


@pytest.mark.costly
@pytest.mark.parametrize(("stores", "threads"), [(4, 1), (1, 4)])
def test_all_readers_share_what_came_at_once(url: str, stores: int, threads: int) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(Store.open(url)) for _ in range(stores)]
        crowd = stack.enter_context(Crowd(readers, threads))
        time.sleep(0.3)
        readers[0].send_many("q", [{"body": n, "group": f"g{n}"} for n in range(200)])
        assert {crowd.given.get(timeout=WAIT) for _ in range(200)} == set(range(200))


def test_readers_of_several_queues_of_one_store_are_each_woken(store: Store) -> None:
    for queue in "abc":
        store.send(queue, "first")
    got: SimpleQueue[object] = SimpleQueue()

    def read(queue: str) -> None:
        for _ in range(6):
            work = store.take(queue, wait=WAIT)
            assert work is not None
            got.put([message.body for message in work])
            work.accept()

    threads = [threading.Thread(target=read, args=[queue]) for queue in "abc"]
    for thread in threads:
        thread.start()
    for _ in range(3):
        assert got.get(timeout=WAIT) == ["first"]
    for number in range(5):
        for queue in "cab":
            store.send(queue, f"{queue}{number}")
            assert got.get(timeout=WAIT) == [f"{queue}{number}"]
    for thread in threads:
        thread.join(WAIT)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_process_that_was_woken_and_is_gone_keeps_the_others_for_a_moment_only(
    url: str, store: Store
) -> None:
    store.send("q", "first")
    assert store.take("q", wait=1) is not None
    with psycopg.connect(url) as owner:  # processes that were killed while they waited
        owner.execute("INSERT INTO fairlead.listeners SELECT 1, n FROM generate_series(900, 950) n")
    with Crowd([store], 2) as crowd:
        for number in range(20):
            store.send("q", number)
            assert crowd.given.get(timeout=WAIT) == number


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_nobody_is_woken_for_a_group_that_somebody_holds(url: str, store: Store) -> None:
    """Its holder finds the message, or what is left is somebody's when it is settled."""
    store.send("q", 1, group="kim")
    assert store.take("q", wait=0.1) is not None
    assert store.take("q", wait=0.1) is None  # from now on this store hears of what arrives
    store.send("q", 2, group="lee")
    work = store.take("q")
    assert work is not None
    with psycopg.connect(url) as asked:
        ((queue,),) = asked.execute("SELECT id FROM fairlead.queues").fetchall()
    with psycopg.connect(url, autocommit=True) as listener:
        listener.execute(f"LISTEN fairlead_{queue}".encode())
        for number in range(5):
            store.send("q", number, group="lee")
        assert list(listener.notifies(timeout=0.3)) == []
        store.send("q", 3)
        assert len(list(listener.notifies(timeout=5, stop_after=1))) == 1
        next(work)
        work.accept()  # five more are there
        assert len(list(listener.notifies(timeout=5, stop_after=1))) == 1


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_message_that_came_while_its_group_was_settled_is_read(url: str) -> None:
    """Senders and readers of one group, each in the other's way, and nobody looks by himself."""
    with ExitStack() as stack:
        readers = [stack.enter_context(Store.open(url)) for _ in range(2)]
        senders = [stack.enter_context(Store.open(url)) for _ in range(2)]
        crowd = stack.enter_context(Crowd(readers, 1))

        def send(store: Store, first: int) -> None:
            for number in range(first, first + 150):
                store.send("q", number, group="hot")

        threads = [
            threading.Thread(target=send, args=[store, 1000 * k]) for k, store in enumerate(senders)
        ]
        for thread in threads:
            thread.start()
        found = {crowd.given.get(timeout=WAIT) for _ in range(300)}
        for thread in threads:
            thread.join()
    assert found == {*range(150), *range(1000, 1150)}


@pytest.mark.parametrize("said", ["x", "-1", "9" * 7000], ids=["text", "number", "long"])
def test_what_a_stranger_notifies_deafens_nobody(said: str) -> None:
    url = made_url("postgresql")
    got: list[object] = []
    with Store.open(url) as store, psycopg.connect(url, autocommit=True) as stranger:
        store.send("q", 0)
        work = store.take("q")
        assert work is not None
        assert [message.body for message in work] == [0]
        work.accept()

        def take() -> None:
            for _ in range(2):
                found = store.take("q", wait=WAIT)
                assert found is not None
                got.extend(message.body for message in found)
                found.accept()

        reading = threading.Thread(target=take)
        reading.start()
        (number,) = stranger.execute("SELECT id FROM fairlead.queues").fetchone() or ()
        for body in (1, 2):
            time.sleep(0.2)  # so that it waits by now; whether it does makes no difference
            stranger.execute("SELECT pg_notify(%s, %s)", (f"fairlead_{number}", said))
            time.sleep(0.1)
            store.send("q", body)
        reading.join(WAIT)
    assert got == [1, 2]
