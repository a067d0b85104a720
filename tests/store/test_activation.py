"""Readers that come when there is work and leave when there is none, in threads and processes."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead import Message, Store
from fairlead.store.workers.activation import Activated, Activation, Readers, wanted
from fairlead.store.workers.handlers import Handler
from fairlead.store.workers.handling import Handling
from tests.cli.commands import SECONDS, Command, children, runs
from tests.store.test_worker import both, empty, kinds, needs_proc, stop, store_url, until
from tests.stores import made_url, server

DECLARED = """
[[queue]]
name = "shop"
max_failures = 2

[[message_type]]
name = "Order"

[[message_type]]
name = "Confirmation"

[[contract]]
name = "Orders"
initiator = ["Order"]
target = ["Confirmation"]

[[service]]
name = "Orders/Client"
queue = "client"

[[service]]
name = "Orders/Shop"
queue = "shop"
contracts = ["Orders"]
max_readers = 5
handler = "shop:shop"
"""
SHOP = """
import os, time
from pathlib import Path
from fairlead import Service

shop = Service("Orders/Shop", idle_timeout=0.5)

@shop.on("Order")
def order(message, tx):
    tx.conversation(message.conversation).send("Confirmation", message.body)
    Path(f"begun-{message.body}-{os.getpid()}").touch()
    while message.body.startswith("slow") and not Path("go").exists():
        time.sleep(0.01)
    if message.body == "deadly":
        os._exit(3)
"""
MODES = pytest.mark.parametrize("mode", ["--threads", "--processes"])
NEVER = 10_000.0
"""An interval or a timeout that is not over before a test is."""


@pytest.mark.parametrize(
    ("ready", "waiting", "running", "maximum", "one_more"),
    [
        (True, 0, 0, 1, True),
        (True, 0, 1, 2, True),
        (True, 0, 1, 1, False),
        (True, 0, 10, 10, False),
        (True, 1, 1, 2, False),
        (True, 1, 5, 10, False),
        (False, 0, 0, 1, False),
        (False, 0, 1, 2, False),
        (False, 1, 1, 2, False),
    ],
)
def test_one_more_is_wanted_when_groups_wait_and_no_reader_does(
    ready: bool, waiting: int, running: int, maximum: int, one_more: bool
) -> None:
    assert wanted(ready, waiting, running, maximum) is one_more


class Desk:
    """A function whose messages are in hand until they may go on."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.done: list[Any] = []
        self.by: set[int] = set()
        self.go = threading.Semaphore(0)

    def __call__(self, message: Message, *_: object) -> None:
        self.by.add(threading.get_ident())
        self.begun.append(message.body)
        assert self.go.acquire(timeout=SECONDS)
        self.done.append(message.body)


@contextmanager
def activated(
    store: Store,
    call: Callable[..., object],
    *,
    maximum: int = 1,
    interval: float = NEVER,
    idle_timeout: float = 0.1,
    in_transaction: bool = False,
    until_empty: bool = False,
    lease: float = 60,
) -> Iterator[Activation]:
    """A queue whose readers are threads of this process."""
    readers = Readers(store, Handling(lease, retry_delay=0.01), interval)
    each = Activated("s", "q", Handler(call, in_transaction), maximum, idle_timeout)
    yield readers.activate(each, until_empty=until_empty)
    if not until_empty:
        readers.stop()
    until(lambda: not readers.busy)


@both
def test_no_reader_runs_until_something_arrives_and_it_leaves_by_itself(dialect: str) -> None:
    desk = Desk()
    with Store.open(url := made_url(dialect)) as store, Store.open(url) as sender:
        with activated(store, desk) as found:
            time.sleep(0.2)
            assert not found.readers
            for n in range(2):
                sender.send("q", n)
                until(lambda n=n: desk.begun == list(range(n + 1)))
                assert len(found.readers) == 1
                desk.go.release()
                until(lambda: not found.readers)
        assert desk.done == [0, 1]
        assert kinds(store) == ["sent", "taken", "accepted"] * 2


