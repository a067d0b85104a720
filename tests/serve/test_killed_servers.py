"""Servers that are killed under load: nothing is lost, and what comes again is marked."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from fairlead import Store
from tests.ports import free_port
from tests.serve.load import QUEUE, Load
from tests.serve.running import Running
from tests.stores import made_url


def hold(kind: str, log: Path, kills: int) -> None:
    """On PostgreSQL two servers are one service, and one of them is killed at a time."""
    url, dice = made_url(kind), random.Random(kills)  # noqa: S311
    with Store.open(url) as store:
        store.set_limits(QUEUE, max_failures=1)  # a server that is killed blames nothing
    ports = [free_port() for _ in range(1 if kind == "sqlite" else 2)]
    running = [Running(url, port=port, log=log) for port in ports]
    try:
        load = Load(lambda: f"127.0.0.1:{dice.choice(ports)}")
        for turn in range(kills):
            time.sleep(0.2 + dice.random() / 2)
            k = turn % len(ports)
            running[k].end(signal.SIGKILL)
            running[k] = Running(url, port=ports[k], log=log)
        until = time.monotonic() + 60
        while len(load.sent) <= 2 * kills and time.monotonic() < until:
            time.sleep(0.05)
        load.end()
    finally:
        for each in running:
            each.end()
    load.check()
    assert len(load.sent) > 2 * kills
    assert "Traceback" not in log.read_text("utf-8")
    with Store.open(url) as store:
        assert store.check() == []
        assert [each.messages for each in store.queues()] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_nothing_is_lost_and_what_comes_again_is_marked(kind: str, tmp_path: Path) -> None:
    hold(kind, tmp_path / "log", 1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_hundred_times(kind: str, tmp_path: Path) -> None:
    hold(kind, tmp_path / "log", 100)
