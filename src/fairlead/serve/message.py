"""AMQP messages as the store keeps them, and as they go out again.

What a sender sent is kept as it was, bit for bit, but for its delivery annotations, which are for
the next hop alone. The header goes out as the standard says: with the deliveries that there were
before, and with what is left of its time to live.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from fairlead.serve import codec
from fairlead.serve.codec import CodecError, DescribedValue, Symbol, Timestamp, UByte, UInt, ULong
from fairlead.store.queues.bodies import BYTES, JSON, TEXT, Envelope

HEADER, DELIVERY_ANNOTATIONS, ANNOTATIONS, PROPERTIES, APPLICATION_PROPERTIES = range(0x70, 0x75)
DATA, SEQUENCE, VALUE, FOOTER = range(0x75, 0x79)
BODY: Final = frozenset((DATA, SEQUENCE, VALUE))
LISTS: Final = (HEADER, PROPERTIES)
NAMES: Final = {
    "amqp:header:list": HEADER,
    "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    "amqp:message-annotations:map": ANNOTATIONS,
    "amqp:properties:list": PROPERTIES,
    "amqp:application-properties:map": APPLICATION_PROPERTIES,
    "amqp:data:binary": DATA,
    "amqp:amqp-sequence:list": SEQUENCE,
    "amqp:amqp-value:*": VALUE,
    "amqp:footer:map": FOOTER,
}
TTL: Final = 2
"""Its place in a header."""
PROPERTY_NAMES: Final = (
    *("message_id", "user_id", "to", "subject", "reply_to", "correlation_id", "content_type"),
    *("content_encoding", "absolute_expiry", "creation_time", "group_id", "group_sequence"),
    "reply_to_group_id",
)
REPLY_TO: Final = 4
"""Its place in the properties."""
AT: Final = "@"
"""Between a queue and its queue manager, in an address."""
TEXTS: Final = (0xA1, 0xB1, 0xA3, 0xB3)
BINARIES: Final = (0xA0, 0xB0)
SHORT: Final = frozenset((0xA0, 0xA1, 0xC0, 0xC1))
"""Values whose size is said in one byte."""
LONG: Final = frozenset((0xB0, 0xB1, 0xD0, 0xD1))
"""Values whose size is said in four."""
EMPTY: Final = 0x45
"""The list without items."""


class Section(NamedTuple):
    """A part of a message."""

    kind: int
    start: int
    """Where its descriptor begins."""
    value: int
    """Where its value begins."""
    end: int


class Incoming(Struct):
    """A message that was sent over AMQP."""

    body: Envelope
    """As the store keeps it."""
    properties: dict[str, Any]
    """By their names in the standard, `-` as `_`; those that are given."""
    annotations: dict[Any, Any]
    application_properties: dict[Any, Any]
    durable: bool = False
    priority: int | None = None
    ttl: int | None = None
    """Milliseconds."""


def sections(raw: bytes) -> list[Section]:
    """The parts of a message, in the order that they must have. Raises CodecError."""
    parts: list[Section] = []
    at, last = 0, HEADER - 1
    size = len(raw)
    while at < size:
        if raw[at]:
            raise CodecError("found a value that is no section of a message")
        if at + 2 < size and raw[at + 1] == 0x53:
            kind, value = raw[at + 2], at + 3
        else:
            descriptor, value = codec.decode_at(raw, at + 1)
            named = NAMES.get(descriptor, 0) if isinstance(descriptor, Symbol) else descriptor
            kind = int(named) if isinstance(named, int) else 0
        if not last < kind <= FOOTER or kind in BODY:
            _check_order(kind, last)
        end = _end_of(raw, value)
        parts.append(_new(Section, (kind, at, value, end)))
        if len(parts) > codec.MOST_VALUES:
            raise CodecError(f"found more than {codec.MOST_VALUES} sections of a message")
        at, last = end, kind
    if not parts:
        raise CodecError("found no section of a message")
    return parts


_new: Final = tuple.__new__
"""Makes a section without the function that its class has for that, which takes longer."""


def _end_of(raw: bytes, at: int) -> int:
    """As the codec has it, and sooner for what sections mostly are."""
    code = raw[at] if at + 1 < len(raw) else 0
    if code == EMPTY:
        return at + 1
    end = len(raw) + 1
    if code in SHORT:
        end = at + 2 + raw[at + 1]
    elif code in LONG:
        end = at + 5 + int.from_bytes(raw[at + 1 : at + 5])
    return end if end <= len(raw) else codec.end_of(raw, at)


def _check_order(kind: int, last: int) -> None:
    if not HEADER <= kind <= FOOTER:
        raise CodecError(f"found a section with the descriptor {kind:#x}")
    again = kind == last and kind in (DATA, SEQUENCE)
    mixed = kind in BODY and last in BODY and kind != last
    if not again and (kind <= last or mixed):
        raise CodecError("found sections in an order that a message cannot have")


def incoming(raw: bytes) -> Incoming:
    """Read a message. Raises CodecError."""
    budget = codec.Budget()
    message = Incoming(_NOTHING, {}, {}, {})
    body: list[Section] = []
    cut: Section | None = None
    for section in sections(raw):
        kind = section[0]
        if kind in BODY:
            body.append(section)
        elif kind == DELIVERY_ANNOTATIONS:
            cut = section
        elif raw[section[2]] == EMPTY and kind in LISTS:
            continue
        elif kind == HEADER:
            _read_header(message, _list_of(raw, section, budget))
        elif kind == ANNOTATIONS:
            message.annotations = _map_of(raw, section, budget)
        elif kind == PROPERTIES:
            values = _list_of(raw, section, budget)
            named = zip(PROPERTY_NAMES, values, strict=False)
            message.properties = {name: value for name, value in named if value is not None}
        elif kind == APPLICATION_PROPERTIES:
            message.application_properties = _map_of(raw, section, budget)
    rest = raw
    if cut is not None:
        size = cut.end - cut.start
        rest = raw[: cut.start] + raw[cut.end :]
        body = [_moved(part, size) for part in body]  # it stands before them
    message.body = _body(rest, body, budget)
    return message


def answered_at(envelope: Envelope, manager: str) -> Envelope:
    """The same message, whose reply-to says at which queue manager the queue is."""
    raw = envelope.raw
    for section in sections(raw):
        if section.kind != PROPERTIES or raw[section.value] == EMPTY:
            continue
        fields = _list_of(raw, section)
        queue = fields[REPLY_TO] if len(fields) > REPLY_TO else None
        if isinstance(queue, str) and AT not in queue:
            fields[REPLY_TO] = f"{queue}{AT}{manager}"
            properties = codec.encode(DescribedValue(ULong(PROPERTIES), fields))
            return incoming(raw[: section.start] + properties + raw[section.end :]).body
    return envelope


def _moved(section: Section, by: int) -> Section:
    return Section(section.kind, section.start - by, section.value - by, section.end - by)


def _read_header(incoming: Incoming, fields: list[Any]) -> None:
    durable, priority, ttl = (*fields, None, None, None)[:3]
    incoming.durable = durable is True
    if isinstance(priority, UByte):
        incoming.priority = int(priority)
    if isinstance(ttl, UInt):
        incoming.ttl = int(ttl)


def _list_of(raw: bytes, section: Section, budget: codec.Budget | None = None) -> list[Any]:
    fields = codec.decode(raw[section.value : section.end], budget)
    if not isinstance(fields, list):
        raise CodecError("found a section that is no list, where one must be")
    return fields


def _map_of(raw: bytes, section: Section, budget: codec.Budget) -> dict[Any, Any]:
    items = codec.decode(raw[section.value : section.end], budget)
    if not isinstance(items, dict):
        raise CodecError("found a section that is no map, where one must be")
    return items


# -------- the body, for readers who know nothing of AMQP

_NOTHING: Final = Envelope(b"", BYTES, b"")


def _body(raw: bytes, parts: list[Section], budget: codec.Budget) -> Envelope:
    """The body: in its place, where it is bytes or a text; else what it says, as JSON."""
    if not parts:  # no message of the standard, but proton sends None so
        return Envelope(raw, JSON, b"null")
    first = parts[0]
    code = raw[first.value]
    if first.kind == DATA and any(raw[part.value] not in BINARIES for part in parts):
        raise CodecError("found data that is not binary")
    if len(parts) == 1 and first.kind in (DATA, VALUE) and code in (*BINARIES, *TEXTS):
        start = first.value + (2 if code < 0xB0 else 5)
        kind = BYTES if code in BINARIES else TEXT
        if kind == TEXT:
            codec.decode(raw[first.value : first.end])  # a text that UTF-8 can read
        return Envelope(raw, kind, (start, first.end - start))
    values = [codec.decode(raw[part.value : part.end], budget) for part in parts]
    if first.kind == DATA:
        return Envelope(raw, BYTES, b"".join(values))
    if first.kind == VALUE:
        return Envelope(raw, JSON, msgspec.json.encode(plain(values[0])))
    if any(not isinstance(value, list) for value in values):
        raise CodecError("found a sequence that is no list")
    items = [plain(item) for value in values for item in value]
    return Envelope(raw, JSON, msgspec.json.encode(items))


def plain(value: Any) -> Any:  # noqa: ANN401 - of any type of AMQP
    """A value as JSON can say it: what JSON has no type for is a text or a number."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): plain(item) for key, item in value.items()}
    for kind, conversion in _PLAIN.items():
        if isinstance(value, kind):
            return conversion(value)
    return str(value)


