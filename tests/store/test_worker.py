"""Workers, in real processes: order, failures, signals, and processes that are killed."""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead import Message, Reject, Store
from fairlead.errors import ConfigError, MessageError
from fairlead.store.workers.handlers import Handler, load
from fairlead.store.workers.handling import Handling
from fairlead.store.workers.worker import Worker
from tests.cli.commands import SECONDS, Command, runs
from tests.stores import made_url, server

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="not here: /proc")
both = pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])

LEDGER = """
import os, time
from pathlib import Path

def note(message, tx):
    name, n = message.body
    tx.execute(f"INSERT INTO ledger (name, n) VALUES ('{name}', {n})")
    Path(f"pid-{os.getpid()}").touch()
    while name == "slow" and not Path("go").exists():
        time.sleep(0.01)

handlers = {"q": note}
"""
WAITING = """
import os, time
from pathlib import Path

def wait(message):
    with open("seen", "a") as file:
        print(message.body, os.getpid(), file=file)
    while not Path("go").exists():
        time.sleep(0.01)

handlers = {"q": wait}
"""


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


@contextmanager
def working(folder: Path, store_url: str, module: str, *options: str) -> Iterator[Command]:
    """`fairlead work` in a folder with a module of handlers."""
    (folder / "shop.py").write_text(module)
    with Command(folder, "work", "shop:handlers", *options, FAIRLEAD_STORE=store_url) as found:
        yield found


def stop(command: Command, number: signal.Signals = signal.SIGTERM) -> int:
    command.look()
    command.process.send_signal(number)
    return command.ended()


def make_ledger(store: Store, dialect: str) -> None:
    kind = "INTEGER PRIMARY KEY" if dialect == "sqlite" else "SERIAL PRIMARY KEY"
    with store.transaction() as tx:
        tx.execute(f"CREATE TABLE ledger (id {kind}, name TEXT, n INTEGER)")


def ledger(store: Store) -> dict[str, list[int]]:
    """What was settled of each group, in the order in which that was committed."""
    found: dict[str, list[int]] = {}
    with store.transaction() as tx:
        for name, n in tx.execute("SELECT name, n FROM ledger ORDER BY id").fetchall():
            found.setdefault(name, []).append(n)
    return found


def fill(store: Store, groups: int, messages: int) -> dict[str, list[int]]:
    every = {f"g{k}": list(range(messages)) for k in range(groups)}
    store.send_many(
        "q", [{"body": [name, n], "group": name} for n in range(messages) for name in every]
    )
    return every


def empty(store: Store) -> bool:
    return all(each.messages == 0 for each in store.queues())


def kinds(store: Store) -> list[str]:
    return [event.kind for event in store.journal()]


@pytest.mark.costly
@needs_proc
@both
def test_two_processes_keep_the_order_in_each_group(dialect: str, tmp_path: Path) -> None:
    with Store.open(made_url(dialect)) as store:
        make_ledger(store, dialect)
        every = fill(store, 20, 10)
        with working(tmp_path, store_url(store, dialect), LEDGER, "--processes", "2") as command:
            until(lambda: empty(store))
            assert stop(command) == 0
        assert ledger(store) == every
        assert "a fault" not in "".join(command.said())


def store_url(store: Store, dialect: str) -> str:
    if dialect == "sqlite":
        return f"sqlite:///{store.place}"
    uri: str = server().get_uri()
    return uri.replace("/postgres?", f"/{store.place.rpartition('/')[2]}?")


@pytest.mark.costly
@needs_proc
@both
def test_a_process_that_is_killed_loses_nothing_and_settles_nothing_twice(
    dialect: str, tmp_path: Path
) -> None:
    with Store.open(made_url(dialect)) as store:
        make_ledger(store, dialect)
        store.send("q", ["slow", 0], group="slow")
        every = fill(store, 5, 4)
        with working(tmp_path, store_url(store, dialect), LEDGER, "--processes", "1") as command:
            until(lambda: list(tmp_path.glob("pid-*")))
            (first,) = tmp_path.glob("pid-*")
            os.kill(int(first.name.removeprefix("pid-")), signal.SIGKILL)
            (tmp_path / "go").touch()
            until(lambda: empty(store))
            assert stop(command) == 0
        assert ledger(store) == {"slow": [0], **every}
        assert len(list(tmp_path.glob("pid-*"))) == 2
        assert "ended with status -9" in "".join(command.said())


