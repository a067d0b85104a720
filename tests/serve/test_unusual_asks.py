"""What few clients ask for: it is refused by name, and stops nobody."""

from __future__ import annotations

import pytest
from proton import Message, byte, symbol

from fairlead import Store
from fairlead.serve.codec import Described, UInt
from fairlead.serve.node.asked import refusal_of_asked
from fairlead.serve.wire.records import Link, Terminus
from tests.serve.raw import ATTACH, DETACH, FLOW, Raw, attaching, beginning, flowing, frame, opening
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


def test_a_link_that_is_refused_has_neither_source_nor_target(served: Served) -> None:
    peer = Raw(served.server.places[0])
    peer.say(opening(), beginning(), attaching(0, "$management", receives=True))
    heard = [peer.hear() for _ in range(4)]
    attach, detach = (fields for code, fields in filter(None, heard) if code in (ATTACH, DETACH))
    assert (attach[5:7], detach[2].value[0]) == ([None, None], "amqp:not-found")
    peer.close()


def test_a_drain_that_takes_the_credit_back_ends_its_link(served: Served) -> None:
    """The engine does not answer it, and who sent it waits for the answer."""
    peer = Raw(served.server.places[0])
    peer.say(opening(), beginning(), attaching(0, "orders", receives=True), flowing(0, 4))
    assert [peer.hear()[0] for _ in range(3)][-1] == ATTACH  # type: ignore[index]
    window = [UInt(0), UInt(2**31 - 1), UInt(0), UInt(2**31 - 1)]
    peer.say(frame(FLOW, *window, UInt(0), UInt(0), UInt(0), None, True))
    heard = peer.hear()
    assert heard is not None
    assert (heard[0], heard[1][2].value[0]) == (DETACH, "amqp:not-implemented")
    peer.close()