_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    bytes: bytes.hex,
    uuid.UUID: str,
    codec.Decimal: lambda value: value.raw.hex(),
    codec.Array: lambda value: [plain(item) for item in value.items],
    DescribedValue: lambda value: plain(value.value),
}


def _key(key: Any) -> str:  # noqa: ANN401
    word = plain(key)
    return word if isinstance(word, str) else msgspec.json.encode(word).decode()


# -------- going out


class DeliveryFacts(NamedTuple):
    """What a message's readers are told of it, that it did not say when it was sent."""

    id: str
    group: str
    type: str | None
    sent: float
    """Seconds since 1970."""
    attempt: int
    now: float


def outgoing(envelope: bytes | None, body: object, facts: DeliveryFacts) -> bytes:
    """A message as it goes to a receiver.

    `envelope`: as it was sent over AMQP; None: a Python or SQL program sent the body.
    """
    if envelope is None:
        return _made(body, facts)
    if facts.attempt == 1 and _is_timeless(envelope):
        return envelope
    parts = sections(envelope)
    header = parts[0] if parts[0].kind == HEADER else None
    fields = [] if header is None else _list_of(envelope, header)
    durable, priority, ttl, before = _of_header(fields)
    if facts.attempt == 1 and ttl is None:
        return envelope
    if isinstance(ttl, UInt):
        spent = max(int((facts.now - facts.sent) * 1000), 0)
        ttl = UInt(max(int(ttl) - spent, 0))
    rest = envelope if header is None else envelope[header.end :]
    return _header(durable, priority, ttl, before + facts.attempt - 1) + rest