@both
def test_what_becomes_due_starts_a_reader(dialect: str) -> None:
    desk = Desk()
    desk.go.release()
    with Store.open(made_url(dialect)) as store, activated(store, desk):
        store.send("q", "later", delay=0.5)
        until(lambda: desk.done == ["later"])


@both
def test_a_second_reader_starts_at_a_check_only(dialect: str) -> None:
    desk = Desk()
    with Store.open(made_url(dialect)) as store:
        with activated(store, desk, maximum=5) as found:
            store.send("q", 0)
            until(lambda: desk.begun)
            for n in range(1, 4):
                store.send("q", n)
            time.sleep(0.3)
            assert len(found.readers) == 1
            found.check = 0  # it comes
            until(lambda: len(desk.begun) == 2)
            time.sleep(0.3)
            assert len(found.readers) == 2
            desk.go.release(4)
            until(lambda: len(desk.done) == 4)
        assert empty(store)


@both
def test_never_do_more_readers_run_than_may(dialect: str) -> None:
    desk = Desk()
    with Store.open(made_url(dialect)) as store:
        for n in range(6):
            store.send("q", n)
        with activated(store, desk, maximum=3, interval=0.01) as found:
            until(lambda: len(desk.begun) == 3)
            time.sleep(0.3)
            assert len(found.readers) == len(desk.begun) == len(desk.by) == 3
            desk.go.release(6)
            until(lambda: len(desk.done) == 6 and not found.readers)
        assert empty(store)


@both
def test_while_a_reader_waits_to_receive_no_other_is_started(dialect: str) -> None:
    desk = Desk()
    desk.go.release(3)
    with Store.open(made_url(dialect)) as store:
        with activated(store, desk, maximum=5, interval=0.01, idle_timeout=NEVER) as found:
            for n in range(3):
                store.send("q", n)
                until(lambda n=n: len(desk.done) == n + 1)
                until(lambda: all(each.waits for each in found.readers))
        assert len(desk.by) == 1


def test_for_a_transaction_that_outlasts_its_lease_no_reader_is_started() -> None:
    desk = Desk()
    with Store.open(made_url("postgresql")) as store:
        store.send("q", 0)
        with activated(
            store, desk, maximum=2, interval=0.01, in_transaction=True, lease=2
        ) as found:
            until(lambda: desk.begun)
            for _ in range(50):
                assert len(found.readers) == 1
                time.sleep(0.05)
            desk.go.release()
            until(lambda: desk.done)
        assert kinds(store) == ["sent", "taken", "accepted"]


@pytest.mark.costly
@both
def test_it_leaves_when_no_reader_runs_and_nothing_is_ready(dialect: str) -> None:
    desk = Desk()
    desk.go.release(5)
    with Store.open(made_url(dialect)) as store:
        store.send("q", "later", delay=1000)
        for n in range(5):
            store.send("q", n)
        with activated(store, desk, until_empty=True):
            pass
        assert desk.done == [0, 1, 2, 3, 4]
        assert store.queues()[0].delayed == 1


@both
@pytest.mark.parametrize("in_transaction", [False, True], ids=["outside", "inside"])
def test_a_failure_is_tried_again_and_in_the_end_a_dead_letter(
    in_transaction: bool, dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[str] = []

    def call(message: Message, *_: object) -> None:
        tried.append(message.body)
        if message.body == "bad":
            raise ValueError

    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_failures=3)
        for body in ("1", "bad", "2"):
            store.send("q", body, group="g")
        with activated(store, call, in_transaction=in_transaction):
            until(lambda: empty(store))
        assert tried == ["1", "bad", "bad", "bad", "2"]
        assert [dead.body for dead in store.dead("q")] == ["bad"]
    assert "outcome=dead" in caplog.text


