"""What a message is as a request of HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from fairlead.store.message import GivenMessage
from fairlead.store.queues.bodies import BYTES, JSON, KIND, TEXT, encoded

VISIBLE: Final = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")
"""What stands in a header as it is."""
MEDIA: Final = {
    BYTES: "application/octet-stream",
    TEXT: "text/plain; charset=utf-8",
    JSON: "application/json",
}


def content(message: GivenMessage) -> tuple[str, bytes]:
    """The media type and the bytes of a body: bytes as they are, text in UTF-8, data as JSON."""
    format_, body = encoded(message.body)
    return MEDIA[format_ & KIND], body


def headers(message: GivenMessage, priority: int | None, attempt: int) -> Iterator[tuple[str, str]]:
    """What is said of a message, besides its body.

    Each value is visible ASCII: other characters are written as in URLs (`%C3%A9`).
    """
    yield "Idempotency-Key", in_header(message.id)
    if message.group:
        yield "Fairlead-Group", in_header(message.group)
    if message.type:
        yield "Fairlead-Type", in_header(message.type)
    if message.tenant:
        yield "Fairlead-Tenant", in_header(message.tenant)
    if priority is not None:
        yield "Fairlead-Priority", str(priority)
    yield "Fairlead-Attempt", str(attempt)


def in_header(text: str) -> str:
    """A name as a header can carry it.

    >>> print(in_header("o-1"), in_header("Zoë 50%"))
    o-1 Zo%C3%AB%2050%25
    """
    return quote(text, safe=VISIBLE)
