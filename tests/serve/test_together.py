"""Several servers on one store, large messages, and links with the same name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from proton import Message
from proton.reactor import Container
from proton.utils import BlockingConnection, LinkDetached

from fairlead import Store
from tests.serve.serving import Served, serving
from tests.stores import made_url


@pytest.fixture
def two() -> Iterator[tuple[Served, Served]]:
    url = made_url("postgresql")
    with (
        Store.open(url) as one,
        Store.open(url) as other,
        serving(one) as first,
        serving(other) as second,
    ):
        yield first, second


def test_a_queue_is_the_same_from_each_server(two: tuple[Served, Served]) -> None:
    first, second = two
    sender = first.connect().create_sender("orders")
    receiver = second.connect().create_receiver("orders", credit=20)
    found: list[Any] = []
    for n in range(20):
        sender.send(Message(n, group_id="g"))
        if n % 2:
            for _ in range(2):
                found.append(receiver.receive(timeout=10).body)
                receiver.accept()
    assert found == list(range(20))
    sender.connection.close()
    receiver.connection.close()


def test_what_arrives_for_a_held_group_follows_to_its_holder(two: tuple[Served, Served]) -> None:
    first, second = two
    sender = first.connect().create_sender("orders")
    winner = second.connect().create_receiver("orders", credit=10)
    sender.send(Message(0, group_id="g"))
    assert winner.receive(timeout=10).body == 0
    loser = first.connect().create_receiver("orders", credit=10)
    for n in (1, 2):
        sender.send(Message(n, group_id="g"))
        assert winner.receive(timeout=10).body == n
    for _ in range(3):
        winner.accept()
    for each in (sender, winner, loser):
        each.connection.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.slow
def test_a_message_of_100_megabytes_comes_and_goes(kind: str) -> None:
    body = bytes(range(256)) * (100 * 4096)
    with Store.open(made_url(kind)) as store, serving(store) as served:
        connection: Any = BlockingConnection(
            served.url, timeout=120, allowed_mechs="ANONYMOUS", heartbeat=None
        )
        connection.create_sender("large").send(Message(body, inferred=True))
        receiver = connection.create_receiver("large", credit=1)
        assert bytes(receiver.receive(timeout=120).body) == body
        receiver.accept()
        connection.close()


def test_a_link_that_is_attached_again_takes_the_place_of_the_other() -> None:
    with Store.open(made_url("sqlite")) as store, serving(store) as served:
        store.send("orders", "first", group="g")
        first, second = (served.connect(container=called("consumers")) for _ in range(2))
        old = first.create_receiver("orders", name="r", credit=1)
        assert old.receive(timeout=10).body == "first"
        new = second.create_receiver("orders", name="r", credit=1)
        message = new.receive(timeout=10)
        assert (message.body, message.delivery_count) == ("first", 1)
        new.accept()
        with pytest.raises(LinkDetached, match="stolen"):
            old.receive(timeout=5)
        first.close()
        second.close()


def called(name: str) -> Container:
    found = Container()
    found.container_id = name
    return found
