"""SASL before AMQP: who is let in by which mechanism, and what every mistake is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proton import SASL, Connection, Transport

from fairlead.serve import codec, sasl
from fairlead.serve.codec import DescribedValue, Symbol, ULong
from fairlead.serve.sasl import Entered, Login, Refused, Sasl, Step, offered

EVERY = ("EXTERNAL", "PLAIN", "ANONYMOUS")
ANNA = Login("anna", b"secret")


def frame(code: int, *fields: Any, kind: int = 1) -> bytes:
    body = codec.encode(DescribedValue(ULong(code), list(fields)))
    return (len(body) + 8).to_bytes(4) + bytes((2, kind, 0, 0)) + body


def init(mechanism: str, first: bytes | None = None) -> bytes:
    return frame(sasl.INIT, Symbol(mechanism), first)


PLAIN = init("PLAIN", b"\0anna\0secret")


def said(layer: Sasl) -> list[tuple[int, Any]]:
    """What the layer says after its header: codes of frames, and their first fields."""
    raw, found = layer.output(), []
    assert raw[:8] == sasl.HEADER
    raw = raw[8:]
    while raw:
        size = int.from_bytes(raw[:4])
        described = codec.decode(raw[8:size])
        field = described.value[0]
        found.append((int(described.descriptor), getattr(field, "items", field)))
        raw = raw[size:]
    return found


def spoken(layer: Sasl, *data: bytes) -> Step | None:
    """The last step that is to be taken as all of this comes."""
    return [layer.feed(each) for each in data][-1]


def test_who_is_on_this_machine_needs_no_name_where_that_is_allowed() -> None:
    layer = Sasl(EVERY)
    step = spoken(layer, sasl.HEADER, init("ANONYMOUS", b"me") + sasl.AMQP)
    assert (step, layer.over) == (Entered("anonymous", sasl.AMQP), True)
    assert said(layer) == [(sasl.MECHANISMS, [*EVERY]), (sasl.OUTCOME, sasl.OK)]
    assert (layer.feed(b"more"), layer.late(), layer.output()) == (None, None, b"")


def test_amqp_without_sasl_is_for_those_without_a_name() -> None:
    assert Sasl(EVERY).feed(sasl.AMQP + b"more") == Entered("anonymous", sasl.AMQP + b"more")
    layer = Sasl(("PLAIN",))
    step = layer.feed(sasl.AMQP)
    assert isinstance(step, Refused)
    assert (step.condition.name, layer.output()) == (sasl.UNAUTHORIZED, sasl.HEADER)


@pytest.mark.parametrize(
    ("found", "code"), [(True, sasl.OK), (False, sasl.AUTH), (None, sasl.SYSTEM)]
)
def test_a_password_is_checked_elsewhere(found: bool | None, code: int) -> None:
    layer = Sasl(("PLAIN",))
    assert spoken(layer, sasl.HEADER, PLAIN + b"AM") == ANNA
    assert layer.feed(b"QP") is None
    step = layer.answer(found)
    assert said(layer) == [(sasl.MECHANISMS, ["PLAIN"]), (sasl.OUTCOME, code)]
    if found:
        assert step == Entered("anna", b"AMQP")
    else:
        assert isinstance(step, Refused)
    assert (layer.over, layer.answer(True)) == (True, None)


def test_plain_may_wait_to_be_asked() -> None:
    layer = Sasl(("PLAIN",))
    response = frame(sasl.RESPONSE, b"anna\0anna\0secret")
    assert spoken(layer, sasl.HEADER, init("PLAIN")) is None
    assert said(layer) == [(sasl.MECHANISMS, ["PLAIN"]), (sasl.CHALLENGE, b"")]
    assert layer.feed(response) == ANNA


def test_a_certificate_says_who_it_is() -> None:
    for first, user in ((None, "anna"), (b"", "anna"), (b"anna", "anna"), (b"berta", None)):
        step = spoken(Sasl(EVERY, "anna"), sasl.HEADER, init("EXTERNAL", first))
        assert isinstance(step, Entered if user else Refused)


def test_a_secret_is_in_no_text() -> None:
    assert repr(ANNA) == str(ANNA) == f"{ANNA}" == "Login('anna')"


def test_what_is_offered() -> None:
    def names(**facts: bool) -> tuple[str, ...]:
        none = dict.fromkeys(("loopback", "secure", "users", "certified", "anonymous"), False)
        return offered(**none | facts)

    assert names() == names(users=True, anonymous=True) == names(certified=True) == ()
    assert names(users=True, secure=True, anonymous=True) == ("PLAIN",)
    assert names(users=True, loopback=True, anonymous=True) == ("PLAIN", "ANONYMOUS")
    assert names(certified=True, secure=True) == ("EXTERNAL",)


def changed(at: int, byte: int) -> bytes:
    return PLAIN[:at] + bytes((byte,)) + PLAIN[at + 1 :]


@pytest.mark.parametrize(
    ("mechanisms", "data", "name"),
    [
        (EVERY, b"GET / HTTP/1.1\r\n", sasl.FRAMING),
        (EVERY, b"\x16\x03\x01", sasl.FRAMING),
        (EVERY, b"AMQP\x00\x00\x09\x01", sasl.FRAMING),
        (EVERY, b"AMQP\x02\x01\x00\x00", sasl.FRAMING),
        ((), sasl.HEADER, sasl.UNAUTHORIZED),
        (EVERY, sasl.HEADER + b"\xff\xff\xff\xff\x02\x01\x00\x00", sasl.FRAMING),
        (EVERY, sasl.HEADER + b"\x00\x00\x02\x01\x02\x01\x00\x00", sasl.FRAMING),
        (EVERY, sasl.HEADER + b"\x00\x00\x00\x07\x02\x01\x00\x00", sasl.FRAMING),
        (EVERY, sasl.HEADER + changed(4, 1), sasl.FRAMING),
        (EVERY, sasl.HEADER + changed(4, 255), sasl.FRAMING),
        (EVERY, sasl.HEADER + changed(5, 0), sasl.FRAMING),
        (EVERY, sasl.HEADER + changed(8, 0x40), sasl.DECODE),
        (EVERY, sasl.HEADER + changed(8, 0xFF), sasl.DECODE),
        (EVERY, sasl.HEADER + b"\x00\x00\x00\x08\x02\x01\x00\x00", sasl.DECODE),
        (EVERY, sasl.HEADER + frame(sasl.RESPONSE, b"x"), sasl.FRAMING),
        (EVERY, sasl.HEADER + frame(sasl.OUTCOME, codec.UByte(0)), sasl.FRAMING),
        (EVERY, sasl.HEADER + frame(0x10, "open", kind=0), sasl.FRAMING),
        (EVERY, sasl.HEADER + frame(sasl.INIT), sasl.DECODE),
        (EVERY, sasl.HEADER + frame(sasl.INIT, "PLAIN"), sasl.DECODE),
        (EVERY, sasl.HEADER + init("CRAM-MD5"), sasl.NOT_ALLOWED),
        (("PLAIN",), sasl.HEADER + init("ANONYMOUS"), sasl.NOT_ALLOWED),
        (EVERY, sasl.HEADER + init("PLAIN", b"anna"), sasl.DECODE),
        (EVERY, sasl.HEADER + init("PLAIN", b"\0anna\0"), sasl.DECODE),
        (EVERY, sasl.HEADER + init("PLAIN", b"\0\0secret"), sasl.DECODE),
        (EVERY, sasl.HEADER + init("PLAIN", b"berta\0anna\0secret"), sasl.DECODE),
        (EVERY, sasl.HEADER + init("PLAIN", b"\0\xff\0secret"), sasl.DECODE),
        (EVERY, sasl.HEADER + init("PLAIN") + frame(sasl.RESPONSE), sasl.DECODE),
        (EVERY, sasl.HEADER + init("PLAIN") + PLAIN, sasl.FRAMING),
    ],
)
def test_each_mistake_ends_with_one_condition(
    mechanisms: tuple[str, ...], data: bytes, name: str
) -> None:
    layer = Sasl(mechanisms)
    step = layer.feed(data)
    assert isinstance(step, Refused)
    assert (step.condition.name, bool(step.condition.description)) == (name, True)
    assert "secret" not in step.condition.description
    assert layer.over
    codes = [field for code, field in said(layer) if code == sasl.OUTCOME]
    assert codes in ([], [sasl.AUTH], [sasl.PERMANENT])
    assert layer.feed(b"more") is None


def test_what_comes_before_a_password_is_checked_is_kept_up_to_a_limit() -> None:
    layer = Sasl(EVERY)
    assert spoken(layer, sasl.HEADER, PLAIN) == ANNA
    assert layer.feed(b"x" * sasl.EARLY) is None
    step = layer.feed(b"x")
    assert isinstance(step, Refused)
    assert step.condition.name == sasl.LIMIT


def test_who_takes_too_long_is_refused() -> None:
    for data in ((), (sasl.HEADER[:3],), (sasl.HEADER,), (sasl.HEADER, PLAIN)):
        layer = Sasl(EVERY)
        for each in data:
            layer.feed(each)
        step = layer.late()
        assert isinstance(step, Refused)
        assert step.condition.name == sasl.LIMIT
        assert (layer.over, layer.answer(True)) == (True, None)


@given(st.binary(max_size=64), st.integers(0, 4))
def test_whatever_comes_there_is_an_answer(data: bytes, start: int) -> None:
    """After a start that is right, and any bytes: nothing is raised, and nobody is let in."""
    right = sasl.HEADER + PLAIN
    layer = Sasl(("PLAIN",))
    step = layer.feed(right[: len(right) * start // 5] + data)
    assert step is None or isinstance(step, Login | Refused)
    assert len(layer.output()) < 200


@given(st.lists(st.integers(1, 20), max_size=20))
def test_it_does_not_matter_how_the_bytes_come(sizes: list[int]) -> None:
    data, layer, steps = sasl.HEADER + init("ANONYMOUS") + sasl.AMQP, Sasl(EVERY), []
    rest = b""
    for size in [*sizes, len(data)]:
        piece, data = data[:size], data[size:]
        if layer.over:
            rest += piece
        elif (step := layer.feed(piece)) is not None:
            steps.append(step)
    (entered,) = steps
    assert isinstance(entered, Entered)
    assert entered.data + rest == sasl.AMQP


def client(user: str | None = None, password: str | None = None) -> Transport:
    """A client of proton's, which begins to connect."""
    transport, connection = Transport(), Connection()
    if user is not None:
        connection.user, connection.password = user, password
        SASL(transport).allow_insecure_mechs = True
    SASL(transport)
    transport.bind(connection)
    connection.open()
    return transport


def carried(transport: Transport, layer: Sasl, check: Callable[[Login], bool]) -> Step | None:
    """Carry bytes to and fro until nobody says anything more; the last step."""
    last: Step | None = None
    while True:
        pending = max(transport.pending(), 0)
        data = bytes(transport.peek(pending) or b"")
        transport.pop(len(data))
        step = layer.feed(data)
        while step is not None:
            last, step = step, layer.answer(check(step)) if isinstance(step, Login) else None
        says = layer.output()
        if says:
            transport.push(says)
        if not data and not says:
            return last


def test_a_client_of_proton_is_let_in_and_refused() -> None:
    anybody, anna, wrong = client(), client("anna", "secret"), client("anna", "guess")
    assert isinstance(carried(anybody, Sasl(EVERY), lambda _: False), Entered)
    found = carried(anna, Sasl(("PLAIN",)), ANNA.__eq__)
    assert isinstance(found, Entered)
    assert found.user == "anna"
    assert SASL(anna).outcome == SASL.OK
    assert isinstance(carried(wrong, Sasl(("PLAIN",)), ANNA.__eq__), Refused)
    assert SASL(wrong).outcome == SASL.AUTH
    assert wrong.condition.name == "amqp:unauthorized-access"