def durable(raw: bytes) -> bytes:
    """The same message, which a broker is to keep though it is killed."""
    parts = sections(raw)
    header = parts[0] if parts[0].kind == HEADER else None
    fields = [] if header is None else _list_of(raw, header)
    kept, priority, ttl, before = _of_header(fields)
    if kept is True:
        return raw
    return _header(True, priority, ttl, before) + raw[0 if header is None else header.end :]


USUAL, HIGHEST = 4, 9
"""Of priorities over AMQP: that of a message without one, and the highest."""
STEP: Final = 25
"""In the store they are 0 to 225, and the default is its own, 100."""


def priority_of(said: int | None) -> int:
    """The store's priority for what a header says."""
    return (USUAL if said is None else min(said, HIGHEST)) * STEP


def priority_in(envelope: bytes) -> int:
    """The store's priority for a message that was sent over AMQP."""
    first = sections(envelope)[0]
    fields = _list_of(envelope, first) if first.kind == HEADER else []
    priority = _of_header(fields)[1]
    return priority_of(priority if isinstance(priority, int) else None)


def _is_timeless(envelope: bytes) -> bool:
    """Whether it is seen at once that there is no header, or a short one without a time to live."""
    if envelope[:3] != b"\x00\x53\x70":
        return True
    code = envelope[3]
    return code == EMPTY or (code == 0xC0 and envelope[5] <= TTL)


