"""The type system, held against proton's own codec."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import proton
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.serve import codec
from fairlead.serve.codec import CodecError, DescribedValue, Symbol, decode, encode

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300),
    st.binary(max_size=300),
    st.uuids(),
    st.integers(0, 2**64 - 1).map(codec.ULong),
    st.integers(0, 2**32 - 1).map(codec.UInt),
    st.integers(0, 2**16 - 1).map(codec.UShort),
    st.integers(0, 255).map(codec.UByte),
    st.integers(-(2**31), 2**31 - 1).map(codec.Int),
    st.integers(-(2**15), 2**15 - 1).map(codec.Short),
    st.integers(-128, 127).map(codec.Byte),
    st.integers(0, 2**62).map(codec.Timestamp),
    st.text("abcdefgh-:", max_size=300).map(Symbol),
)
KEYS = st.one_of(st.text("abcdef", max_size=5), st.integers(0, 9), st.uuids())
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(KEYS, inner, max_size=5),
        st.builds(DescribedValue, st.integers(0, 2**63).map(codec.ULong), PLAIN),
    ),
    max_leaves=20,
)
TO_PROTON: dict[type, Any] = {
    codec.ULong: proton.ulong,
    codec.UInt: proton.uint,
    codec.UShort: proton.ushort,
    codec.UByte: proton.ubyte,
    codec.Int: proton.int32,
    codec.Short: proton.short,
    codec.Byte: proton.byte,
    codec.Timestamp: proton.timestamp,
    Symbol: proton.symbol,
}


def as_proton(value: Any) -> Any:
    if isinstance(value, DescribedValue):
        return proton.Described(as_proton(value.descriptor), as_proton(value.value))
    if isinstance(value, list):
        return [as_proton(each) for each in value]
    if isinstance(value, dict):
        return {as_proton(key): as_proton(each) for key, each in value.items()}
    kind = TO_PROTON.get(type(value))
    return value if kind is None else kind(value)


def by_proton(value: Any) -> bytes:
    data = proton.Data()
    data.put_object(as_proton(value))
    return bytes(data.encode())


def typed(value: Any) -> Any:
    """With the type of each value, which `==` does not look at."""
    if isinstance(value, DescribedValue):
        return ("described", typed(value.descriptor), typed(value.value))
    if isinstance(value, list):
        return [typed(each) for each in value]
    if isinstance(value, dict):
        return [(typed(key), typed(each)) for key, each in value.items()]
    return type(value), value


@settings(max_examples=60)
@given(VALUES)
def test_what_proton_writes_is_read_as_it_was(value: Any) -> None:
    assert typed(decode(by_proton(value))) == typed(value)


@settings(max_examples=60)
@given(VALUES)
def test_proton_reads_what_is_written(value: Any) -> None:
    data = proton.Data()
    raw = encode(value)
    assert data.decode(raw) == len(raw)
    data.rewind()
    data.next()
    assert by_proton(value) == by_proton_again(data)
    assert codec.end_of(raw, 0) == len(raw)


def by_proton_again(data: proton.Data) -> bytes:
    other = proton.Data()
    other.put_object(data.get_object())
    return bytes(other.encode())


@given(st.binary(max_size=60))
def test_garbage_is_refused_or_read_and_never_more(raw: bytes) -> None:
    with suppress(CodecError):
        decode(raw)


@given(VALUES, st.data())
def test_what_is_cut_off_is_refused(value: Any, data: st.DataObject) -> None:
    raw = encode(value)
    cut = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(CodecError):
        decode(raw[:cut])


def test_arrays_are_read_and_written_again() -> None:
    data = proton.Data()
    data.put_object(proton.Array(cast(Any, proton.UNDESCRIBED), proton.Data.INT, 1, 2, 300))
    found = decode(bytes(data.encode()))
    assert found.items == [1, 2, 300]
    assert decode(encode(found)) == found
    names = codec.symbols("a", "queue")
    assert decode(encode(names)).items == ["a", "queue"]


@pytest.mark.parametrize(
    "raw",
    [
        bytes(1000),
        b"\x00\x53" * 1000,
        b"\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xd0\x00\x00\x00\x04\xff\xff\xff\xff",
        b"\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x40",
        b"\xc0\x02" * 500,
        b"\xc1\x03\x01\x40\x40",
        b"\xc1\x03\x02\x45\x40",
        b"\xa1\x01\xff",
        b"\x73\xff\xff\xff\xff",
        b"\x30",
        b"\x40\x40",
        encode([[[1]]])[:-1],
    ],
)
def test_what_is_no_value_is_one_error(raw: bytes) -> None:
    with pytest.raises(CodecError):
        decode(raw)


def test_values_that_are_too_deep_are_refused() -> None:
    value: Any = 1
    for _ in range(codec.DEPTH):
        value = [value]
    assert decode(encode(value)) == value
    with pytest.raises(CodecError, match="too deep"):
        decode(encode([value]))


@pytest.mark.parametrize("value", [2**64, {1, 2}, object()])
def test_what_amqp_does_not_have_is_not_written(value: object) -> None:
    with pytest.raises(CodecError):
        encode(value)


def test_a_decimal_is_kept_as_its_bytes() -> None:
    raw = b"\x84" + bytes(range(8))
    assert encode(decode(raw)) == raw
    twice = DescribedValue(
        codec.ULong(1), DescribedValue(Symbol("a"), None)
    )  # proton loses count of it
    assert decode(encode([twice, 1])) == [twice, 1]
    assert decode(encode(uuid.UUID(int=5))) == uuid.UUID(int=5)


@pytest.mark.parametrize("item", [b"\x40", b"\x41", b"\x43", b"\x45"])
def test_an_array_of_what_takes_no_bytes_says_no_more_than_it_is_long(item: bytes) -> None:
    def array(count: int) -> bytes:
        return b"\xf0" + (5).to_bytes(4) + count.to_bytes(4) + item

    assert len(decode(array(codec.MOST_EMPTY)).items) == codec.MOST_EMPTY
    with pytest.raises(CodecError, match="9 values in 0 bytes"):
        decode(array(codec.MOST_EMPTY + 1))


@pytest.mark.parametrize(
    "many", [list, tuple, lambda each: {key: [] for key in range(len(each) // 2)}]
)
def test_values_are_counted_wherever_they_are(many: Callable[[list[Any]], Any]) -> None:
    half = many([[]] * (codec.MOST_VALUES // 4))
    decode(encode([half, half]))
    with pytest.raises(CodecError, match="more than 65536 values"):
        decode(encode([half] * 4))
