"""Clusters of a store, to which clients of proton's publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from proton import Delivery, Message, symbol
from proton.utils import LinkDetached, SendException

from fairlead import Store
from tests.serve.serving import Served
from tests.store.test_held_clusters import CLUSTERS as ALL
from tests.store.test_held_clusters import publishing

CLUSTERS = ALL[:3]
"""Those of either database."""

FILE = """
policy = "weighted"
[[destination]]
name = "A"
weight = 2
[[destination]]
name = "B"
weight = 1
queue = "b-orders"
"""
KEYED = """
policy = "rendezvous"
[options]
key = "group"
[[destination]]
name = "A"
[[destination]]
name = "B"
"""


def load(store: Store, folder: Path, text: str) -> None:
    file = folder / "pool.toml"
    file.write_text(text)
    store.load_clusters(file)


def test_the_policy_chooses_the_queue(store: Store, served: Served, tmp_path: Path) -> None:
    load(store, tmp_path, FILE)
    connection = served.connect()
    receiver = connection.create_receiver("A", credit=10)
    sender = connection.create_sender("pool")
    for n in range(6):
        sender.send(Message(n, properties={"colour": "red", "size": 1.5}))  # nobody reads them
    assert {each.queue: each.messages for each in store.queues()} == {"A": 4, "b-orders": 2}
    found: list[Any] = []
    for _ in range(4):
        found.append(receiver.receive(timeout=10).body)
        receiver.accept()
    assert found == [0, 2, 3, 5]
    connection.close()


def test_nobody_left_is_a_condition_of_its_own(
    store: Store, served: Served, tmp_path: Path
) -> None:
    load(store, tmp_path, FILE)
    connection = served.connect()
    sender = connection.create_sender("pool")
    for name in ("A", "B"):
        store.change("pool", name, "enabled", False)
    delivery = sender.link.send(Message("nobody"))
    connection.wait(lambda: delivery.settled)
    assert delivery.remote_state == Delivery.REJECTED
    assert delivery.remote.condition.name == "fairlead:no-destination"
    store.change("pool", "A", "enabled", True)
    sender.send(Message("somebody"))
    assert {each.queue: each.messages for each in store.queues()} == {"A": 1}
    connection.close()


def test_whom_a_run_refuses_is_told_its_name(store: Store, served: Served) -> None:
    store.keep_clusters(CLUSTERS)
    connection = served.connect()
    sender = connection.create_sender("busy")
    with publishing(store.url, "refuse"):
        delivery = sender.link.send(Message("nobody"))
        connection.wait(lambda: delivery.settled)
    assert delivery.remote_state == Delivery.REJECTED
    assert delivery.remote.condition.name == "amqp:resource-limit-exceeded"
    assert "found that bulk run 'night' is publishing" in delivery.remote.condition.description
    sender.send(Message("somebody"))
    connection.close()


def test_application_properties_are_what_the_policy_reads(
    store: Store, served: Served, tmp_path: Path
) -> None:
    load(store, tmp_path, KEYED)
    connection = served.connect()
    sender = connection.create_sender("pool")
    for n in range(12):
        sender.send(Message(n, properties={"group": f"g{n % 3}"}))
    homes = {f"g{n % 3}": each.queue for each in store.queues() for n in numbers(store, each.queue)}
    assert len(homes) == 3
    connection.close()


def numbers(store: Store, queue: str) -> list[int]:
    found = []
    while (work := store.take(queue)) is not None:
        with work:
            found += [message.body for message in work]
    return found


def test_nobody_receives_from_a_cluster(store: Store, served: Served, tmp_path: Path) -> None:
    load(store, tmp_path, FILE)
    connection = served.connect()
    with pytest.raises(LinkDetached, match="not-allowed"):
        connection.create_receiver("pool")
    connection.close()


def test_a_publisher_is_told_where_its_message_goes_if_it_asks(
    store: Store, served: Served, tmp_path: Path
) -> None:
    load(store, tmp_path, FILE)
    connection = served.connect()
    sender = connection.create_sender("pool")
    receiver = connection.create_receiver("answers", credit=5)
    asks = {symbol("x-opt-fairlead-destination"): True}
    for n in range(3):
        sender.send(Message(n, id=f"m{n}", reply_to="answers", annotations=asks))
    sender.send(Message("does not ask", reply_to="answers"))
    found = []
    for _ in range(3):
        answer: Any = receiver.receive(timeout=10)
        found.append((answer.correlation_id, answer.annotations, answer.body["sequence"]))
        receiver.accept()
    names = [found[n][1]["x-opt-fairlead-destination"] for n in range(3)]
    assert (names, [each[0] for each in found]) == (["A", "B", "A"], ["m0", "m1", "m2"])
    assert [each[2] for each in found] == [0, 1, 2]
    with pytest.raises(SendException):
        sender.send(Message("nowhere to", annotations=asks))
    connection.close()


def test_a_link_without_an_address_sends_to_what_each_message_names(
    store: Store, served: Served, tmp_path: Path
) -> None:
    load(store, tmp_path, FILE)
    connection = served.connect()
    sender = connection.create_sender(None)
    for address in ("pool", "orders", "pool"):
        sender.send(Message("x", address=address))
    with pytest.raises(SendException):
        sender.send(Message("nowhere"))
    assert {each.queue: each.messages for each in store.queues()} == {
        "A": 1,
        "b-orders": 1,
        "orders": 1,
    }
    connection.close()
