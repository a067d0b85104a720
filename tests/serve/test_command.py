"""The command: servers in processes of their own, told to stop, and killed."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from proton import Message, ProtonException

from fairlead import Store
from tests.serve.running import COMMAND, Running
from tests.stores import made_url


@pytest.fixture
def run() -> Iterator[Callable[..., Running]]:
    every: list[Running] = []

    def begin(url: str, *options: str) -> Running:
        every.append(Running(url, *options))
        return every[-1]

    yield begin
    for each in every:
        if each.process.poll() is None:
            each.end(signal.SIGKILL)


def gone(connection: Any) -> None:
    with suppress(ProtonException):
        connection.wait(lambda: connection.disconnected, timeout=5)


def test_a_server_that_is_told_to_stop_gives_back_what_is_under_way(
    run: Callable[..., Running],
) -> None:
    url = made_url("sqlite")
    server = run(url, "--grace", "0")
    connection = server.connect()
    connection.create_sender("orders").send(Message("under way"))
    receiver = connection.create_receiver("orders", credit=1)
    assert receiver.receive(timeout=10).body == "under way"
    assert server.end() == 0
    gone(connection)
    with Store.open(url) as store:
        work = store.take("orders")
        assert work is not None
        assert (work.attempt, store.queues()[0].failures) == (2, 0)


def test_once_is_until_everybody_is_gone(run: Callable[..., Running]) -> None:
    server = run(made_url("sqlite"), "--once")
    connection = server.connect()
    connection.create_sender("orders").send(Message("hello"))
    connection.close()
    assert server.wait() == 0


def test_an_address_in_use_and_a_wrong_one_are_one_line(
    run: Callable[..., Running], tmp_path: Path
) -> None:
    server = run(made_url("sqlite"))
    for address, line in (
        (server.url, "Address already in use, allowed: addresses"),
        ("0.0.0.0:5672", "allowed: amqps://"),
    ):
        ended = subprocess.run(
            [
                *COMMAND,
                "serve",
                "--store",
                f"sqlite:///{tmp_path}/x.db",
                "--listen",
                f"amqp://{address}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 2
        assert line in ended.stderr.splitlines()[-1]


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_a_killed_server_had_is_given_by_another_one(
    run: Callable[..., Running], kind: str
) -> None:
    url = made_url(kind)
    first = run(url)
    connection = first.connect()
    sender = connection.create_sender("orders")
    for n in range(3):
        sender.send(Message(n, group_id="g"))
    receiver = connection.create_receiver("orders", credit=2)
    assert receiver.receive(timeout=10).body == 0
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    gone(connection)
    second = run(url)
    connection = second.connect()
    receiver = connection.create_receiver("orders", credit=1)
    found = []
    for _ in range(3):
        message = receiver.receive(timeout=20)
        found.append((message.body, message.delivery_count))
        receiver.accept()
    assert found == [(0, 1), (1, 1), (2, 1)]
    connection.close()
