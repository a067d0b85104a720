"""Messages as the store keeps them, held against proton's own."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any

import msgspec
import proton
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.serve import codec, message
from fairlead.serve.codec import CodecError, encode
from fairlead.serve.message import DeliveryFacts, incoming, outgoing
from fairlead.store.queues.bodies import decoded, encoded, envelope_of

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40
)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    TEXTS,
    st.floats(allow_nan=False, allow_infinity=False),
)
DATA = st.recursive(
    st.one_of(st.none(), SCALARS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=10,
)
FACTS = DeliveryFacts("o-1", "g", None, 1000.0, 1, 1000.0)


@st.composite
def messages(draw: st.DrawFn) -> Any:
    body, inferred = draw(
        st.one_of(
            st.tuples(DATA, st.just(False)),
            st.tuples(st.binary(max_size=400), st.booleans()),
            st.tuples(st.lists(SCALARS, max_size=4), st.just(True)),
        )
    )
    found: Any = proton.Message(body, inferred=inferred)
    found.id = draw(st.one_of(st.none(), TEXTS, st.uuids(), st.integers(0, 2**64 - 1)))
    found.durable = draw(st.booleans())
    found.priority = draw(st.integers(0, 9))
    found.group_id = draw(st.one_of(st.none(), TEXTS))
    found.subject = draw(st.one_of(st.none(), TEXTS))
    found.expiry_time = draw(st.integers(0, 2**40)) / 1000
    if draw(st.booleans()):
        found.properties = draw(st.dictionaries(TEXTS, SCALARS, max_size=3))
    if draw(st.booleans()):
        found.annotations = {proton.symbol("x-opt-a"): draw(SCALARS)}
    return found


@settings(max_examples=150)
@given(messages())
def test_a_message_comes_back_bit_for_bit_and_its_body_can_be_read(sent: Any) -> None:
    raw = bytes(sent.encode())
    found = incoming(raw)
    format_, kept = encoded(found.body)
    assert outgoing(envelope_of(format_, kept), None, FACTS) == raw
    body = decoded(format_, kept)
    expected: Any = sent.body
    assert body == (bytes(expected) if isinstance(expected, memoryview) else expected)
    assert found.application_properties == (sent.properties or {})
    assert found.properties.get("subject") == sent.subject
    assert found.properties.get("group_id") == sent.group_id
    assert found.properties.get("message_id") == sent.id
    assert found.durable == sent.durable
    assert (4 if found.priority is None else found.priority) == sent.priority


@given(messages(), st.data())
def test_what_is_cut_off_is_one_error(sent: proton.Message, data: st.DataObject) -> None:
    raw = bytes(sent.encode())
    with suppress(CodecError):
        incoming(raw[: data.draw(st.integers(0, len(raw) - 1))])


@given(st.binary(max_size=80).map(lambda raw: b"\x00\x53\x77" + raw))
def test_garbage_is_one_error(raw: bytes) -> None:
    with suppress(CodecError):
        encoded(incoming(raw).body)


def test_delivery_annotations_are_for_the_next_hop_alone() -> None:
    sent = proton.Message("hello")
    sent.instructions = {proton.symbol("x-hop"): "secret"}
    raw = bytes(sent.encode())
    found = incoming(raw)
    format_, kept = encoded(found.body)
    assert decoded(format_, kept) == "hello"
    again = proton.Message()
    again.decode(outgoing(envelope_of(format_, kept), None, FACTS))
    assert (again.body, again.instructions) == ("hello", None)


@pytest.mark.parametrize("attempt", [1, 2, 7])
@pytest.mark.parametrize("ttl", [0, 60])
def test_the_header_says_how_often_it_was_delivered_and_what_is_left(
    attempt: int, ttl: int
) -> None:
    sent = proton.Message({"total": 3}, durable=True, priority=7, subject="Order")
    sent.ttl = ttl
    raw = bytes(sent.encode())
    facts = FACTS._replace(attempt=attempt, now=1020.0)
    found = proton.Message()
    found.decode(outgoing(raw, None, facts))
    assert found.delivery_count == attempt - 1
    assert found.ttl == max(ttl - 20, 0)
    assert (found.durable, found.priority, found.subject, found.body) == (
        *(True, 7, "Order", {"total": 3}),
    )


@pytest.mark.parametrize(
    "body", [b"bytes", "a text", {"total": [1, 2.5, None, True]}, [1], 7, None]
)
def test_what_python_sent_is_a_message_of_amqp(body: Any) -> None:
    facts = DeliveryFacts("o-1", "customer-7", "Order", 1000.5, 3, 1010.0)
    found = proton.Message()
    found.decode(outgoing(None, body, facts))
    came: Any = found.body
    got = bytes(came) if isinstance(came, memoryview) else came
    assert got == body
    assert (found.id, found.group_id, found.subject) == ("o-1", "customer-7", "Order")
    assert (found.delivery_count, found.durable, found.creation_time) == (2, True, 1000.5)


def test_several_sections_of_data_are_one_body() -> None:
    raw = b"".join(b"\x00\x53\x75" + encode(each) for each in (b"a", b"b" * 300, b""))
    format_, kept = encoded(incoming(raw).body)
    assert decoded(format_, kept) == b"a" + b"b" * 300
    assert envelope_of(format_, kept) == raw


def test_values_that_json_does_not_have_can_be_read_all_the_same() -> None:
    key = uuid.UUID(int=7)
    value = {
        "at": codec.Timestamp(5),
        key: b"\xff",
        3: codec.DescribedValue(codec.ULong(1), codec.Symbol("s")),
        "many": codec.symbols("a", "b"),
        "nan": float("nan"),
    }
    raw = b"\x00\x53\x77" + encode(value)
    format_, kept = encoded(incoming(raw).body)
    assert decoded(format_, kept) == {
        "at": 5,
        str(key): "ff",
        "3": "s",
        "many": ["a", "b"],
        "nan": None,
    }
    msgspec.json.decode(msgspec.json.encode(message.plain(value)))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x40",
        b"\x00\x53\x10\x45",
        b"\x00\x53\x75\xa1\x01a",
        b"\x00\x53\x76\x40",
        b"\x00\x53\x77\x40\x00\x53\x77\x40",
        b"\x00\x53\x77\x40\x00\x53\x70\x45",
        b"\x00\x53\x73\x40\x00\x53\x77\x40",
        b"\x00\x53\x77\xa1\x01\xff",
        b"\x00",
        b"\x00\x53",
    ],
)
def test_what_is_no_message_is_one_error(raw: bytes) -> None:
    with pytest.raises(CodecError):
        incoming(raw)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ("o-1", "o-1"),
        ("", None),
        (None, None),
        (codec.ULong(5), "ulong:5"),
        (uuid.UUID(int=5), "uuid:00000000-0000-0000-0000-000000000005"),
        (b"\x01\xff", "binary:01ff"),
    ],
)
def test_ids_are_texts_in_the_store(found: Any, name: str | None) -> None:
    assert message.name_of(found) == name


def test_times_are_read_from_the_usual_annotations() -> None:
    assert message.delay_in({"x-opt-delivery-delay": codec.UInt(1500)}, 0.0) == 1.5
    assert message.delay_in({"x-opt-delivery-time": 12_000}, 10.0) == 2.0
    assert message.delay_in({"x-opt-scheduled-enqueue-time": codec.Timestamp(5)}, 10.0) == 0.0
    for wrong in (-5, "soon", True):
        with pytest.raises(codec.CodecError, match="x-opt-delivery-delay: found "):
            message.delay_in({"x-opt-delivery-delay": wrong}, 0.0)
    found = incoming(bytes(proton.Message("x", ttl=5).encode()))
    assert message.expiry_of(found, 10.0) == 5.0
    assert message.expiry_of(found, 10.0, delay=6.0) == 6.001
    found.properties["absolute_expiry"] = codec.Timestamp(9_000)
    assert message.expiry_of(found, 10.0) == 0.001


def test_a_message_says_so_many_values_and_no_more() -> None:
    def message_of(*kinds: int, empty: int) -> bytes:
        values = {0x72: {codec.Symbol("x"): [[]] * empty}, 0x74: {"x": [[]] * empty}}
        return b"".join(
            b"\x00\x53" + bytes((kind,)) + encode(values.get(kind, [[]] * empty)) for kind in kinds
        )

    third = codec.MOST_VALUES // 3 + 1
    incoming(message_of(0x74, 0x76, empty=third))
    for kinds in ((0x72, 0x74, 0x76), (0x76, 0x76, 0x76), (0x74, 0x76, 0x76)):
        with pytest.raises(CodecError, match="more than 65536 values"):
            incoming(message_of(*kinds, empty=third))
    with pytest.raises(CodecError, match="more than 65536 sections"):
        incoming(b"\x00\x53\x75\xa0\x00" * (codec.MOST_VALUES + 1))


@pytest.mark.parametrize("said", [None, False, True])
def test_a_message_is_made_durable_and_nothing_else_changes(said: bool | None) -> None:
    sent = proton.Message(body="x", id="o-1", ttl=5.0)
    sent.priority = 7
    if said is not None:
        sent.durable = said
    raw = bytes(sent.encode())
    made = proton.Message()
    made.decode(message.durable(raw))
    assert (made.durable, made.priority, made.ttl, made.id, made.body) == (True, 7, 5.0, "o-1", "x")
    made.decode(message.durable(raw[message.sections(raw)[0].end :]))
    assert (made.durable, made.id, made.body) == (True, "o-1", "x")
