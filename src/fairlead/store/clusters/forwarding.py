"""A message that waits for its way to another queue manager: itself, and where it is to go.

In a transmission queue it stands behind a header that says this, as JSON. Whoever looks at the
queue sees the message's own body, as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.errors import MessageError
from fairlead.store.queues.bodies import BEHIND, ENVELOPED, KIND, REDELIVERED
from fairlead.store.queues.outgoing import OutgoingMessage

LENGTH: Final = 4
"""Bytes that say how long the header is."""
_PLACE: Final = (1 << 28) - 1


class OnwardRoute(Struct, frozen=True):
    """Where a message is to go, beyond what the policy reads."""

    queue: str = ""
    """At its queue manager, where the policy is not told of the queue."""
    way: tuple[str, ...] = ()
    """The queue managers that it has left, the first first."""
    id: str | None = None
    """The one that it was sent with, where it is chosen for a second time."""


NOWHERE: Final = OnwardRoute()


class Header(Struct, frozen=True):
    """What is said of a message besides what every message has."""

    said: dict[str, Any]
    """What the policy was told of it."""
    route: OnwardRoute
    format: int
    """Of its body, as it was sent."""
    id: str | None = None
    """The one that it was sent with, if it was."""
    expires: int | None = None
    """Microseconds since 1970."""


def wrapped(
    outgoing: OutgoingMessage, said: Mapping[str, object], route: OnwardRoute
) -> OutgoingMessage:
    """The same message, for a transmission queue: there it has an id of that queue's."""
    format_ = outgoing.format
    attributes = {name: value for name, value in said.items() if value not in (None, "")}
    key = outgoing.key or route.id
    header = Header(attributes, route, format_ & ~REDELIVERED, key, outgoing.expires)
    encoded = msgspec.json.encode(header, enc_hook=str)
    before = len(encoded).to_bytes(LENGTH) + encoded
    start, size = (
        (format_ >> 4 & _PLACE, format_ >> 32 & _PLACE)
        if format_ & ENVELOPED
        else (
            0,
            len(outgoing.body),
        )
    )
    if len(before) + len(outgoing.body) > _PLACE:
        raise MessageError(
            f"body: found {len(before) + len(outgoing.body)} bytes with its header, allowed: at "
            f"most {_PLACE}"
        )
    return replace(
        outgoing,
        key=None,
        format=format_ & (KIND | REDELIVERED) | ENVELOPED | len(before) + start << 4 | size << 32,
        body=before + outgoing.body,
    )


def unwrapped(raw: bytes) -> tuple[Header, bytes]:
    """What is said of a message of a transmission queue, and its body as it was sent.

    `raw`: all that is kept of it. Raises MessageError.
    """
    length = int.from_bytes(raw[:LENGTH])
    try:
        header = msgspec.json.decode(raw[LENGTH : LENGTH + length], type=Header)
    except msgspec.DecodeError as error:
        raise MessageError(
            f"message: found no header of a message that is forwarded ({error}), allowed: what was "
            "put to a queue of another queue manager"
        ) from None
    body = raw[LENGTH + length :]
    form = header.format
    if form & ENVELOPED and not form & BEHIND and len(body) < (form >> 4 & _PLACE):
        raise MessageError("message: found a body that is cut off, allowed: a whole one")
    return header, body
