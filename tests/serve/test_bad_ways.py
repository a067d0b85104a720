"""Whatever becomes of the way to the server, all programs go on by themselves, and lose nothing.

Each round is a fault, and the time until all go on. Bounds are a fifteenth of what they are, and
faults as short: a delay of 5 s is one of 0.3 s, and a server that only reads does so for less than
a second. With the true bounds each of these two is tried a few times, in full.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest

from fairlead import Store
from tests.bounded import COMMAND, SMALL
from tests.proxies import NOBODY_CUTS, Proxy, end_sessions, read_only
from tests.serve.running import Running
from tests.serve.ways import World
from tests.stores import copied_url

MANY = 200
FEW = 2
Fault = Callable[[World, Random], None]


def silent(world: World, dice: Random) -> None:
    with world.proxy.silent():
        time.sleep(dice.uniform(0.05, 0.8))


def slow(world: World, dice: Random) -> None:
    with world.proxy.slow(5 / 15):
        time.sleep(dice.uniform(0.1, 1.0))


def cut(world: World, dice: Random) -> None:
    for _ in range(dice.randrange(1, 6)):
        world.proxy.cut_after(int(10 ** dice.uniform(0, 4.5)))
        until = time.monotonic() + 1
        while world.proxy.left != NOBODY_CUTS and time.monotonic() < until:
            time.sleep(0.005)


def reads_only(world: World, dice: Random) -> None:
    with read_only(world.url):
        time.sleep(dice.uniform(0.05, 0.8))


def sessions_end(world: World, dice: Random) -> None:
    with psycopg.connect(world.url, autocommit=True) as admin:
        for _ in range(dice.randrange(1, 12)):
            end_sessions(admin, dice)
            time.sleep(dice.uniform(0, 0.05))


FAULTS = [silent, slow, cut, reads_only, sessions_end]


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in SMALL:
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def world(_small: None, tmp_path: Path) -> Iterator[World]:
    found = World(copied_url(), tmp_path, small=True)
    yield found
    found.end()


@pytest.mark.slow
def test_all_go_on_after_a_few_faults_of_each_kind(world: World) -> None:
    rounds(world, FAULTS * FEW)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", FAULTS)
def test_all_go_on_after_many_faults(fault: Fault, world: World) -> None:
    rounds(world, [fault] * MANY)


def rounds(world: World, faults: list[Fault]) -> None:
    dice = Random(len(faults))  # noqa: S311 - no secret
    world.go_on()
    world.slowest.clear()
    world.rounds = 0
    for fault in faults:
        fault(world, dice)
        world.go_on()
    print(f"{' '.join(dict.fromkeys(each.__name__ for each in faults))}: {world.result}")
    world.check()
    print(f"{world.unheard} takes of which nobody heard came back")


@pytest.mark.slow
def test_a_server_that_is_told_to_stop_ends_though_nothing_answers(tmp_path: Path) -> None:
    url = copied_url()
    with Store.open(url) as store:
        for n in range(5):
            store.send("q", n)
    with Proxy(url) as proxy:
        server = Running(proxy.url, "--grace", "1", log=tmp_path / "log", command=COMMAND)
        connection = server.connect()
        receiver = connection.create_receiver("q", credit=5)
        assert receiver.receive(timeout=20).body == 0
        with proxy.silent():
            receiver.accept()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(120) == 0
        server.wait()
    assert "work in hand may count as failed" in (tmp_path / "log").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_way_that_takes_five_seconds_breaks_nothing_off(tmp_path: Path) -> None:
    """With the true bounds: a statement is answered after ten seconds, and asked about after 15."""
    url = copied_url()
    with Proxy(url) as proxy, Store.open(proxy.url) as store:
        for n in range(2):
            with proxy.slow(5.0):
                assert store.send("q", n, id=f"{n}") == f"{n}"
                work = store.take("q")
                assert work is not None
                with work:
                    assert [message.body for message in work] == [n]
        assert [each.messages for each in store.queues()] == [0]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_go_on_after_a_minute_without_writing(tmp_path: Path) -> None:
    """With the true bounds."""
    world = World(copied_url(), tmp_path, small=False)
    try:
        world.go_on()
        for _ in range(2):
            with read_only(world.url):
                time.sleep(60)
            world.go_on()
        world.check()
        print(f"a minute: {world.result}")
    finally:
        world.end()
