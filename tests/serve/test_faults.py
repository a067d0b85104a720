"""Databases that are gone for a moment, and disks that are full: clients are told, and go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from proton import Delivery, Message
from proton.utils import SendException

from fairlead import Store
from tests.disks import disk
from tests.serve.serving import serving, wait_until
from tests.store.sql import by_hand
from tests.stores import made_url

BREAK_OFF = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def test_a_server_whose_database_breaks_off_goes_on() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, serving(store) as served:
        connection: Any = served.connect()
        sender = connection.create_sender("orders")
        receiver = connection.create_receiver("orders", credit=5)
        got: dict[int, int] = {}
        for n in range(30):
            if n % 10 == 5:
                by_hand(url, BREAK_OFF)
            send_until_accepted(sender, Message(n, id=f"m{n}", group_id=f"g{n % 3}"))
            if n % 2:
                take(receiver, got)
        while len(got) < 30:
            take(receiver, got)
        assert sorted(got) == list(range(30))
        connection.close()
        wait_until(lambda: store.queues()[0].messages == 0)


def send_until_accepted(sender: Any, message: Message) -> None:
    while True:
        try:
            assert sender.send(message).remote_state == Delivery.ACCEPTED
        except SendException:
            continue
        return


def take(receiver: Any, got: dict[int, int]) -> None:
    message = receiver.receive(timeout=20)
    assert message.body not in got or message.delivery_count
    got[message.body] = message.delivery_count
    receiver.accept()


def is_accepted(sender: Any, body: bytes) -> bool:
    try:
        sender.send(Message(body, inferred=True))
    except SendException:
        return False
    return True


def test_on_a_full_disk_senders_are_told_and_receivers_go_on(tmp_path: Path) -> None:
    with (
        disk(tmp_path / "small", "32m") as folder,
        Store.open(f"sqlite:///{folder}/x.db") as store,
        serving(store) as served,
    ):
        connection = served.connect()
        sender = connection.create_sender("orders")
        body, sent = bytes(100_000), 0
        while is_accepted(sender, body):
            sent += 1
        delivery = sender.link.send(Message(body, inferred=True))
        connection.wait(lambda: delivery.settled)
        assert delivery.remote.condition.name == "amqp:resource-limit-exceeded"
        receiver = connection.create_receiver("orders", credit=5)
        for _ in range(sent):
            receiver.receive(timeout=20)
            receiver.accept()
        connection.close()
        wait_until(lambda: store.queues()[0].messages == 0)


def test_a_fault_of_ours_ends_no_step_that_all_depend_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store, Store.open(url) as elsewhere, serving(store) as served:
        wait, tick = store.waker.wait, served.server.node.tick
        left = {"wait": 2, "tick": 2}

        def faulty(name: str, then: Any) -> Any:
            def step(*given: Any) -> Any:
                if left[name]:
                    left[name] -= 1
                    raise ZeroDivisionError(name)
                return then(*given)

            return step

        monkeypatch.setattr(store.waker, "wait", faulty("wait", wait))
        monkeypatch.setattr(served.server.node, "tick", faulty("tick", tick))
        connection: Any = served.connect()
        receiver = connection.create_receiver("orders", credit=1)
        wait_until(lambda: not any(left.values()))
        elsewhere.send("orders", "from elsewhere")
        assert receiver.receive(timeout=20).body == "from elsewhere"
        connection.close()
    assert {"step=_hear", "step=_tick"} <= set(caplog.text.split())


def test_a_fault_in_one_connection_ends_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: float) -> None:
        raise ZeroDivisionError

    with Store.open(made_url("sqlite")) as store, serving(store) as served:
        first, second = served.connect(), served.connect()
        (one,) = [
            each for each in served.server.sessions if each.peer.container == container(first)
        ]
        monkeypatch.setattr(one, "tick", broken)
        wait_until(lambda: len(served.server.sessions) == 1)
        assert is_accepted(second.create_sender("orders"), b"still here")
        second.close()


def container(connection: Any) -> str:
    return str(connection.conn.container)
