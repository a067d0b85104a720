"""Schedules: each tick once, whoever runs workers, whatever dies, and whatever the clock does."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import ConfigError, MessageError
from fairlead.store.verbs import schedules
from tests.stores import Clock, made_url

NIGHT = '[[schedule]]\nname = "night"\nqueue = "jobs"\n'
BEGIN = 1_700_000_000.0
LOOP = """
import sys, time
from fairlead import Store
store = Store.open(sys.argv[1])
print("ready", flush=True)
while True:
    store.tick()
"""


@pytest.fixture
def store(url: str, opened: Callable[..., Store], clock: Clock) -> Store:
    return opened(url, clock=clock)


def declare(store: Store, folder: Path, lines: str) -> None:
    file = folder / "schedules.toml"
    file.write_text(lines, "utf-8")
    store.declare(file)


def ids(store: Store, queue: str = "jobs") -> list[str]:
    """Of all messages that wait, in the order in which they were sent."""
    found = []
    while work := store.take(queue):
        with work:
            found += [message.id for message in work]
    return found


def test_a_tick_sends_what_was_declared(store: Store, tmp_path: Path, clock: Clock) -> None:
    more = "group = 'g'\npriority = 7\ntype = 'T'\ncost = 3\nbody = {a = 0.5, b = [1, 'x']}\n"
    declare(store, tmp_path, f"{NIGHT}cron = '30 2 * * *'\ntime_zone = 'Europe/Paris'\n{more}")
    assert store.tick() == 11_800
    assert store.queues()[0].messages == 0
    clock.now += 11_800
    assert store.tick() == 24 * 3600
    work = store.take("jobs")
    assert work is not None
    (message,) = list(work)
    assert (work.group, message.id, message.type, message.cost, message.body) == (
        "g",
        "night@2023-11-15T01:30:00Z",
        "T",
        3,
        {"a": 0.5, "b": [1, "x"]},
    )
    (found,) = store.schedules()
    assert (found.when, found.last, found.next) == (
        "cron '30 2 * * *'",
        BEGIN + 11_800,
        BEGIN + 98_200,
    )


@pytest.mark.parametrize(
    ("missed", "seconds", "sent"),
    [
        ("once", 35, ["50"]),
        ("once", 3_635, ["50"]),  # one for all that were missed, however late
        ("all", 35, ["30", "40", "50"]),
        ("skip", 35, ["50"]),  # the last one is not a minute late
        ("skip", 5, []),
    ],
)
def test_ticks_at_which_nobody_was_there(
    store: Store, tmp_path: Path, clock: Clock, missed: str, seconds: int, sent: list[str]
) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 10\nmissed = '{missed}'\n")
    clock.now += seconds
    store.tick()
    assert [each[-3:-1] for each in ids(store)] == sent
    assert store.tick() is not None
    assert ids(store) == []


def test_a_tick_that_is_late_is_left_out_where_that_is_wanted(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 3600\nmissed = 'skip'\n")
    clock.now = BEGIN // 3600 * 3600 + 3600 + 61
    assert store.tick() == 3600 - 61
    assert ids(store) == []
    clock.now += 3600 - 61 + 60
    store.tick()
    assert len(ids(store)) == 1


def test_all_that_were_missed_come_in_steps(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 1\nmissed = 'all'\n")
    clock.now += 250
    assert [store.tick(), store.tick(), store.tick()] == [0.0, 0.0, 1.0]
    found = ids(store)
    assert len(found) == len(set(found)) == 250
    assert found == sorted(found)


def test_it_is_paused(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 10\nmissed = 'all'\n")
    assert store.pause_schedule("night")
    assert not store.pause_schedule("night")
    clock.now += 35
    assert store.tick() is None
    assert ids(store) == []
    assert store.pause_schedule("night", paused=False)
    assert not store.pause_schedule("night", paused=False)
    assert store.tick() == 5
    clock.now += 5
    store.tick()
    assert len(ids(store)) == 1  # what was not wanted is not sent later


def test_who_pauses_resumes_or_drops_one_is_in_the_journal(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 10\n")
    for paused in (True, True, False, False):
        store.pause_schedule("night", paused=paused)
    store.drop_schedule("night")
    found = list(store.journal(id="night"))
    assert [each.kind for each in found] == [
        *("schedule-paused", "schedule-resumed", "schedule-dropped")
    ]
    assert {each.queue for each in found} == {"jobs"}
    assert {each.actor for each in found} == {f"{socket.gethostname()}:{os.getpid()}"}
    assert [each.id for each in store.journal(kind="schedule-paused")] == ["night"]


def test_declared_again_it_goes_on(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 10\n")
    clock.now += 15
    declare(store, tmp_path, f"{NIGHT}every = 10\n")
    store.tick()
    assert len(ids(store)) == 1
    declare(store, tmp_path, f"{NIGHT}every = 100\n")  # otherwise: from now on
    assert store.ticks("night", 2) == [BEGIN + 100, BEGIN + 200]
    store.drop_schedule("night")
    assert store.schedules() == []
    assert store.tick() is None


def test_that_a_queue_is_full_is_told_again_and_again_but_not_each_time(
    store: Store,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    declare(store, tmp_path, f"[[queue]]\nname = 'jobs'\nmax_waiting = 1\n{NIGHT}every = 10\n")
    store.send("jobs", "first", id="first")
    clock.now += 10
    told = []
    for second in range(0, 300, 10):
        monkeypatch.setattr(schedules, "time", SimpleNamespace(monotonic=lambda at=second: at))
        store.tick()
        told += [second] * len(caplog.records)
        caplog.clear()
    assert told == [0, 60, 120, 240]


def test_a_full_queue_is_waited_for(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, f"[[queue]]\nname = 'jobs'\nmax_waiting = 1\n{NIGHT}every = 10\n")
    store.send("jobs", "first", id="first")
    clock.now += 10
    assert store.tick() == 1.0
    assert ids(store) == ["first"]
    assert store.tick() == 10
    assert len(ids(store)) == 1


def test_a_message_that_is_refused_is_passed_over(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    """The others of its schedule are sent, and so are other schedules."""
    declare(
        store,
        tmp_path,
        f"{NIGHT}every = 10\nmissed = 'all'\n"
        "[[schedule]]\nname = 'other'\nqueue = 'jobs'\nevery = 30\n",
    )
    store.send("jobs", "mine", id="night@2023-11-14T22:13:40Z")
    clock.now += 30
    while store.tick() == 0.0:
        pass
    assert sorted(ids(store)) == [
        "night@2023-11-14T22:13:30Z",
        "night@2023-11-14T22:13:40Z",  # which somebody else had sent, with another body
        "night@2023-11-14T22:13:50Z",
        "other@2023-11-14T22:13:30Z",
    ]
    assert [each.failure for each in store.schedules()] == ["", ""]
    store.send("jobs", "mine", id="night@2023-11-14T22:14:00Z")
    clock.now += 10
    store.tick()
    assert "found 'night@2023-11-14T22:14:00Z'" in store.schedules()[0].failure


def test_a_clock_that_was_wrong(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 10\n")
    clock.now += 365 * 24 * 3600
    store.tick()
    assert len(ids(store)) == 1
    clock.now = BEGIN + 50
    store.tick()
    assert ids(store) == []
    clock.now += 10
    store.tick()
    assert ids(store) == ["night@2023-11-14T22:14:20Z"]


def test_a_clock_that_goes_back_a_little_sends_nothing_twice(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 10\n")
    clock.now += 10
    store.tick()
    clock.now -= 5
    assert store.tick() == 15
    assert len(ids(store)) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("every = 5\nbody = [nan]", "schedule.night: "),
        ("every = 5\nbody = [07:32:00.5, inf]", "schedule.night: "),
    ],
)
def test_a_body_that_no_message_has(store: Store, tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        declare(store, tmp_path, NIGHT + line)
    assert says in str(caught.value)
    assert store.schedules() == []
    assert store.queues() == []


@pytest.mark.parametrize("name", ["nigth", "", None, 5])
def test_one_that_is_not_there(store: Store, tmp_path: Path, name: Any) -> None:
    declare(store, tmp_path, f"{NIGHT}every = 10\n")
    for verb in (store.ticks, store.pause_schedule, store.drop_schedule):
        with pytest.raises(MessageError, match=r"schedule: found .*, allowed: night"):
            verb(name)
    for most in (0, 10_001, True, "2"):
        with pytest.raises(MessageError, match="most"):
            store.ticks("night", most)  # type: ignore[arg-type]


@pytest.mark.costly
def test_many_at_once_send_each_tick_once(dialect: str, tmp_path: Path) -> None:
    """On the database's own clock, a tick each second."""
    url = made_url(dialect)
    with Store.open(url) as store:
        declare(store, tmp_path, f"{NIGHT}every = 1\nmissed = 'all'\n")
        first = store.ticks("night", 1)[0]
        until = time.monotonic() + 2.2

        def work() -> None:
            with Store.open(url) as own:
                while time.monotonic() < until:
                    own.tick()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        found = ids(store)
        last = store.schedules()[0].last
    assert last is not None
    assert len(found) == len(set(found)) == last - first + 1


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_killed_at_any_moment(dialect: str, tmp_path: Path) -> None:
    """Nothing is sent twice and nothing is left out: 40 kills of whoever sends."""
    url = made_url(dialect)
    with Store.open(url) as store:
        declare(store, tmp_path, f"{NIGHT}every = 1\nmissed = 'all'\n")
        first = store.ticks("night", 1)[0]
        for k in range(40):
            with subprocess.Popen(
                [sys.executable, "-c", LOOP, url], stdout=subprocess.PIPE, text=True
            ) as child:
                assert child.stdout is not None
                assert child.stdout.readline() == "ready\n"
                time.sleep(0.3 + (k % 10) / 10)
                os.kill(child.pid, signal.SIGKILL)
        store.tick()
        found = ids(store)
        last = store.schedules()[0].last
    assert last is not None
    assert len(found) == len(set(found)) == last - first + 1


def test_the_body_is_plain_json(store: Store, tmp_path: Path, clock: Clock) -> None:
    """A body has numbers and texts, whatever TOML makes of them."""
    declare(
        store, tmp_path, f"{NIGHT}every = 1.5\nbody = {{n = 1.25, at = 2026-01-02T03:04:05Z}}\n"
    )
    assert store.ticks("night", 2) == [BEGIN + 1, BEGIN + 2.5]
    clock.now += 1
    store.tick()
    (message,) = store.peek("jobs")
    assert message.body == {"n": 1.25, "at": "2026-01-02T03:04:05Z"}
