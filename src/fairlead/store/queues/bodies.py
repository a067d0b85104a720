"""Bodies of messages: bytes, text, or data that JSON can say; given back as they were sent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError

MAX_BODY: Final = 16 * 1024 * 1024
BYTES, TEXT, JSON = 0, 1, 2
_AS_TEXT: Final[dict[int, Callable[[bytes], Any]]] = {
    BYTES: bytes,
    TEXT: bytes.decode,
    JSON: msgspec.json.decode,
}


def encoded(body: object) -> tuple[int, bytes]:
    """The format and the bytes. Raises MessageError."""
    if isinstance(body, bytes | bytearray | memoryview):
        found = BYTES, bytes(body)
    elif isinstance(body, str):
        found = TEXT, _of_text(body)
    else:
        found = JSON, _of_data(body)
    if len(found[1]) > MAX_BODY:
        raise MessageError(f"body: found {len(found[1])} bytes, allowed: at most {MAX_BODY}")
    return found


def decoded(format_: int, body: bytes) -> Any:  # noqa: ANN401 - what was sent
    """The body as it was sent."""
    return _AS_TEXT[format_](bytes(body))


def digest(format_: int, body: bytes) -> str:
    """What tells two bodies apart."""
    return hashlib.sha256(bytes([format_]) + body).hexdigest()


def _of_text(body: str) -> bytes:
    try:
        return body.encode()
    except UnicodeEncodeError:
        raise MessageError("body: found a text that UTF-8 cannot write, allowed: another") from None


def _of_data(body: object) -> bytes:
    try:
        found = msgspec.json.encode(body)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MessageError(
            f"body: found {repr_of(body)} ({line}), allowed: bytes, a text, or data that JSON has"
        ) from None
    if msgspec.json.decode(found) != body:
        raise MessageError(
            f"body: found {repr_of(body)}, which JSON would change, allowed: bytes, a text, or "
            "data that JSON has"
        )
    return found
