"""`Store.check` finds what no reader would get and what would last for ever, and puts it right."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Cluster, Store
from fairlead.cli.app import run
from tests.store.sql import by_hand

Open = Callable[..., Store]
CENTURIES = 10**16
"""Microseconds."""


def found(store: Store, *, repair: bool = False) -> dict[str, tuple[str, int, str]]:
    return {
        each.what: (each.where, each.found, each.example) for each in store.check(repair=repair)
    }


def bodies(store: Store, queue: str = "q") -> list[Any]:
    got = []
    while work := store.take(queue):
        got += [message.body for message in work]
        work.accept()
    return got


def test_nothing_is_found_where_nothing_is_wrong(store: Store) -> None:
    assert store.check() == []
    store.send("q", 1, group="g")
    store.send("q", 2, group="g", priority=9)
    store.send("q", 3, delay=60)
    store.send("q", 4, tenant="gold", group="h")
    work = store.take("q")
    assert work is not None
    store.prioritise("q", work.group)
    assert store.check(repair=True) == []
    work.accept()
    work = store.take("q")
    assert work is not None
    work.release(delay=60)
    assert store.check() == []


def test_messages_without_a_group_get_it_back_in_their_order(url: str, store: Store) -> None:
    for body, group in enumerate("ggh"):
        store.send("q", body, group=group, id=f"m{body}")
    store.send("q", 3)
    by_hand(url, "DELETE FROM fairlead.groups")
    store.send("q", 4, group="g")
    assert store.take("q", group="h") is None
    said = {"messages without a group": ("queue q", 4, "m-4")}
    assert found(store) == said
    assert found(store) == said  # only looking mends nothing
    assert found(store, repair=True) == said
    assert store.check() == []
    work = store.take("q", group="g")
    assert work is not None
    assert [message.body for message in work] == [0, 1, 4]
    work.accept()
    assert sorted(bodies(store)) == [2, 3]


def test_a_message_whose_group_nobody_remembers_goes_without_one(url: str, store: Store) -> None:
    store.send("q", 1, group="g")
    by_hand(url, "DELETE FROM fairlead.groups")
    by_hand(url, "UPDATE fairlead.journal SET kind = 'changed'")
    store.check(repair=True)
    work = store.take("q")
    assert work is not None
    assert (work.group, [message.body for message in work]) == ("", [1])


def test_groups_without_a_message_end(url: str, store: Store) -> None:
    store.send("q", 1, group="g")
    store.send("q", 2, group="h")
    by_hand(url, "DELETE FROM fairlead.messages WHERE key = 'm-1'")
    assert found(store, repair=True) == {"groups without a message": ("queue q", 1, "g")}
    assert store.check() == []
    assert bodies(store) == [2]


def test_work_without_a_deadline_is_taken_back(url: str, store: Store) -> None:
    store.send("q", 1, group="g")
    assert store.take("q") is not None
    by_hand(url, "UPDATE fairlead.groups SET deadline = NULL, holder = NULL")
    assert found(store, repair=True) == {"work that nobody would take back": ("queue q", 1, "g")}
    assert store.check() == []
    assert bodies(store) == [1]


def test_work_of_a_holder_that_nobody_knows_is_taken_back(url: str, store: Store) -> None:
    store.send("q", 1, group="g")
    assert store.take("q") is not None
    by_hand(url, "UPDATE fairlead.groups SET holder = 999")
    assert found(store, repair=True) == {"work that nobody would take back": ("queue q", 1, "g")}
    assert bodies(store) == [1]


KILLED = """
import sys, time
from fairlead import Store
store = Store.open(sys.argv[1])
work = store.take("q")
print("taken", flush=True)
time.sleep(60)
"""


def test_the_work_of_a_process_that_was_killed_is_taken_back(url: str, store: Store) -> None:
    store.send("q", 1, group="g")
    process = subprocess.Popen([sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"taken\n"
    assert store.check() == []
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 30
    while not (said := found(store)) and time.monotonic() < until:
        time.sleep(0.01)  # the server has to notice
    ((what, (_, count, _)),) = said.items()
    assert (what, count) == ("processes that take work, and are gone", 1)
    store.check(repair=True)
    assert store.check() == []
    assert bodies(store) == [1]


def test_times_of_a_clock_that_was_wrong_are_put_right(url: str, opened: Open) -> None:
    now = [1_000_000_000.0]
    store = opened(url, clock=lambda: now[0])
    store.set_order("q", "priority", ageing=10)
    pair = [{"name": "a", "weight": 1}, {"name": "b", "weight": 2}]
    table = {"policy": "msmq", "store": {"reset_every": 60}, "destination": pair}
    store.keep_clusters([Cluster.from_dict(table, default_name="pool")])
    now[0] += 7_000_000_000  # the clock jumps
    store.send("q", "late", group="late", priority=200, id="late")
    store.next_destination("pool")
    assert store.take("q", group="late", lease=60) is not None
    store.prioritise("q", "late", 7)
    now[0] -= 7_000_000_000  # and is put right
    store.send("q", "early", group="early")
    said = found(store, repair=True)
    assert set(said) == {
        "events later than now",
        "groups that came, were raised or were taken later than now",
        "messages that came later than now",
        "raises later than now",
        "ids of messages that were used later than now",
        "resets that are too far away",
        "changes later than now",
    }
    assert store.check() == []
    assert [event.time for event in store.journal() if event.time > now[0]] == []
    now[0] += 61
    assert bodies(store) == ["late", "early"]  # raised to 7, and its lease is over
    store.next_destination("pool")
    assert [each.sent for each in store.pool("pool").machines] == [0, 1]
    now[0] += 1
    store.prune(0)
    assert sum(1 for _ in store.journal()) == 1


def test_what_a_cluster_waits_for_and_is_gone_is_completed(url: str, store: Store) -> None:
    store.keep_clusters(
        [Cluster.of("fewest-pending", name="pool", destination=[{"name": "a"}, {"name": "b"}])]
    )
    assert [store.publish("pool", n, id=f"p{n}").destination for n in range(2)] == ["a", "b"]
    by_hand(url, "DELETE FROM fairlead.messages WHERE key = 'p1'")
    said = found(store, repair=True)
    assert said.pop("groups without a message") == ("queue b", 1, "")
    assert said == {
        "messages that a cluster waits for, and that are not there": ("cluster pool", 1, "p1")
    }
    assert store.check() == []
    assert [store.publish("pool", 0).destination for _ in range(2)] == ["b", "a"]


def test_the_command_says_what_it_found(
    url: str, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    store.send("q", 1, group="g", id="one")
    command = ["store", "check", "--store", url]
    assert run(command) == 0
    assert capfd.readouterr().out == f"{store.place}: nothing found\n"
    by_hand(url, "DELETE FROM fairlead.groups")
    assert run(command) == 1
    lines = capfd.readouterr().out.splitlines()
    assert " ".join(lines[1].split()) == "messages without a group queue q 1 one"
    assert lines[-1] == f"{store.place}: `--repair` mends it"
    assert run([*command, "--repair", "--json"]) == 1
    assert json.loads(capfd.readouterr().out) == {
        "what": "messages without a group",
        "where": "queue q",
        "found": 1,
        "example": "one",
        "mended": True,
    }
    assert run(command) == 0