def test_told_to_stop_they_end_what_is_in_hand_and_take_no_more() -> None:
    desk = Desk()
    with Store.open(made_url("sqlite")) as store:
        for n in range(2):
            store.send("q", n)
        with activated(store, desk):
            until(lambda: desk.begun)
            threading.Timer(0.3, desk.go.release).start()
        assert desk.done == [0]
        assert kinds(store) == ["sent", "sent", "taken", "accepted"]


def test_while_no_reader_runs_a_database_that_is_gone_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    import psycopg

    desk = Desk()
    desk.go.release(2)
    url = made_url("postgresql")
    with Store.open(url) as store, psycopg.connect(server().get_uri(), autocommit=True) as admin:
        name = store.place.rpartition("/")[2]
        store.send("q", 0)
        with activated(store, desk) as found:
            until(lambda: desk.done and not found.readers)
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            until(lambda: "trying again until it is back" in caplog.text)
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
            with Store.open(url) as other:
                other.send("q", 1)
                until(lambda: empty(other))
        assert desk.done == [0, 1]


@pytest.fixture
def shop(dialect: str, tmp_path: Path) -> Iterator[Store]:
    """A store with the services, and a folder with what handles their messages."""
    (tmp_path / "shop.toml").write_text(DECLARED)
    (tmp_path / "shop.py").write_text(SHOP)
    with Store.open(made_url(dialect)) as store:
        store.declare(tmp_path / "shop.toml")
        yield store


@contextmanager
def served(
    folder: Path, store: Store, dialect: str, *options: str, what: str = "shop:shop"
) -> Iterator[Command]:
    """`fairlead work` with the service."""
    url = store_url(store, dialect)
    with Command(folder, "work", what, *options, FAIRLEAD_STORE=url) as found:
        yield found


def order(store: Store, *orders: str) -> None:
    """Each in a dialog of its own."""
    with store.transaction() as tx:
        for each in orders:
            tx.begin_dialog("Orders/Client", "Orders/Shop").send("Order", each)


def confirmed(store: Store) -> list[str]:
    """What was confirmed until now."""
    found: list[str] = []
    while (work := store.take("client")) is not None:
        found += [message.body for message in work]
        work.accept()
    return found


def left(store: Store) -> int:
    """Messages that wait for the shop, or are in hand."""
    return sum(each.messages for each in store.queues() if each.queue == "shop")


def begun(folder: Path, order: str = "*") -> list[int]:
    """The processes that have begun with an order."""
    return [int(each.name.rpartition("-")[2]) for each in folder.glob(f"begun-{order}-*")]


def readers(command: Command) -> list[int]:
    """The processes that were started to read."""
    return [each for each in children(command.process.pid) if "spawn_main" in runs(each)]


@pytest.mark.costly
@needs_proc
@both
@MODES
def test_a_service_is_served_while_there_is_work(
    mode: str, shop: Store, dialect: str, tmp_path: Path
) -> None:
    done: list[str] = []
    with served(tmp_path, shop, dialect, mode, "2", what="shop.toml") as command:
        for round_ in ("a", "b"):
            order(shop, *(f"{round_}{n}" for n in range(5)))
            until(lambda: left(shop) == 0)
            done += confirmed(shop)
            until(lambda: not readers(command))
        assert stop(command) == 0
        assert (command.process.pid in begun(tmp_path)) == (mode == "--threads")
    assert sorted(done) == [f"{round_}{n}" for round_ in "ab" for n in range(5)]
    assert not [line for line in command.said() if " INFO " not in line]


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("dialect", ["postgresql"])
@MODES
def test_one_more_reader_is_started_at_each_check_up_to_the_maximum(
    mode: str, shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, *(f"slow{n}" for n in range(5)))
    options = [mode, "3", "--check-interval", "0.1"]
    with served(tmp_path, shop, dialect, *options) as command:
        until(lambda: len(begun(tmp_path)) == 3)
        time.sleep(1)
        assert len(begun(tmp_path)) == 3
        assert len(readers(command)) == (3 if mode == "--processes" else 0)
        (tmp_path / "go").touch()
        until(lambda: left(shop) == 0)
        assert stop(command) == 0
    assert len(set(begun(tmp_path))) == (3 if mode == "--processes" else 1)
    assert len(confirmed(shop)) == 5


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("dialect", ["postgresql"])
@MODES
def test_before_a_check_one_reader_only_is_started(
    mode: str, shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, "slow0", "slow1")
    with served(tmp_path, shop, dialect, mode, "3", "--check-interval", "1000") as command:
        until(lambda: begun(tmp_path))
        time.sleep(1)
        assert len(begun(tmp_path)) == 1
        (tmp_path / "go").touch()
        until(lambda: left(shop) == 0)
        assert stop(command) == 0
    assert len(set(begun(tmp_path))) == 1


