"""What few clients ask for: it is refused by name, and stops nobody."""

from __future__ import annotations

import pytest
from proton import Message, byte, symbol

from fairlead import Store
from fairlead.serve.codec import Described
from fairlead.serve.node.asked import refusal_of_asked
from fairlead.serve.wire.records import Link, Terminus
from tests.serve.serving import Served


@pytest.mark.parametrize("kind", [1, 3])
def test_a_message_to_a_topic_is_refused_on_a_link_without_an_address(
    store: Store, served: Served, kind: int
) -> None:
    connection = served.connect()
    sender = connection.create_sender(None)
    message = Message("x", address="prices", annotations={symbol("x-opt-jms-dest"): byte(kind)})
    answer = sender.send(message, error_states=[])
    assert answer.remote.condition.name == "amqp:not-implemented"
    assert "topic" in answer.remote.condition.description
    message.annotations = {symbol("x-opt-jms-dest"): byte(0)}
    sender.send(message)
    assert [each.queue for each in store.queues()] == ["prices"]
    connection.close()


def test_a_message_to_another_broker_s_form_of_an_address_is_refused(
    store: Store, served: Served
) -> None:
    connection = served.connect()
    sender = connection.create_sender(None)
    answer = sender.send(Message("x", address="/queues/orders"), error_states=[])
    assert answer.remote.condition.name == "amqp:not-found"
    assert store.queues() == []
    connection.close()


@pytest.mark.parametrize("descriptor", [["a", "list"], {}, None, b"x"])
def test_a_filter_with_an_odd_descriptor_is_none_that_is_known(descriptor: object) -> None:
    link = Link(
        1,
        "r",
        True,
        Terminus("q", filter={"x": Described(descriptor, "y")}),
        Terminus(None),
        {},
        False,
        0,
    )
    assert refusal_of_asked(link) is None
