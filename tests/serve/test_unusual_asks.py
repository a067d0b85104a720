"""What few clients ask for: it is refused by name, and stops nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proton import Message, byte, symbol

from fairlead import Store
from fairlead.serve.codec import DescribedValue, UByte, UInt, ULong, encode
from fairlead.serve.node.link_requests import refusal_of_asked
from fairlead.serve.sasl import AMQP
from fairlead.serve.wire.events import Link, Terminus
from fairlead.serve.wire.names import Frames
from tests.serve.raw import (
    ATTACH,
    CLOSE,
    DETACH,
    DISPOSITION,
    FLOW,
    OPEN,
    SOURCE,
    TARGET,
    Raw,
    attaching,
    beginning,
    flowing,
    frame,
    opening,
    transferring,
)
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
        Terminus("q", filter={"x": DescribedValue(descriptor, "y")}),
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


NUL = "found NUL in it, allowed: a name without"


@pytest.mark.parametrize(
    ("link", "line"),
    [
        (attaching(0, "orders\0x", receives=True), f"source: {NUL}"),
        (attaching(0, "orders\0x"), f"target: {NUL}"),
        (attaching(0, "\0", receives=True), f"source: {NUL}"),
        (attaching(0, "orders", name="mine\0x"), f"link: {NUL}"),
        (attaching(0, "orders").replace(b"\x00\x53\x12", b"\x00\x80" + (0x12).to_bytes(8)), ""),
    ],
)
@pytest.mark.parametrize("at_once", [1, 7, 100_000])
def test_a_name_with_nul_in_it_is_refused_and_means_no_other(
    store: Store, served: Served, link: bytes, line: str, at_once: int
) -> None:
    """However it comes in pieces; and a link beside it is answered."""
    if b"\x00\x80" in link:  # the descriptor written long
        link = (int.from_bytes(link[:4]) + 7).to_bytes(4) + link[4:].replace(b"orders", b"orde\0s")
        line = f"target: {NUL}"
    peer = Raw(served.server.places[0])
    said = opening() + beginning() + link + attaching(1, "letters")
    for at in range(0, len(said), at_once):
        peer.say(said[at : at + at_once])
    heard = [found for _ in range(5) if (found := peer.hear()) is not None]
    refused = [fields for code, fields in heard if code == DETACH]
    assert [fields[2].value[:2] for fields in refused] == [["amqp:invalid-field", line]]
    attached = [fields for code, fields in heard if code == ATTACH]
    assert [fields[6] is None for fields in attached] == [True, False]
    assert store.queues() == []
    peer.close()


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (("a\0b", "shop"), f"container-id: {NUL}"),
        (("a", "shop\0x"), f"hostname: {NUL}"),
        (("a", "shop", UInt(511)), "max-frame-size: found 511, allowed: at least 512"),
        (("a", "shop", UInt(0)), "max-frame-size: found 0, allowed: at least 512"),
    ],
)
def test_an_opening_that_cannot_be_kept_is_refused(
    served: Served, fields: tuple[object, ...], line: str
) -> None:
    peer = Raw(served.server.places[0])
    peer.say(AMQP + frame(OPEN, *fields))
    _, (code, closed) = filter(None, (peer.hear(), peer.hear()))
    assert (code, closed[0].value[:2]) == (CLOSE, ["amqp:invalid-field", line])
    peer.close()


@pytest.mark.parametrize("code", [OPEN, ATTACH])
@pytest.mark.parametrize("found", [UByte(192), [], [None], [UInt(1)] * 7, "x", None, {}])
def test_a_frame_that_says_nothing_right_is_left_to_the_engine(code: int, found: object) -> None:
    frames = Frames(65_536)
    body = encode(DescribedValue(ULong(code), found))
    frames.feed((len(body) + 8).to_bytes(4) + b"\x02\x00\x00\x00" + body)
    assert frames.attached("x", receives=False) is None


TRAFFIC = (
    opening(),
    beginning(),
    attaching(0, "orders"),
    attaching(1, "orde\0s", name="cut"),
    flowing(0, 4),
    attaching(2, "letters", name="mine\0x", receives=True),
)
"""Frames with names that the engine cuts, between others."""


@given(
    frames=st.lists(st.sampled_from(TRAFFIC), max_size=8),
    pieces=st.lists(st.integers(1, 30), max_size=60),
)
def test_names_are_found_however_they_come_in_pieces(
    frames: list[bytes], pieces: list[int]
) -> None:
    said = b"".join((*frames, *TRAFFIC))
    follower = Frames(65_536)
    for length in pieces:
        follower.feed(said[:length])
        said = said[length:]
    follower.feed(said)
    cut = follower.attached("cut", receives=False)
    assert cut is not None
    assert cut.target == "orde\0s"
    mine = follower.attached("mine", receives=True)
    assert mine is not None
    assert mine.link == "mine\0x"
    assert follower.attached("link-0", receives=False) is None


@pytest.mark.parametrize("name", ["to", "subject", "group-id", "message-id"])
def test_a_message_with_nul_in_a_name_is_refused(store: Store, served: Served, name: str) -> None:
    places = {"message-id": 0, "to": 2, "subject": 3, "group-id": 10}
    said: list[object] = [None] * 11
    said[places[name]] = "orders\0x"
    sections = encode(DescribedValue(ULong(0x73), said)) + encode(DescribedValue(ULong(0x77), "x"))
    head = ["sends", UInt(0), False, None, None, DescribedValue(ULong(SOURCE), ["here"])]
    target = DescribedValue(ULong(TARGET), [None if name == "to" else "letters"])
    peer = Raw(served.server.places[0])
    peer.say(opening(), beginning(), frame(ATTACH, *head, target, None, None, UInt(0)))
    while (heard := peer.hear()) is not None and heard[0] != FLOW:
        pass
    peer.say(transferring(0, 0, sections))
    while (heard := peer.hear()) is not None and heard[0] != DISPOSITION:
        pass
    assert heard is not None
    condition, line = heard[1][4].value[0].value[:2]
    assert (condition, "\\x00" in line) == ("amqp:invalid-field", True)
    assert sum(each.messages for each in store.queues()) == 0
    peer.close()