@needs_proc
def test_when_the_supervisor_is_killed_its_processes_end_what_is_in_hand(tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.send_many("q", [{"body": n, "group": f"g{n}"} for n in range(3)])
        with working(tmp_path, url, WAITING, "--processes", "1") as command:
            seen = tmp_path / "seen"
            until(lambda: seen.exists() and seen.read_text().endswith("\n"))
            process = int(seen.read_text().split()[1])
            command.process.kill()
            command.process.wait()
            time.sleep(0.5)
            assert runs(process)
            (tmp_path / "go").touch()
            until(lambda: not runs(process))
        assert seen.read_text() == f"0 {process}\n"
        (found,) = store.queues()
        assert (found.messages, found.working, found.failures) == (2, 0, 0)


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("options", [[], ["--processes", "1"]], ids=["threads", "processes"])
def test_a_signal_in_the_middle_of_a_group_ends_the_group(
    options: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        for n, group in enumerate("aab"):
            store.send("q", n, group=group)
        with working(tmp_path, url, WAITING, *options) as command:
            seen = tmp_path / "seen"
            until(seen.exists)
            command.look()
            command.process.send_signal(number)
            told = 2 if options else 1  # whoever started the process, and the process itself
            command.until(lambda it: sum("event=stopping" in line for line in it.said()) == told)
            time.sleep(0.3)
            (tmp_path / "go").touch()
            assert command.ended() == 0
        assert [line.split()[0] for line in seen.read_text().splitlines()] == ["0", "1"]
        assert kinds(store)[3:] == ["taken", "accepted", "accepted"]


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("options", [[], ["--processes", "1"]], ids=["threads", "processes"])
def test_what_is_not_done_in_time_is_given_back_without_blame(
    options: list[str], tmp_path: Path
) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.set_limits("q", max_failures=1)
        store.send("q", "x", group="g")
        with working(tmp_path, url, WAITING, "--grace", "0.2", *options) as command:
            until((tmp_path / "seen").exists)
            assert stop(command) == 0
        work = store.take("q")
        assert work is not None
        assert (work.group, work.attempt) == ("g", 2)
        assert store.queues()[0].failures == 0


@pytest.mark.costly
@needs_proc
@pytest.mark.parametrize("options", [[], ["--processes", "1"]], ids=["threads", "processes"])
def test_a_second_signal_ends_it_at_once(options: list[str], tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.set_limits("q", max_failures=1)
        store.send("q", "x")
        with working(tmp_path, url, WAITING, *options) as command:
            until((tmp_path / "seen").exists)
            command.look()
            command.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            command.process.send_signal(signal.SIGTERM)
            assert command.ended() == 143
        work = store.take("q")
        assert work is not None
        assert store.queues()[0].failures == 0


@needs_proc
def test_it_leaves_when_there_is_nothing_to_take(tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.send_many("q", [{"body": n} for n in range(5)])
        store.send("q", 5, delay=1000)
        (tmp_path / "go").touch()
        with working(tmp_path, url, WAITING, "--until-empty", "--threads", "2") as command:
            assert command.ended() == 0
        seen = (tmp_path / "seen").read_text().splitlines()
        assert sorted(line.split()[0] for line in seen) == ["0", "1", "2", "3", "4"]
        assert store.queues()[0].delayed == 1


@contextmanager
def threads(
    store: Store, call: Callable[..., object], *, in_transaction: bool = False, **handling: float
) -> Iterator[Worker]:
    """A worker in this process."""
    options: dict[str, Any] = {"retry_delay": 0.01, **handling}
    worker = Worker(store, {"q": Handler(call, in_transaction)}, Handling(**options))
    worker.start(1)
    yield worker
    worker.stop()
    until(lambda: not worker.busy)


@both
@pytest.mark.parametrize("in_transaction", [False, True], ids=["outside", "inside"])
def test_a_message_that_fails_again_and_again_dies_alone(
    in_transaction: bool, dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []
    tried: list[str] = []

    def call(message: Message, *_: object) -> None:
        tried.append(message.body)
        if message.body == "bad":
            raise ValueError("no\0 \ud800")
        done.append(message.body)

    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_failures=3)
        for body in ("1", "bad", "2"):
            store.send("q", body, group="g")
        with caplog.at_level("INFO"), threads(store, call, in_transaction=in_transaction):
            until(lambda: empty(store))
        assert done == ["1", "2"]
        assert tried == ["1", "bad", "bad", "bad", "2"]
        (dead,) = store.dead("q")
        assert (dead.body, dead.reason) == ("bad", "ValueError: no\\x00 \\ud800")
        assert [kind for kind in kinds(store) if kind not in {"taken", "woken"}][3:] == [
            *("accepted", "released", "released", "rejected", "accepted")
        ]
    assert "queue=q group=g attempt=1 messages=1 outcome=released" in caplog.text
    assert "queue=q group=g attempt=2 messages=0 outcome=released" in caplog.text
    assert "queue=q group=g attempt=3 messages=0 outcome=dead" in caplog.text
    assert f" message={dead.id} error=ValueError" in caplog.text
    assert "error=ValueError at=test_worker.py" in caplog.text
    assert "no\\x00" not in caplog.text


@both
@pytest.mark.parametrize("in_transaction", [False, True], ids=["outside", "inside"])
def test_a_message_that_is_rejected_dies_at_once_and_the_others_go_on(
    in_transaction: bool, dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def call(message: Message, tx: Any = None) -> None:
        if message.body.startswith("bad"):
            if tx is not None:
                tx.send("other", "undone")
            raise Reject(f"no use for {message.body}")
        done.append(message.body)

    with Store.open(made_url(dialect)) as store:
        for body in ("1", "bad 1", "2", "bad 2"):
            store.send("q", body, group="g")
        store.send("q", "bad 3")
        with caplog.at_level("INFO"), threads(store, call, in_transaction=in_transaction):
            until(lambda: empty(store))
        assert done == ["1", "2"]
        assert [(dead.body, dead.reason, dead.attempt) for dead in store.dead("q")] == [
            (body, f"no use for {body}", 1) for body in ("bad 1", "bad 2", "bad 3")
        ]
        assert [each.queue for each in store.queues()] == ["q"]
        assert "released" not in kinds(store)
    assert "messages=4 outcome=accepted" in caplog.text
    assert " rejected=2" in caplog.text


@both
@pytest.mark.parametrize("in_transaction", [False, True], ids=["outside", "inside"])
def test_what_was_rejected_stays_so_where_a_later_one_of_its_group_fails(
    in_transaction: bool, dialect: str
) -> None:
    done: list[str] = []

    def call(message: Message, *_: object) -> None:
        if message.body == "bad":
            raise Reject
        done.append(message.body)
        if done == ["fails once"]:
            raise ValueError

    with Store.open(made_url(dialect)) as store:
        for body in ("bad", "fails once", "last"):
            store.send("q", body, group="g")
        with threads(store, call, in_transaction=in_transaction):
            until(lambda: empty(store))
        assert done == ["fails once", "fails once", "last"]
        assert [dead.body for dead in store.dead("q")] == ["bad"]


def test_a_group_that_came_back_is_handled_a_message_at_a_time() -> None:
    with Store.open(made_url("sqlite")) as store:
        for n in range(2):
            store.send("q", n, group="g")
        store.take("q", lease=0.01)
        with threads(store, lambda message: None):
            until(lambda: empty(store))
        assert kinds(store)[2:] == [*("taken", "released"), *("taken", "accepted") * 2]


@both
def test_a_handler_leaves_settling_to_the_worker(dialect: str) -> None:
    def call(message: Message, tx: Any) -> None:
        tx.accept()

    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_failures=1)
        store.send("q", "")
        with threads(store, call, in_transaction=True):
            until(lambda: empty(store))
        assert "settled in this transaction already" in store.dead("q")[0].reason


@both
def test_what_a_handler_did_before_it_failed_is_undone(dialect: str) -> None:
    tried: list[int] = []

    def call(message: Message, tx: Any) -> None:
        tx.execute(f"INSERT INTO ledger (name, n) VALUES ('g', {message.body:d})")  # noqa: S608
        tx.send("next", message.body)
        tried.append(message.body)
        if tried == [0, 1]:
            tx.execute("no SQL")

    with Store.open(made_url(dialect)) as store:
        make_ledger(store, dialect)
        for n in range(3):
            store.send("q", n, group="g")
        with threads(store, call, in_transaction=True):
            until(lambda: store.queues()[-1].messages == 0)  # of q: next comes before it
        assert tried == [0, 1, 1, 2]
        assert ledger(store) == {"g": [0, 1, 2]}
        assert [next(work).body for work in store.take_many("next", 3)] == [0, 1, 2]


def test_delays_grow_and_end() -> None:
    assert [Handling(retry_delay=1).delay(k) for k in (1, 2, 3, 9, 10, 10**6)] == [
        *(1, 2, 4, 256, 300, 300)
    ]


@pytest.mark.costly
@both
def test_a_handler_that_takes_long_keeps_its_group(dialect: str) -> None:
    running, go = threading.Event(), threading.Event()

    def call(message: Message) -> None:
        running.set()
        go.wait(SECONDS)

    with Store.open(url := made_url(dialect)) as store, Store.open(url) as other:
        store.send("q", "x", group="g")
        with threads(store, call, lease=0.3):
            running.wait(SECONDS)
            assert other.take("q", wait=1) is None
            go.set()
        assert kinds(store) == ["sent", "taken", "accepted"]


def test_a_handler_that_asks_python_to_end_has_failed(tmp_path: Path) -> None:
    def call(message: Message) -> None:
        raise SystemExit(3)

    with Store.open(made_url("sqlite")) as store:
        store.set_limits("q", max_failures=1)
        store.send("q", "x")
        store.send("q", "y")
        with threads(store, call):
            until(lambda: empty(store))
        assert [each.reason for each in store.dead("q")] == ["SystemExit: 3"] * 2


def test_a_database_that_is_gone_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    import psycopg

    running, go = threading.Event(), threading.Event()
    done: list[int] = []

    def call(message: Message) -> None:
        running.set()
        go.wait(SECONDS)
        done.append(message.body)

    url = made_url("postgresql")
    with Store.open(url) as store, psycopg.connect(server().get_uri(), autocommit=True) as admin:
        name = store.place.rpartition("/")[2]

        def allow(connections: str) -> None:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {connections}".encode())

        for n in range(3):
            store.send("q", n, group=f"g{n}")
        with threads(store, call):
            running.wait(SECONDS)
            allow("false")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            go.set()
            until(lambda: "trying again until it is back" in caplog.text)
            allow("true")
            with Store.open(url) as other:
                until(lambda: empty(other))
        assert sorted(set(done)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("desk", "handlers: found 'desk', allowed: MODULE:NAME"),
        ("nowhere.at:all", "found no module 'nowhere.at'"),
        ("desk:none", "found None, allowed: a mapping queue -> function"),
        ("desk:empty", "allowed: a mapping queue -> function"),
        ("desk:wrong", "allowed: a queue's name -> a function"),
        ("desk:three", "allowed: a function of (message) or (message, tx)"),
    ],
)
def test_what_cannot_handle_is_refused(
    place: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "desk.py").write_text(
        "empty = {}\nwrong = {'q': 1}\nthree = {'q': lambda a, b, c: 0}\n"
        "good = {'q': lambda m: 0, 'r': lambda m, tx: 0}\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=re.escape(line)):
        load(place)
    found = load("desk:good")
    assert [(name, each.in_transaction) for name, each in found.items()] == [
        ("q", False),
        ("r", True),
    ]
    assert list(load("desk:good", ["r"])) == ["r"]
    with pytest.raises(ConfigError, match="did you mean 'r'"):
        load("desk:good", ["R"])


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (
            "import not_there_at_all",
            "ModuleNotFoundError: No module named 'not_there_at_all' (broken_1.py:1)",
        ),
        ("\n1 / 0", "ZeroDivisionError: division by zero (broken_1.py:2)"),
        ("def f(:", "SyntaxError: invalid syntax (broken_1.py, line 1) (broken_1.py:1)"),
        ("raise SystemExit(3)", "SystemExit: 3 (broken_1.py:1)"),
    ],
)
def test_a_module_that_fails_says_its_own_error(
    program: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_1.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    sys.modules.pop("broken_1", None)
    with pytest.raises(ConfigError) as refused:
        load("broken_1:handlers")
    assert str(refused.value) == f"handlers: importing broken_1 failed: {line}"


def test_a_function_with_a_parameter_for_the_transaction_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chosen_desk.py").write_text(
        "handlers = {'a': lambda m, tx=None: 0, 'b': lambda m, more=None: 0}\n"
    )
    monkeypatch.chdir(tmp_path)
    found = load("chosen_desk:handlers")
    assert [each.in_transaction for each in found.values()] == [True, False]


@both
@pytest.mark.parametrize("in_transaction", [False, True], ids=["outside", "inside"])
def test_the_log_names_a_message_that_dies_behind_a_good_one(
    in_transaction: bool, dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    def call(message: Message, *_: object) -> None:
        if message.body == "bad":
            raise ValueError

    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_failures=1)
        for body in ("good", "bad"):
            store.send("q", body, group="g", id=body)
        with caplog.at_level("INFO"), threads(store, call, in_transaction=in_transaction):
            until(lambda: empty(store))
        assert [each.id for each in store.dead("q")] == ["bad"]
    assert re.search(r"messages=1 outcome=dead seconds=\S+ message=bad error=", caplog.text)


@both
def test_the_first_of_what_was_given_can_be_accepted_where_the_rest_is_released(
    dialect: str,
) -> None:
    now = 0
    with Store.open(made_url(dialect), clock=lambda: now) as store:
        store.set_limits("q", max_failures=2)
        for tenant in ("", "t"):
            for n in range(3):
                store.send("q", n, group=f"g{tenant}", tenant=tenant)
            for attempt, outcome in ((1, "released"), (2, "rejected")):
                work = store.take("q", group=f"g{tenant}")
                assert work is not None
                assert work.attempt == attempt
                assert next(work).body == attempt - 1
                next(work)
                with pytest.raises(MessageError, match=r"done: found 2, allowed: .* from 0 to 1"):
                    work.release(done=2)
                work.release(5, "no", done=2 - attempt)
                assert store.outcome(work.token) == outcome
                assert attempt == 2 or store.take("q") is None
                now += 5
            assert [each.body for each in store.dead("q")][-2:] == [1, 2]
        assert [each.failures for each in store.queues()] == [0]


def test_a_thread_that_dies_ends_the_process_with_status_1(tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.send("q", "x")
        module = "def f(m):\n    raise KeyboardInterrupt\nhandlers = {'q': f}\n"
        with working(tmp_path, url, module, "--threads", "2") as command:
            assert command.ended() == 1
        assert "a thread died of KeyboardInterrupt at shop.py:2" in "".join(command.said())
        assert store.take("q", wait=SECONDS) is not None
        assert kinds(store) == ["sent", "taken", "released", "taken"]
        assert store.queues()[0].failures == 1


@both
def test_a_function_that_does_not_return_is_named(dialect: str, tmp_path: Path) -> None:
    url = made_url(dialect)
    with Store.open(url) as store:
        store.send("q", "x", group="kim", id="m 1")
    named = 'queue="q" group="kim" message="m 1" attempt=1'
    options = ("--lease", "0.2", "--grace", "0")
    with working(tmp_path, url, WAITING, *options) as worker:
        worker.until(lambda it: any("event=still-working" in line for line in it.said()))
        stop(worker)
        lines = [line for line in worker.said() if "event=" in line]
    (told, *_) = [line for line in lines if "event=still-working" in line]
    assert f"event=still-working {named} seconds=" in told
    assert [line for line in lines if f"event=left {named}" in line]


@both
def test_it_is_told_that_what_a_function_works_on_was_taken_back(
    dialect: str, tmp_path: Path
) -> None:
    url = made_url(dialect)
    with Store.open(url) as store:
        store.send("q", "x", group="kim", id="m 1")
        with working(tmp_path, url, WAITING, "--lease", "0.5", "--grace", "0") as worker:
            until(lambda: store.held("q"))
            store.switch("q", on=False)
            store.take_back(store.held("q")[0].token)
            worker.until(lambda it: any("event=taken-away" in line for line in it.said()))
            stop(worker)
            (told,) = [line for line in worker.said() if "event=taken-away" in line]
    assert 'event=taken-away queue="q" group="kim" message="m 1" attempt=1 seconds=' in told


KEEPS_ALL = """
import ctypes

def work(message):
    print("begins", flush=True)
    ctypes.PyDLL(None).sleep(20)  # which lets no other thread of its process run

handlers = {"q": work}
"""


@pytest.mark.slow
@both
def test_a_function_that_lets_nothing_else_run_keeps_its_lease(
    dialect: str, tmp_path: Path
) -> None:
    url = made_url(dialect)
    with Store.open(url) as store:
        store.send("q", "x", group="kim")
        with working(tmp_path, url, KEEPS_ALL, "--lease", "8", "--processes", "2") as worker:
            worker.until(lambda _: store.queues()[0].messages == 0)
            stop(worker)
        kinds = [event.kind for event in store.journal()]
    assert kinds == ["sent", "taken", "accepted"]
