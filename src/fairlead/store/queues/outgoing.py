"""A message as it is sent: checked, before it has a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

from msgspec import Struct

from fairlead.balance.objects import MAX_CHARGE, listed, repr_of
from fairlead.balance.times import Time
from fairlead.errors import MessageError
from fairlead.store.arguments import check_keys, check_priority, later, name, whole
from fairlead.store.queues.bodies import encoded


class Sending(TypedDict, total=False):
    """What a message is sent with, besides its body; `Store.send` says what each means."""

    group: str | None
    priority: int | None
    id: str | None
    type: str | None
    tenant: str | None
    cost: int
    delay: Time
    expires: Time | None


TIMED: Final = {"delay", "expires"}
"""Of these the time is to be known."""
KEYS: Final = tuple(Sending.__annotations__)


class OutgoingMessage(Struct):
    """A message that was checked, before it has a number."""

    group: str | None
    priority: int | None
    key: str | None
    """Its id; None: it gets one with its number."""
    type: str | None
    tenant: str
    cost: int
    due: int | None
    """When it arrives, if that is later; microseconds."""
    expires: int | None
    format: int
    body: bytes
    conversation: int | None = None
    """The receiver's end, if it is said in a conversation."""


def outgoing(  # the verb's own names
    body: object,
    now: int,
    *,
    group: str | None = None,
    priority: int | None = None,
    id: str | None = None,  # noqa: A002
    type: str | None = None,  # noqa: A002
    tenant: str | None = None,
    cost: int = 1,
    delay: Time = 0,
    expires: Time | None = None,
    **unknown: object,
) -> OutgoingMessage:
    """Check a message. Raises MessageError.

    `delay`: seconds until it arrives, or the timestamp at which it does. `expires`: the same, for
    when it is not wanted any more.
    """
    check_keys("send", unknown, KEYS)
    check_priority(priority)
    whole("cost", cost, 1, MAX_CHARGE)
    after = later("delay", delay, now) if delay else now
    until = None if expires is None else later("expires", expires, now)
    if until is not None and until <= max(after, now):
        raise MessageError(
            f"expires: found {repr_of(expires)}, allowed: a time after the message arrives"
        )
    format_, raw = encoded(body)
    return OutgoingMessage(
        name("group", group) or None,
        priority,
        name("id", id) or None,
        name("type", type),
        name("tenant", tenant) or "",
        cost,
        after if after > now else None,
        until,
        format_,
        raw,
    )


def is_timed(plain: object) -> bool:
    """Whether the time is to be known, of one message of many."""
    return isinstance(plain, Mapping) and bool(TIMED & plain.keys())


def outgoing_of(plain: object, now: int) -> OutgoingMessage:
    """Check one message of many: {"body": ..., "group": ..., ...}. Raises MessageError."""
    if not isinstance(plain, dict | Mapping) or "body" not in plain:
        raise MessageError(
            f"message: found {repr_of(plain)}, allowed: a table with body, and {listed(KEYS)}"
        )
    check_keys("message", plain, ("body", *KEYS))
    return outgoing(now=now, **plain)


def attributes_of(outgoing: OutgoingMessage, message: Mapping[str, object]) -> dict[str, object]:
    """What a message says that is published: its group and type, and what else is said of it."""
    own = {"group": outgoing.group, "type": outgoing.type}
    return {**{key: value for key, value in own.items() if value}, **message}


def published_of(plain: object, now: int) -> tuple[OutgoingMessage, dict[str, object]]:
    """Check one message of many that are published, and what it says.

    As `outgoing_of` takes it, and `message`: its routing attributes. Raises MessageError.
    """
    message: object = None
    if isinstance(plain, Mapping):
        message = plain.get("message")
        plain = {key: value for key, value in plain.items() if key != "message"}
    if not (message is None or isinstance(message, Mapping)):
        raise MessageError(f"message: found {repr_of(message)}, allowed: a table of attributes")
    outgoing_message = outgoing_of(plain, now)
    return outgoing_message, attributes_of(outgoing_message, message or {})