@pytest.mark.costly
@needs_proc
@both
def test_what_a_reader_that_was_killed_had_in_hand_is_done_by_another(
    shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, "slow", "a", "b")
    with served(tmp_path, shop, dialect, "--processes", "1") as command:
        until(lambda: begun(tmp_path))
        (first,) = begun(tmp_path)
        os.kill(first, signal.SIGKILL)
        (tmp_path / "go").touch()
        until(lambda: left(shop) == 0)
        assert stop(command) == 0
    assert sorted(confirmed(shop)) == ["a", "b", "slow"]
    assert len(set(begun(tmp_path, "slow"))) == 2
    assert "ended with status -9" in "".join(command.said())


@pytest.mark.slow
@needs_proc
@both
def test_a_message_of_which_readers_die_is_a_dead_letter_in_the_end(
    shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, "deadly", "good")
    with served(tmp_path, shop, dialect, "--processes", "1") as command:
        until(lambda: left(shop) == 0)
        assert stop(command) == 0
    assert [each.body for each in shop.dead("shop")] == ["deadly"]
    assert confirmed(shop) == ["good"]
    assert "ended with status 3; another one starts in 1 s" in "".join(command.said())


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@MODES
def test_told_to_stop_it_ends_what_is_in_hand(
    number: signal.Signals, mode: str, shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, "slow", "next")
    with served(tmp_path, shop, dialect, mode, "1") as command:
        until(lambda: begun(tmp_path))
        command.look()
        command.process.send_signal(number)
        time.sleep(0.5)
        (tmp_path / "go").touch()
        assert command.ended() == 0
    assert confirmed(shop) == ["slow"]
    assert left(shop) == 1


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("dialect", ["sqlite"])
@MODES
def test_a_second_signal_ends_it_at_once(
    mode: str, shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, "slow")
    with served(tmp_path, shop, dialect, mode, "1") as command:
        until(lambda: begun(tmp_path))
        command.look()
        command.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        command.process.send_signal(signal.SIGTERM)
        assert command.ended() == 143
    assert not confirmed(shop)
    assert left(shop) == 1


@needs_proc
@pytest.mark.parametrize("dialect", ["sqlite"])
def test_when_its_parent_is_killed_a_reader_ends_what_is_in_hand(
    shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, "slow", "next")
    with served(tmp_path, shop, dialect, "--processes", "1") as command:
        until(lambda: begun(tmp_path))
        (reader,) = begun(tmp_path)
        command.process.kill()
        command.process.wait()
        time.sleep(0.5)
        assert runs(reader)
        (tmp_path / "go").touch()
        until(lambda: not runs(reader))
    assert confirmed(shop) == ["slow"]
    assert left(shop) == 1


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("dialect", ["sqlite"])
@MODES
def test_until_empty_a_service_is_served_and_then_it_leaves(
    mode: str, shop: Store, dialect: str, tmp_path: Path
) -> None:
    order(shop, "a", "b", "c")
    with served(tmp_path, shop, dialect, mode, "2", "--until-empty") as command:
        assert command.ended() == 0
    assert sorted(confirmed(shop)) == ["a", "b", "c"]
