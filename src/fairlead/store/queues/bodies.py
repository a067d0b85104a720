"""Bodies of messages: bytes, text, or data that JSON can say; given back as they were sent.

A body may come in an *envelope*: bytes in which a program of another kind sent it, and gets it
back. Its format then says where the body is in what is kept, so that everybody else reads the body
alone, in SQL, too:

    bits 0-1    what the body is: 0 bytes, 1 text, 2 JSON
    bit 2       1: it has an envelope
    bit 3       1: the body stands behind the envelope; 0: it is a part of it
    bits 4-31   where it begins, in bytes
    bits 32-59  how long it is, in bytes
    bit 60      1: it was sent to another destination before, which has failed
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError

MAX_BODY: Final = 16 * 1024 * 1024
MAX_ENVELOPE: Final = 128 * 1024 * 1024
"""Bytes of an envelope with its body."""
BYTES, TEXT, JSON = 0, 1, 2
KIND, ENVELOPED, BEHIND = 0b11, 0b100, 0b1000
REDELIVERED: Final = 1 << 60
_PLACE: Final = (1 << 28) - 1
_AS_TEXT: Final[dict[int, Callable[[bytes], Any]]] = {
    BYTES: bytes,
    TEXT: bytes.decode,
    JSON: msgspec.json.decode,
}


class Envelope(Struct, frozen=True):
    """A body in what a program of another kind sent around it."""

    raw: bytes
    """As it was sent, and is to be given back."""
    kind: int
    """What the body is: BYTES, TEXT, JSON."""
    body: bytes | tuple[int, int]
    """Where it is in these bytes, from its first on and how many; or it itself, if it is not."""


def encoded(body: object) -> tuple[int, bytes]:
    """The format and the bytes. Raises MessageError."""
    if isinstance(body, Envelope):
        return _of_envelope(body)
    if isinstance(body, bytes | bytearray | memoryview):
        encoding = BYTES, bytes(body)
    elif isinstance(body, str):
        encoding = TEXT, _of_text(body)
    else:
        encoding = JSON, _of_data(body)
    if len(encoding[1]) > MAX_BODY:
        raise MessageError(f"body: found {len(encoding[1])} bytes, allowed: at most {MAX_BODY}")
    return encoding


def decoded(format_: int, body: bytes) -> Any:  # noqa: ANN401 - what was sent
    """The body as it was sent, without its envelope."""
    return _AS_TEXT[format_ & KIND](plain(format_, body))


def read(format_: int, body: bytes) -> tuple[Any, str]:
    """The body, and why it cannot be read as what its format says: then it is its bytes.

    A store refuses such a body; one comes by a login of the database that does not ask the library,
    or is JSON of the database's own that Python has no value for, as a number of 1e400 is.
    """
    try:
        return decoded(format_, body), ""
    except (ValueError, RecursionError, KeyError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        what = {TEXT: "UTF-8", JSON: "JSON"}.get(format_ & KIND, f"format {format_}")
        return plain(format_, body), f"its body is no {what} that can be read: {line[:200]}"


def plain(format_: int, body: bytes) -> bytes:
    """The bytes of the body alone."""
    start, size = place_of_body(format_, len(body))
    return bytes(body[start : start + size])


def place_of_body(format_: int, size: int) -> tuple[int, int]:
    """Where the body begins in what is kept, which has so many bytes, and how long it is."""
    if not format_ & ENVELOPED:
        return 0, size
    return format_ >> 4 & _PLACE, format_ >> 32 & _PLACE


def envelope_of(format_: int, body: bytes) -> bytes | None:
    """The envelope, as it was sent; None: it has none."""
    if not format_ & ENVELOPED:
        return None
    return bytes(body[: format_ >> 4 & _PLACE] if format_ & BEHIND else body)


def digest(format_: int, body: bytes) -> str:
    """What tells two bodies apart, whatever they came in."""
    return hashlib.sha256(bytes([format_ & KIND]) + plain(format_, body)).hexdigest()


def _of_envelope(envelope: Envelope) -> tuple[int, bytes]:
    if isinstance(envelope.body, bytes):
        start, size, behind = len(envelope.raw), len(envelope.body), BEHIND
        raw = envelope.raw + envelope.body
    else:
        (start, size), behind, raw = envelope.body, 0, envelope.raw
    if len(raw) > MAX_ENVELOPE:
        raise MessageError(f"body: found {len(raw)} bytes, allowed: at most {MAX_ENVELOPE}")
    return envelope.kind | ENVELOPED | behind | start << 4 | size << 32, raw


def _of_text(body: str) -> bytes:
    try:
        return body.encode()
    except UnicodeEncodeError:
        raise MessageError("body: found a text that UTF-8 cannot write, allowed: another") from None


def _of_data(body: object) -> bytes:
    try:
        data = msgspec.json.encode(body)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MessageError(
            f"body: found {repr_of(body)} ({line}), allowed: bytes, a text, or data that JSON has"
        ) from None
    if msgspec.json.decode(data) != body:
        raise MessageError(
            f"body: found {repr_of(body)}, which JSON would change, allowed: bytes, a text, or "
            "data that JSON has"
        )
    return data
