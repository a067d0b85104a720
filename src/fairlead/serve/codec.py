"""The type system of AMQP 1.0 in Python: values from bytes, and bytes from values.

Proton has one, too; this one needs nothing, and keeps what Python's own types do not tell apart:
a ulong is a `ULong`, a symbol is a `Symbol`. What is decoded is encoded as it was,
but for the shortest form.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from typing import Any, Final, NamedTuple

DEPTH: Final = 32
"""So many values may be in each other."""
NULL, TRUE, FALSE = b"\x40", b"\x41", b"\x42"


MOST_VALUES: Final = 65_536
"""So many values may be in a message: each takes a moment in which nobody else is served, and many
times the byte that it came as."""
MOST_EMPTY: Final = 8
"""So many values without bytes may be in an array, which says them in about as many itself."""


class CodecError(ValueError):
    """Bytes that are no value of AMQP."""


class Symbol(str):
    """A name from a list that both sides know."""

    __slots__ = ()


class Integer(int):
    """An integer of a certain width."""

    __slots__ = ()


class UByte(Integer):
    """Unsigned, of one byte."""

    __slots__ = ()


class UShort(Integer):
    """Unsigned, of two bytes."""

    __slots__ = ()


class UInt(Integer):
    """Unsigned, of four bytes."""

    __slots__ = ()


class ULong(Integer):
    """Unsigned, of eight bytes."""

    __slots__ = ()


class Byte(Integer):
    """Signed, of one byte."""

    __slots__ = ()


class Short(Integer):
    """Signed, of two bytes."""

    __slots__ = ()


class Int(Integer):
    """Signed, of four bytes."""

    __slots__ = ()


class Timestamp(Integer):
    """Milliseconds since 1970."""

    __slots__ = ()


class Char(str):
    """One character."""

    __slots__ = ()


class Float(float):
    """A floating-point number of four bytes."""

    __slots__ = ()


class Decimal(NamedTuple):
    """A decimal number, as its 4, 8 or 16 bytes."""

    raw: bytes


class DescribedValue(NamedTuple):
    """A value, and a descriptor that says what it is."""

    descriptor: Any
    value: Any


class Array(NamedTuple):
    """Values of one type, with the bytes of which they were read."""

    items: list[Any]
    raw: bytes


WIDTHS: Final = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
_SHORT_SIZED, _LONG_SIZED = {0xA, 0xC, 0xE}, {0xB, 0xD, 0xF}
_FIXED: Final[dict[int, Callable[[bytes], Any]]] = {
    0x40: lambda _: None,
    0x41: lambda _: True,
    0x42: lambda _: False,
    0x43: lambda _: UInt(0),
    0x44: lambda _: ULong(0),
    0x45: lambda _: [],
    0x50: lambda raw: UByte(raw[0]),
    0x51: lambda raw: Byte(int.from_bytes(raw, signed=True)),
    0x52: lambda raw: UInt(raw[0]),
    0x53: lambda raw: ULong(raw[0]),
    0x54: lambda raw: Int(int.from_bytes(raw, signed=True)),
    0x55: lambda raw: int.from_bytes(raw, signed=True),
    0x56: lambda raw: raw != b"\0",
    0x60: lambda raw: UShort(int.from_bytes(raw)),
    0x61: lambda raw: Short(int.from_bytes(raw, signed=True)),
    0x70: lambda raw: UInt(int.from_bytes(raw)),
    0x71: lambda raw: Int(int.from_bytes(raw, signed=True)),
    0x72: lambda raw: Float(struct.unpack(">f", raw)[0]),
    0x73: lambda raw: Char(_character(raw)),
    0x74: Decimal,
    0x80: lambda raw: ULong(int.from_bytes(raw)),
    0x81: lambda raw: int.from_bytes(raw, signed=True),
    0x82: lambda raw: struct.unpack(">d", raw)[0],
    0x83: lambda raw: Timestamp(int.from_bytes(raw, signed=True)),
    0x84: Decimal,
    0x94: Decimal,
    0x98: lambda raw: uuid.UUID(bytes=bytes(raw)),
}
_VARIABLE: Final[dict[int, Callable[[bytes], Any]]] = {
    0xA0: bytes,
    0xB0: bytes,
    0xA1: lambda raw: _text(raw, "utf-8"),
    0xB1: lambda raw: _text(raw, "utf-8"),
    0xA3: lambda raw: Symbol(_text(raw, "ascii")),
    0xB3: lambda raw: Symbol(_text(raw, "ascii")),
}


def _text(raw: bytes, encoding: str) -> str:
    try:
        return str(raw, encoding)
    except UnicodeDecodeError as error:
        raise CodecError(f"found a text that is no {encoding}: {error.reason}") from None


def _character(raw: bytes) -> str:
    code = int.from_bytes(raw)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise CodecError(f"found a character with the number {code}")
    return chr(code)


def end_of(raw: bytes, at: int) -> int:
    """Where the value ends that begins there. Raises CodecError."""
    for _ in range(DEPTH):
        if at >= len(raw) or raw[at]:
            break
        at = _end_of_plain(raw, at + 1)  # a descriptor, and then a value
    return _end_of_plain(raw, at)


def _end_of_plain(raw: bytes, at: int) -> int:
    if at >= len(raw):
        raise CodecError("found the end inside a value")
    kind = raw[at] >> 4
    if kind in WIDTHS:
        end = at + 1 + WIDTHS[kind]
    elif kind in _SHORT_SIZED:
        end = at + 2 + (raw[at + 1] if at + 1 < len(raw) else 0)
    elif kind in _LONG_SIZED:
        end = at + 5 + int.from_bytes(raw[at + 1 : at + 5])
    else:
        raise CodecError(f"found a value of type 0x{raw[at]:02x}")
    if end > len(raw):
        raise CodecError("found the end inside a value")
    return end


class Budget:
    """How many values may still be found in what belongs together."""

    def __init__(self) -> None:
        """None of the values has been found yet."""
        self._left = MOST_VALUES

    def take(self, count: int) -> None:
        """So many more are found. Raises CodecError where they are too many."""
        self._left -= count
        if self._left < 0:
            raise CodecError(f"found more than {MOST_VALUES} values, allowed: {MOST_VALUES}")


def decode(raw: bytes, budget: Budget | None = None) -> Any:  # noqa: ANN401 - a value of any type
    """The one value that these bytes are. Raises CodecError."""
    value, end = decode_at(raw, 0, budget)
    if end != len(raw):
        raise CodecError(f"found {len(raw) - end} bytes after a value")
    return value


def decode_at(raw: bytes, at: int, budget: Budget | None = None, depth: int = 0) -> tuple[Any, int]:
    """The value that begins there, and where it ends. Raises CodecError."""
    if depth > DEPTH:
        raise CodecError("found values too deep in each other")
    budget = budget or Budget()
    if raw[at : at + 1] == NULL:  # most of what stands in a list of a message
        return None, at + 1
    if at < len(raw) and raw[at] == 0:
        _end_of_plain(raw, at + 1)  # a descriptor has none itself
        descriptor, at = decode_at(raw, at + 1, budget, depth + 1)
        value, at = decode_at(raw, at, budget, depth + 1)
        return DescribedValue(descriptor, value), at
    end = _end_of_plain(raw, at)
    return _value(raw, raw[at], at + 1, end, budget, depth), end


def _value(raw: bytes, code: int, at: int, end: int, budget: Budget, depth: int) -> Any:  # noqa: ANN401
    if code in _FIXED:
        return _FIXED[code](raw[at:end])
    if code in _VARIABLE:
        return _VARIABLE[code](raw[at + (1 if code < 0xB0 else 4) : end])
    if code not in (0xC0, 0xD0, 0xC1, 0xD1, 0xE0, 0xF0):
        raise CodecError(f"found a value of type 0x{code:02x}")
    width = 1 if code >> 4 in _SHORT_SIZED else 4
    at += width
    count = int.from_bytes(raw[at : at + width])
    at += width
    if at > end:
        raise CodecError("found the end inside a value")
    if code in (0xE0, 0xF0):
        return _array(raw, at, end, count, budget, depth)
    items = _items(raw, at, end, count, budget, depth)
    if code in (0xC0, 0xD0):
        return items
    if count % 2:
        raise CodecError("found a map with a key and no value")
    pairs = iter(items)
    return {_key(key): value for key, value in zip(pairs, pairs, strict=True)}


def _key(key: Any) -> Any:  # noqa: ANN401
    try:
        hash(key)
    except TypeError:
        raise CodecError("found a map with a list or map for a key") from None
    return key


def _items(raw: bytes, at: int, end: int, count: int, budget: Budget, depth: int) -> list[Any]:
    if count > end - at:
        raise CodecError(f"found {count} values in {end - at} bytes")
    budget.take(count)
    items = []
    for _ in range(count):
        value, at = decode_at(raw, at, budget, depth + 1)
        items.append(value)
    if at != end:
        raise CodecError("found values whose sizes differ from that of their list")
    return items


def _array(raw: bytes, at: int, end: int, count: int, budget: Budget, depth: int) -> Array:
    start = at
    descriptors = []
    if at < end and raw[at] == 0:
        descriptor, at = decode_at(raw, at + 1, budget, depth + 1)
        descriptors.append(descriptor)
    if at >= end:
        raise CodecError("found an array without a type")
    code, at = raw[at], at + 1
    if count > max(end - at, MOST_EMPTY):
        raise CodecError(f"found {count} values in {end - at} bytes")
    budget.take(count)
    items = []
    for _ in range(count):
        last = _end_of_item(raw, code, at, end)
        items.append(_value(raw, code, at, last, budget, depth + 1))
        at = last
    if at != end:
        raise CodecError("found values whose sizes differ from that of their array")
    for descriptor in descriptors:
        items = [DescribedValue(descriptor, item) for item in items]
    return Array(items, raw[start:end])


def _end_of_item(raw: bytes, code: int, at: int, end: int) -> int:
    kind = code >> 4
    if kind in WIDTHS:
        last = at + WIDTHS[kind]
    elif kind in _SHORT_SIZED:
        last = at + 1 + int.from_bytes(raw[at : at + 1])
    else:
        last = at + 4 + int.from_bytes(raw[at : at + 4])
    if last > end or (last == at and kind != 0x4):
        raise CodecError("found the end inside a value")
    return last


# -------- encoding


def symbols(*names: str) -> Array:
    """An array of names."""
    raw = b"".join(len(name).to_bytes(4) + name.encode("ascii") for name in names)
    return Array([Symbol(name) for name in names], b"\xb3" + raw)


def encode(value: object) -> bytes:
    """The bytes of a value. Raises CodecError for one that AMQP does not have."""
    if value is None:
        return NULL
    if value is True:
        return TRUE
    if value is False:
        return FALSE
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise CodecError(f"found a {type(value).__name__}, which AMQP does not have")


def _sized(short: int, long: int, raw: bytes) -> bytes:
    if len(raw) < 256:
        return bytes((short, len(raw))) + raw
    return bytes((long,)) + len(raw).to_bytes(4) + raw


def _integer(value: int) -> bytes:
    if -128 <= value < 128:
        return b"\x55" + value.to_bytes(1, signed=True)
    if -(2**63) <= value < 2**63:
        return b"\x81" + value.to_bytes(8, signed=True)
    if value < 2**64:
        return b"\x80" + value.to_bytes(8)
    raise CodecError(f"found the integer {value}, which AMQP does not have")


def _unsigned(short: int, zero: bytes, long: int, width: int) -> Callable[[int], bytes]:
    def write(value: int) -> bytes:
        if value == 0:
            return zero
        if value < 256:
            return bytes((short, value))
        return bytes((long,)) + value.to_bytes(width)

    return write


def _compound(short: int, long: int, count: int, raw: bytes) -> bytes:
    if len(raw) < 255 and count < 256:
        return bytes((short, len(raw) + 1, count)) + raw
    return bytes((long,)) + (len(raw) + 4).to_bytes(4) + count.to_bytes(4) + raw


def _list(items: list[Any] | tuple[Any, ...]) -> bytes:
    if not items:
        return b"\x45"
    return _compound(0xC0, 0xD0, len(items), b"".join(map(encode, items)))


def _map(items: dict[Any, Any]) -> bytes:
    raw = b"".join(encode(part) for pair in items.items() for part in pair)
    return _compound(0xC1, 0xD1, 2 * len(items), raw)


_WRITERS: Final[list[tuple[type, Callable[[Any], bytes]]]] = [
    (UByte, lambda value: b"\x50" + value.to_bytes(1)),
    (UShort, lambda value: b"\x60" + value.to_bytes(2)),
    (UInt, _unsigned(0x52, b"\x43", 0x70, 4)),
    (ULong, _unsigned(0x53, b"\x44", 0x80, 8)),
    (Byte, lambda value: b"\x51" + value.to_bytes(1, signed=True)),
    (Short, lambda value: b"\x61" + value.to_bytes(2, signed=True)),
    (Int, lambda value: b"\x71" + value.to_bytes(4, signed=True)),
    (Timestamp, lambda value: b"\x83" + value.to_bytes(8, signed=True)),
    (int, _integer),
    (Float, lambda value: b"\x72" + struct.pack(">f", value)),
    (float, lambda value: b"\x82" + struct.pack(">d", value)),
    (Symbol, lambda value: _sized(0xA3, 0xB3, value.encode("ascii"))),
    (Char, lambda value: b"\x73" + ord(value).to_bytes(4)),
    (str, lambda value: _sized(0xA1, 0xB1, value.encode())),
    (bytes, lambda value: _sized(0xA0, 0xB0, value)),
    (uuid.UUID, lambda value: b"\x98" + value.bytes),
    (
        Decimal,
        lambda value: {4: b"\x74", 8: b"\x84", 16: b"\x94"}[len(value.raw)] + value.raw,
    ),
    (DescribedValue, lambda value: b"\0" + encode(value.descriptor) + encode(value.value)),
    (Array, lambda value: _compound(0xE0, 0xF0, len(value.items), value.raw)),
    (list, _list),
    (tuple, _list),
    (dict, _map),
]