def _of_header(fields: list[Any]) -> tuple[Any, Any, Any, int]:
    """What a header says that is not of one delivery alone, and how many there were before."""
    durable, priority, ttl, _, before = [*fields, *[None] * 5][:5]
    return durable, priority, ttl, int(before) if isinstance(before, int) else 0


def _header(durable: object, priority: object, ttl: object, before: int) -> bytes:
    """`before`: deliveries that there were."""
    fields: list[object] = [durable, priority, ttl]
    if before:
        fields += [False, UInt(before)]
    while fields and fields[-1] is None:
        fields.pop()
    return b"\x00\x53\x70" + codec.encode(fields)


def _made(body: object, facts: DeliveryFacts) -> bytes:
    """What a program of another kind sent, as a message of AMQP."""
    properties: list[object] = [facts.id, None, None, facts.type, None, None, None, None, None]
    properties += [Timestamp(int(facts.sent * 1000)), facts.group or None]
    head = _header(True, None, None, facts.attempt - 1) + b"\x00\x53\x73" + codec.encode(properties)
    if isinstance(body, bytes):
        return head + b"\x00\x53\x75" + codec.encode(body)
    return head + b"\x00\x53\x77" + codec.encode(body)


DESTINATION: Final = "x-opt-fairlead-destination"
"""In a message's annotations: true asks where it is published to; the answer names it."""


def answer(destination: str | None, said: Mapping[str, object], correlation: object) -> Envelope:
    """The answer to a publisher who asked where its message goes.

    `said`: what else there is to say of it, its body; `correlation`: the message's id.
    """
    properties = [None] * 5 + [correlation]
    raw = (
        b"\x00\x53\x72"
        + codec.encode({Symbol(DESTINATION): destination})
        + b"\x00\x53\x73"
        + codec.encode(properties)
        + b"\x00\x53\x77"
        + codec.encode(dict(said))
    )
    return incoming(raw).body


# -------- what of a message the store looks at


def name_of(value: Any) -> str | None:  # noqa: ANN401 - of any type that a message-id has
    """A message-id as the id of a message in the store: one text for each value; None: none."""
    if value is None or isinstance(value, str):
        return str(value) if value else None
    if isinstance(value, bytes):
        return f"binary:{value.hex()}"
    kind = "uuid" if isinstance(value, uuid.UUID) else "ulong"
    return f"{kind}:{value}"


DELAYS: Final = ("x-opt-delivery-delay",)
TIMES: Final = ("x-opt-delivery-time", "x-opt-scheduled-enqueue-time")


def delay_in(annotations: Mapping[Any, Any], now: float) -> float:
    """Seconds until a message is to arrive, as its annotations say it; 0: at once.

    Raises CodecError for what is no time.
    """
    for name in (*DELAYS, *TIMES):
        value = annotations.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise CodecError(f"{name}: found {plain(value)!r}, allowed: milliseconds from 0 on")
        return max(int(value) / 1000 - (now if name in TIMES else 0.0), 0.0)
    return 0.0


def expiry_of(message: Incoming, now: float, delay: float = 0.0) -> float | None:
    """Seconds until a message is not wanted any more; None: it always is.

    `delay`: until it arrives; one that is not wanted by then arrives, and is a dead letter.
    """
    left = []
    if message.ttl:
        left.append(message.ttl / 1000)
    until = message.properties.get("absolute_expiry")
    if isinstance(until, Timestamp):
        left.append(int(until) / 1000 - now)
    return max(min(left), delay + 0.001) if left else None
